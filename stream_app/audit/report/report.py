"""The result of an audit: verdict, findings, and what was read."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from stream_app.audit.books.intrusions import IntrusionCounts
from stream_app.audit.books.members import MembersRead
from stream_app.audit.finding import (
    CODES,
    LISTED,
    MOST_BROKEN,
    BoundedList,
    Code,
    Finding,
    KeysUsed,
    Kind,
    Remark,
    kind_of,
)
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED, WITHHELD
from stream_app.audit.heads.check import HeadsRead
from stream_app.words.amount import UsedBudget, amount, quoted, summed

SHOWN: Final = 20  # shown in the text
UNTOLD: Final = "no finding says so, but a ledger with integrity errors cannot show that the guarantee holds"
NOTHING: Final = "NOTHING WAS AUDITED: the ledger has no entries; check that this is the right ledger"
"""The verdict on a ledger without entries."""
AT_LEAST: Final = "at least "  # precedes the amount used if there are findings: faulty entries are not counted


class Report(NamedTuple):
    """What an audit found; `holds` is the verdict."""

    findings: tuple[Finding, ...]
    found: int  # all findings, listed or not
    counts: dict[Code, int]  # by code; violated guarantees first, led by `theorem`
    used: UsedBudget | None  # the policy version that used the largest share of its limit, if any
    series: int
    entries: int  # without copies
    repeated: int  # byte-identical copies, of entries and of releases
    decisions: dict[str, int]  # release entries by decision
    spent_nano: int  # epsilon spent on releases, private dissimilarities and dummy draws
    keys: KeysUsed
    remarks: tuple[Remark, ...]  # the first ones
    remarked: int  # all remarks
    largest_nano: int  # the largest loss of one series over all its policy versions
    largest_series: str
    lifetime_nano: int | None  # limit on a series' total over its policy versions; if None, its first epsilon
    needed_nano: int  # the smallest such limit that suffices for every series
    needy: str  # the series that needs it
    replaced: bool  # whether a series had a further policy version
    releases: int | None  # releases compared; None if not given
    heads: HeadsRead | None  # None if not given
    members: MembersRead | None  # None if no series reserves and no person is limited
    intruded: IntrusionCounts | None = None  # None if no intrusion was announced

    @property
    def holds(self) -> bool:
        """Whether there were entries but no findings."""
        return self.audited and not self.found

    @property
    def audited(self) -> bool:
        """Whether the ledger had any entries; an empty ledger proves nothing."""
        return self.entries > 0 or self.found > 0

    def document(self) -> dict[str, Any]:
        """Return the report in the form of the `--json` contract."""
        document = {
            "holds": self.holds,
            "audited": self.audited,
            "series": self.series,
            "entries": self.entries,
            "findings": [finding._asdict() for finding in self.findings],
            "remarks": [remark._asdict() for remark in self.remarks],
            "counts": dict(self.counts),
            "broken": {"promise": self.broken("promise"), "books": self.broken("books")},
            "used": None if self.used is None else self.used._asdict(),
            "summed_nano": self.spent_nano,
            "keys": self.keys.document(),
        }
        if self.heads is not None:
            document["heads"] = self.heads.document(self.entries)
        if self.intruded is not None:
            document["intrusions"] = self.intruded._asdict()
        if self.members is not None:
            document["members"] = self.members._asdict()
        return document

    @property
    def verdict(self) -> str:
        """The sentence that begins every report."""
        if not self.audited:
            return NOTHING
        if self.holds:
            return "HOLDS: no findings"
        return f"DOES NOT HOLD: {self.found} finding" + ("s" if self.found > 1 else "")

    def broken(self, kind: Kind) -> int:
        """Return how many findings are of this kind: violated guarantees or integrity errors."""
        return sum(count for code, count in self.counts.items() if kind_of(code) == kind)

    def judgement(self) -> list[str]:
        """Return the reasons for the verdict: faults by code, and the largest loss compared with its limit."""
        lines = []
        if self.found:
            for kind, what in (("promise", "guarantee violated"), ("books", "integrity errors")):
                codes = [f"{code} {count:,}" for code, count in self.counts.items() if kind_of(code) == kind]
                lines.append(f"{what}: {', '.join(codes) or (UNTOLD if kind == 'promise' else 'none found')}")
        if self.used is not None:
            least = "" if self.holds else AT_LEAST
            lines.append(self.used.sentence(self.series, versions=self.replaced, least=least))
        return lines

    def text(self) -> str:
        """Return the report as text: verdict, reasons, findings, remarks, what was read, and the total spent."""
        remarks = [f"remark: {line_of(remark)}" for remark in self.remarks]
        if self.remarked > len(self.remarks):
            remarks.append(f"{self.remarked - len(self.remarks)} further remarks")
        found = sorted(self.findings, key=lambda finding: kind_of(finding.code) == "books")
        return "\n".join([self.verdict, *self.judgement(), *map(line_of, found), *remarks, *self.summary()])

    def summary(self) -> list[str]:
        """Return a summary of what was read, one sentence per line."""
        counts = ", ".join(f"{count} {decision}" for decision, count in self.decisions.items())
        lines = [f"series {self.series}, entries {self.entries}, copies {self.repeated}, releases: {counts}"]
        if self.replaced:
            largest = f"{amount(self.largest_nano)} ({quoted(self.largest_series)})"
            lines += [f"largest use of one series over all its policy versions: {largest}", self._lifetime()]
        if self.members is not None:
            lines += _members(self.members)
        if self.intruded is not None:
            lines.append(_intrusions(self.intruded))
        lines.append("releases not compared" if self.releases is None else f"releases compared {self.releases}")
        lines += _keys(self.keys, self.series)
        lines += _heads(self.heads, self.entries)
        return [*lines, summed(self.spent_nano, sum(self.decisions.values()))]

    def _lifetime(self) -> str:
        needed = f"policy versions need a lifetime of {epsilon(self.needed_nano)} ({quoted(self.needy)})"
        if self.lifetime_nano is not None:
            return f"{needed}; {epsilon(self.lifetime_nano)} is allowed"
        if any(finding.code == "lifetime" for finding in self.findings):
            return f"{needed}; if lifetime_epsilon was set to that much, specify it with --lifetime"
        claims = self.members is not None and self.members.claims > 0
        return f"{needed}; a series may use {'what it reserved, or else ' * claims}its first epsilon"


@dataclass(slots=True)
class Tally:
    """Findings and counts during an audit."""

    findings: BoundedList[Finding]
    others: int = 0  # entries other than releases
    repeated: int = 0
    decisions: dict[str, int] = field(default_factory=lambda: dict.fromkeys((PERTURBED, APPROXIMATED, WITHHELD), 0))
    spent_nano: int = 0
    intruded: IntrusionCounts | None = None
    counts: dict[Code, int] = field(default_factory=dict)

    def add(self, *findings: Finding) -> None:
        """Add findings."""
        for finding in findings:
            assert finding.code in CODES, finding.code
            self.counts[finding.code] = self.counts.get(finding.code, 0) + 1
            self.findings.add(finding, MOST_BROKEN if kind_of(finding.code) == "promise" else LISTED)

    def counted(self) -> dict[Code, int]:
        """Return the number of findings per code: violated guarantees first, with `theorem` at the top."""
        order = sorted(self.counts, key=lambda code: (code != "theorem", kind_of(code) == "books", code))
        return {code: self.counts[code] for code in order}

    def intrude(self, announced: int, largest_nano: int, series: str, steps: int) -> None:
        """Add one series' announced intrusions, and its loss to anyone who saw the memory."""
        before = self.intruded or IntrusionCounts(0, 0, 0, "", 0)
        largest = (largest_nano, series, steps)
        if before.series and before.largest_nano >= largest_nano:
            largest = (before.largest_nano, before.largest_series, before.steps)
        self.intruded = IntrusionCounts(before.announced + announced, before.series + 1, *largest)

    def listed(self) -> tuple[Finding, ...]:
        """Return the findings in order; if some are not listed, the last finding counts them."""
        listed = self.findings.listed
        unlisted = self.findings.count - len(listed)
        return (*listed, *([Finding("unlisted", "", 0, f"{unlisted} further findings")] if unlisted else []))


