"""`audit` and `standing`: the verdict on a ledger, and the budget of a series or person.

Both use the audit's own code.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stream_app.api.given import Error, finite, path_of, told
from stream_app.api.reading import LEDGER, RELEASES
from stream_app.api.releasing import Released
from stream_app.api.tables import Table
from stream_app.api.views import Html, Page, paragraph, table
from stream_app.audit import Auditor
from stream_app.audit.files import UncommittedError, read_files, read_lines, read_records
from stream_app.audit.finding import Finding
from stream_app.audit.heads.publickey import PublicKeyError, PublicKeys, read_public_keys
from stream_app.audit.report.report import Report
from stream_app.audit.standing.inquiry import StandingInquiry, UnknownNameError
from stream_app.audit.standing.standing import Standing
from stream_app.audit.standing.text import text_of
from stream_app.privacy.values import nano


class Audited(Page):
    """The verdict on a ledger; truthy if the ledger holds."""

    def __init__(self, report: Report) -> None:
        self._report: Final = report

    @property
    def holds(self) -> bool:
        """Whether there were entries and no findings; a ledger without entries does not hold."""
        return self._report.holds

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The faults found, each with its code, series and sequence."""
        return self._report.findings

    def document(self) -> dict[str, Any]:
        """Return the document that `audit --json` prints."""
        return self._report.document()

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self._report.text()

    def __repr__(self) -> str:
        return f"<Audited: {self._report.verdict}>"

    def html(self) -> Html:
        """Return, as HTML, the verdict, a summary of what was read, and the first findings."""
        cells = [[finding.code, finding.series, finding.sequence, finding.message] for finding in self.findings]
        found = table("Findings", ("code", "series", "sequence", "message"), cells) if cells else Html("")
        return Html(paragraph(self._report.verdict, "\n".join(self._report.summary())) + found)


class Stands(Page):
    """The guaranteed, used, reserved and remaining budget of a series, or of all of a person's series."""

    def __init__(self, found: Standing) -> None:
        self._found: Final = found

    def document(self) -> dict[str, Any]:
        """Return the document that `standing --json` prints; amounts are in nano-epsilon."""
        return self._found.document()

    @property
    def table(self) -> Table:
        """One row per policy version, with amounts in epsilon."""
        rows = [
            {
                "series": one.series,
                "policy": version.version,
                "rules": version.rules,
                "promised": version.promised_nano / 1e9,
                "used": version.used_nano / 1e9,
                "held_back": version.held_back_nano / 1e9,
                "left": version.left_nano / 1e9,
            }
            for one in self._found.series
            for version in one.versions
        ]
        return Table(rows, title="Standing, in epsilon")

    def __str__(self) -> str:
        return text_of(self._found)

    def __repr__(self) -> str:
        return f"<Stands: {len(self._found.series)} series>"

    def html(self) -> Html:
        """Return the report as HTML."""
        return Html(self.table.html() + paragraph("", str(self)))


def audit(
    ledger: str | Path | Released,
    releases: str | Path | None = None,
    *,
    lifetime: float | None = None,
    heads: str | Path | None = None,
    public_keys: str | Path | Sequence[str | Path] = (),
    witness: str | Path | None = None,
) -> Audited:
    """Return the verdict on a ledger: a file, a run's folder with releases, or the result of `release`.

    The arithmetic is repeated by code that shares nothing with the code that made the decisions. ``lifetime`` is the
    epsilon that bounds all versions of a series together, if it is not in the ledger. ``heads`` is a file of signed
    heads, as `read heads` prints them: these heads show that nothing before them was cut off or rewritten.
    ``public_keys`` are the files with the keys trusted to sign heads; the keys must not come from the same place as the
    heads. The heads must include all heads in ``witness``, a file that was kept elsewhere.

    Raises:
        Error: for an unreadable ledger, unreadable keys or heads, and for heads without keys.
    """
    path, beside = _places(ledger, releases)
    keys = _trusted(heads, public_keys, witness)
    auditor = Auditor(compare=beside is not None, lifetime_nano=_lifetime(lifetime), keys=keys)
    try:
        with told():
            if auditor.heads is not None:  # the witness first, so it is never ahead of the heads
                for member, file, feed in (
                    ("witness", witness, auditor.heads.witness),
                    ("heads", heads, auditor.heads.record),
                ):
                    if file is not None:
                        read_records(path_of(file, member, "a file of signed checkpoints"), feed)
            lines = read_files(auditor, path, beside)
    except UncommittedError as error:
        raise Error.of("ledger", str(error)) from None
    if lines and not auditor.recognised:
        raise Error.of("ledger", f"none of the {lines} lines of {path} is a ledger entry; specify the ledger file")
    return Audited(auditor.finish())


def _trusted(heads: object, public_keys: str | Path | Sequence[str | Path], witness: object) -> PublicKeys | None:
    several = isinstance(public_keys, Sequence) and not isinstance(public_keys, str)
    listed: list[Any] = list(public_keys) if several else [public_keys]  # type: ignore[arg-type] # not a path then
    if heads is None:
        if listed or witness is not None:
            remedy = "add heads=, the checkpoints to compare them with"
            raise Error.of("heads", f"is missing, although public_keys or witness is given; {remedy}")
        return None
    if not listed:
        raise Error.of("public_keys", "is missing; the checkpoints cannot tell you which signer to trust")
    try:
        return read_public_keys([path_of(file, "public_keys", "files that `keys public` printed") for file in listed])
    except PublicKeyError as error:
        raise Error.of("public_keys", str(error)) from None


def _lifetime(epsilon: float | None) -> int | None:
    return None if epsilon is None else nano(finite(epsilon, "lifetime", "use the total epsilon of all versions"))


def standing(ledger: str | Path | Released, name: str, *, lifetime: float | None = None, separator: str = "") -> Stands:
    """Return the budget report of the series or person with this name, from the ledger alone.

    ``separator`` is the configured `member_separator`, which is needed if no limit in the ledger shows it.

    Raises:
        Error: for a name that is not in the ledger, and for anything unreadable.
    """
    path, _ = _places(ledger, None)
    for member, text in (("name", name), ("separator", separator)):
        if not isinstance(text, str):
            raise Error.of(member, f"is of type {type(text).__name__}, not text; use the spelling in the ledger")
    inquiry = StandingInquiry(name, _lifetime(lifetime), separator)
    try:
        with told():
            read_lines(path, inquiry.entries)
        return Stands(inquiry.answer())
    except UncommittedError as error:
        raise Error.of("ledger", str(error)) from None
    except UnknownNameError as error:
        raise Error.of("name", str(error)) from None


def _places(ledger: str | Path | Released, releases: str | Path | None) -> tuple[Path, Path | None]:
    instead = "the folder that release() wrote, the result of release(), or a ledger file"
    path = ledger.folder if isinstance(ledger, Released) else path_of(ledger, "ledger", instead)
    beside = None if releases is None else path_of(releases, "releases", "a file of releases")
    return (path / LEDGER, beside or path / RELEASES) if path.is_dir() else (path, beside)
