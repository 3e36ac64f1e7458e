"""The page of an audit that follows the ledger: its verdict so far, records read and findings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from stream_app.monitoring.snapshot import AuditSnapshot
from stream_app.monitoring.statuspage import figure
from stream_app.monitoring.statuspage.document import PageState, View, facts, page, section, table
from stream_app.monitoring.statuspage.figure import datum
from stream_app.monitoring.statuspage.markup import Markup, element
from stream_app.monitoring.statuspage.plot import lately


class ShownFinding(NamedTuple):
    """One finding, reduced to what the page may show."""

    when: str  # time of discovery, UTC
    code: str
    place: str  # series and sequence; empty if the operator did not allow series
    message: str  # empty if the operator did not allow series


class AboutAudit(NamedTuple):
    """Facts about an audit that the page shows but no metric holds."""

    topic: str  # the ledger's
    reached: bool  # whether it has read what existed at its start
    signed: bool  # whether signed checkpoints are checked
    meanings: Mapping[str, str]  # of finding codes
    latest: Sequence[ShownFinding]  # the last findings, newest first
    up_seconds: float
    breaks: frozenset[str]  # codes of a violated guarantee; all others are integrity errors


def audit_page(about: AboutAudit, view: View) -> str:
    """Return the page."""
    assert isinstance(view.snapshot, AuditSnapshot), "an audit's registry has only an audit's metrics"
    return page("audit", about.topic, _state(about, view.snapshot), view, _sections(about, view, view.snapshot))


def _state(about: AboutAudit, seen: AuditSnapshot) -> PageState:
    found = sum(seen.findings.values())
    if found:
        wrong = "Guarantee violated" if about.breaks & seen.findings.keys() else "Integrity error"
        return PageState("bad", f"{wrong}: {found:,} finding" + ("s" if found > 1 else ""))
    return (
        PageState("good", "Holds: no findings") if about.reached else PageState("wait", "Reading the existing entries")
    )


def _sections(about: AboutAudit, view: View, seen: AuditSnapshot) -> Iterator[Markup]:
    if seen.findings:
        yield _findings(about, seen)
    for name, datum_name, number, beside, drawn in (
        ("Entries audited", "entries", seen.entries, "of the ledger, excluding copies", lambda old: old.entries),
        ("Series audited", "series", seen.series, "each with its own chain", lambda old: old.series),
        (
            "Not audited yet",
            "lag-records",
            seen.lag_records,
            "records of the ledger and the releases",
            lambda old: old.lag_records,
        ),
    ):
        now = element("p", datum(datum_name, number, figure.count(number)), class_="now")
        course = lately(name, [*view.history.of(AuditSnapshot, drawn), number], figure.count)
        yield section(name, now, element("p", beside), *course, kind="figure")
    unsigned = datum("unsigned", seen.unsigned_entries, figure.count(seen.unsigned_entries))
    yield section(
        "This audit",
        facts(
            (
                ("entries without a signed checkpoint", unsigned if about.signed else "no checkpoints are checked"),
                ("findings", datum("findings", sum(seen.findings.values()), figure.count(sum(seen.findings.values())))),
                ("up for", figure.duration(about.up_seconds)),
            )
        ),
        element(
            "p",
            "It checks the chain, the arithmetic and the guarantee for every entry as it is committed.",
            class_="note",
        ),
    )


def _findings(about: AboutAudit, seen: AuditSnapshot) -> Markup:
    rows = []
    for code, number in sorted(seen.findings.items(), key=lambda each: each[0] not in about.breaks):
        counted, wrong = datum(f"found-{code}", number, figure.count(number)), code in about.breaks
        rows.append((code, (counted, "guarantee" if wrong else "integrity", f"{about.meanings.get(code, '')}.")))
    parts = [table("Findings by code", ("code", "findings", "violates", "meaning"), rows, (0,))]
    if any(found.place for found in about.latest):
        heads = ("found at", "code", "series and entry", "what was found")
        listed = [(found.when, (found.code, found.place, found.message)) for found in about.latest]
        parts += [element("h2", "Latest findings"), table("Latest findings", heads, listed)]
    else:
        first = about.latest[0].when if about.latest else ""
        hint = (
            f"Latest finding: {first}. The log and the report name the series; set http_series to show the series "
            "here too."
        )
        parts.append(element("p", hint, class_="note"))
    return section("Findings", *parts, kind="trouble")