def line_of(finding: Finding | Remark) -> str:
    """Return a finding or remark as one line that no text forged in the ledger can break."""
    place = f"{quoted(finding.series)} #{finding.sequence}" if finding.series else "-"
    message = finding.message if finding.message.isprintable() else ascii(finding.message)
    return f"{finding.code}  {place}  {message}"


def _keys(keys: KeysUsed, series: int) -> list[str]:
    if len(keys.series) < 2:
        return []
    named = ", ".join(f"{key} (in {count} series)" for key, count in keys.series.items())
    note = "this is correct if you changed the key on purpose; otherwise a worker had the wrong key"
    lines = [f"keys used: {len(keys.series)}: {named}; {note}"]
    if keys.changed:
        times = f"{keys.changed} time{'s' if keys.changed > 1 else ''}"
        lines.append(f"the key changed {times}, in {keys.changed_series} of {series} series:")
    lines += [
        f"  {quoted(change.series)} #{change.sequence}  from {change.before} to {change.key}"
        for change in keys.changes[:SHOWN]
    ]
    if keys.changed > SHOWN:
        lines.append(f"  and {keys.changed - SHOWN} more; --json lists {len(keys.changes)} of them")
    return lines


def _heads(heads: HeadsRead | None, entries: int) -> list[str]:
    if heads is None:
        return ["a ledger alone cannot show that the end of a series, or a whole series, is missing"]
    counted = f"{heads.heads} of {heads.partitions} partitions; the witness has {heads.witnessed} of them"
    lines = [f"signed checkpoints (heads): {counted}"]
    if heads.topic is not None:
        lines.append(f"the checkpoints belong to the ledger {quoted(heads.topic)}")
    if heads.oldest is not None:
        moment = datetime.fromtimestamp(heads.oldest.time / 1000, UTC).isoformat(timespec="seconds")
        lines.append(
            f"the oldest of the last checkpoints: {moment}, partition {heads.oldest.partition}, key {heads.oldest.key}"
        )
    unsigned = heads.unsigned(entries)
    lines.append(f"{unsigned} entries follow the last checkpoints; nothing shows whether entries are missing there")
    if not heads.witnessed:
        lines.append("without a witness, the last checkpoints may be missing together with the entries that they cover")
    return lines


def _members(found: MembersRead) -> list[str]:
    lines = [f"{found.claims} series reserve amounts, {found.capped} people have a limit"]
    if found.capped:
        told = f"{epsilon(found.fullest_claims_nano)} of {epsilon(found.fullest_cap_nano)} ({quoted(found.fullest)})"
        lines.append(f"largest reserved share of a limit: {told}")
    return lines


def _intrusions(found: IntrusionCounts) -> str:
    told = f"{epsilon(found.largest_nano)} ({quoted(found.largest_series)}, {found.steps} exposed steps)"
    announced = f"intrusions announced: {found.announced} in {found.series} series"
    return f"{announced}; anyone who saw the memory learned at most {told}"


def epsilon(nano: int) -> str:
    """Return an amount of nano-epsilon as exact text."""
    return f"epsilon {amount(nano)}"
