"""The fast path and the full check find the same, in the same order, in ledgers forged in any way."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit import Auditor, Finding, Report
from stream_app.audit.books.share import share_of, user
from stream_app.audit.books.written import WrittenTexts
from stream_app.audit.chain import HASH_MEMBER, TAIL_BYTES
from stream_app.audit.releases import CoveredEntry, Pairing
from tests.audit.histories import History, histories
from tests.audit.ways import LongWay, codes
from tests.audit.written import LEDGERS, hash_of, write

Record = dict[str, Any]
Ledger = list[bytes]
ZEROS = "0" * 64
SCHEMES = ("uniform", "adaptive", "balanced", "skip", "bd", "ba")


class Watched(Pairing):
    """Reports each entry before it is compared with its release."""

    def __init__(self, said: list[object]) -> None:
        super().__init__()
        self._said = said

    def entry(self, covered: CoveredEntry) -> list[Finding]:
        """Report the entry, then add it."""
        self._said.append(covered)
        return super().entry(covered)


def told(
    way: type[Auditor], ledger: Ledger, releases: Ledger, turn: int, most: int | None = None, **bounds: Any
) -> tuple[Report, list[object]]:
    """Return the report, and everything reported on the way, in order; `most` bounds the texts that are kept."""
    said: list[object] = []
    auditor = way(compare=True, live=said.append, aside=said.append, **bounds)
    auditor._pairing = Watched(said)  # noqa: SLF001 - the entries that a release has to agree with are told, too
    if most is not None:
        auditor._written = WrittenTexts(most)  # noqa: SLF001 - a bound that no ledger of a test reaches
    for place in range(0, max(len(ledger), len(releases)), turn):
        auditor.entries(ledger[place : place + turn])
        auditor.releases(releases[place : place + turn])
    return auditor.finish(), said


def twins(lines: Sequence[bytes], names: Sequence[str], *, sealed: bool) -> Ledger:
    """Return records, each followed by the same for further series: for `a`, named `a` plus one of `names`."""
    found: Ledger = []
    last: dict[str, str] = {}
    for line in lines:
        for name in ("", *names):
            record = orjson.loads(line)
            record["series"] += name
            if sealed:
                record["previous"] = last.get(record["series"], ZEROS)
                record["hash"] = last[record["series"]] = hash_of(record)
            found.append(orjson.dumps(record))
    return found


def seal_again(lines: Ledger) -> Ledger:
    """Return a ledger with every chain relinked and rehashed, as a forger who owns the topic would do."""
    last: dict[str, str] = {}
    found = []
    for line in lines:
        try:
            record = orjson.loads(line)
            record["previous"] = last.get(record["series"], ZEROS)
            record["hash"] = last[record["series"]] = hash_of(record)
            found.append(orjson.dumps(record))
        except (ValueError, TypeError, KeyError):
            found.append(line)
    return found


@st.composite
def forgeries(draw: st.DrawFn, true: Ledger) -> Ledger:
    """Return a ledger with entries dropped, doubled, moved, or changed in any member, resealed or not."""
    lines = list(true)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        match draw(st.sampled_from(("drop", "double", "move", "member", "member", "member", "respell", "byte"))):
            case "drop" if len(lines) > 1:
                del lines[place]
            case "double":
                lines.insert(draw(st.integers(0, len(lines))), line)
            case "move":
                lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(place))
            case "member":
                lines[place] = changed(draw, line)
            case "respell":
                old, new = draw(st.sampled_from(((b":", b": "), (b'"', b'\\"'), (b"0,", b"0.0,"), (b":1", b":01"))))
                lines[place] = line.replace(old, new, draw(st.integers(1, 3)))
            case "byte":
                at = draw(st.integers(0, len(line) - 1))
                lines[place] = line[:at] + bytes([draw(st.integers(0, 255))]) + line[at + 1 :]
    return seal_again(lines) if draw(st.booleans()) else lines


def changed(draw: st.DrawFn, line: bytes) -> bytes:
    """Return a line with one member changed: slightly, or to what another type would be."""
    try:
        record = orjson.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict) or not record:
        return line
    name = draw(st.sampled_from(sorted(record)))
    value = record[name]
    others: list[object] = [None, 0, -1, 2**63, True, "", "0" * 64, [], {}]
    if type(value) is int:
        others = [value + 1, value - 1, value * 2, -value, value + 10**15, *others]
    if isinstance(value, bool):
        others = [not value, *others]
    if name == "decision":
        others = ["perturbed", "approximated", "withheld", "p", *others]
    if name == "series":
        others = ["a", 'b"', "ç", "at", *others]
    if name in ("hash", "previous", "release", "key") and isinstance(value, str):
        others = [value.upper(), value[::-1], value[:-1] + "g", value[:-1], *others]
    record[name] = draw(st.sampled_from(others))
    return orjson.dumps(record)


def test_forged_ledgers_are_judged_alike(ledgers: int) -> None:
    """Report, findings, remarks, key changes and reported entries are all equal, whatever the turns."""

    @settings(max_examples=ledgers, deadline=None, suppress_health_check=list(HealthCheck))
    @given(histories(), st.data())
    def alike(history: History, data: st.DataObject) -> None:
        names = data.draw(st.sampled_from(((), ("t",), ("t", "ü", '"'))))
        true = twins(history.ledger, names, sealed=True)
        releases = twins(history.releases, names, sealed=False)
        if not true:
            return
        forged = data.draw(forgeries(true)) if data.draw(st.integers(0, 9)) else true
        turn = data.draw(st.sampled_from((1, 3, 1000)))
        due = told(LongWay, forged, releases, turn, lifetime_nano=history.lifetime_nano)
        most = data.draw(st.sampled_from((None, None, 1, 3)))
        assert told(Auditor, forged, releases, turn, most, lifetime_nano=history.lifetime_nano) == due

    alike()


@pytest.mark.parametrize("name", LEDGERS)
def test_every_figure_changed_in_a_series_that_stands_as_another_does(name: str) -> None:
    """One series' texts are not used for another with a different standing: one figure changed, then resealed."""
    written = write(LEDGERS[name])
    true = written.lines()
    for index, entry in enumerate(written.entries[:8]):
        for member in [each for each, value in entry.items() if type(value) in (int, bool)]:
            other = [dict(record, series="other") for record in written.entries]
            other[index][member] += 1 if type(entry[member]) is int else 0
            if type(entry[member]) is bool:
                other[index][member] = not entry[member]
            forged = seal_again([line for pair in zip(true, map(orjson.dumps, other), strict=True) for line in pair])
            assert told(Auditor, forged, [], 1000) == told(LongWay, forged, [], 1000)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb'{"series"', rb'{ "series"'),
        (rb'"sequence":', rb'"sequence":0'),
        (rb'"timestamp":', rb'"timestamp":0'),
        (rb'"timestamp":', rb'"timestamp":+'),
        (rb'"timestamp":(\d+)', rb'"timestamp":\1.0'),
        (rb'"timestamp":(\d+)', rb'"timestamp":' + b"9" * 5_000),
        (rb'"landmarks_left":', rb'"landmarks_left":0'),
        (rb'"release":"(.{63}).', rb'"release":"\1g'),
        (rb'"release":"(.{63}).', rb'"release":"\1A'),
        (rb'"release":"(.{62})..', rb'"release":"\1' + "é".encode()),
        (rb'"epoch":0', rb'"epoch":00'),
        (rb'"hash"', rb'"hash" '),
    ],
)
def test_no_other_spelling_is_taken(old: bytes, new: bytes) -> None:
    """The right figures in another notation, hashed as they are, follow a series that has the right notation."""
    true = write(LEDGERS["uniform"]).lines()
    other = write(LEDGERS["uniform"], "other").lines()
    body = re.sub(old, new, other[1][:-TAIL_BYTES], count=1)
    if body == other[1][:-TAIL_BYTES]:
        forged = re.sub(old, new, other[1], count=1)
    else:
        forged = body + HASH_MEMBER + blake2b(body, digest_size=32).hexdigest().encode() + b'"}'
    ledger = [*true, other[0], forged, *other[2:]]
    report, said = told(Auditor, ledger, [], 1000)
    assert (report, said) == told(LongWay, ledger, [], 1000)
    assert "malformed-entry" in codes(report)


def test_a_policy_that_opens_many_series_is_judged_in_each() -> None:
    """A fault is found in all of them; a valid policy opens no series with another hash, and none twice."""
    entry = write(LEDGERS["uniform"]).entries[0]
    wrong = dict(entry, budget_nano=entry["budget_nano"] + 1)
    right, faulty = (
        [dict(each, series=f"{name}{number}") for number in range(3)] for name, each in (("r", entry), ("w", wrong))
    )
    ledger = seal_again([orjson.dumps(each) for pair in zip(right, faulty, strict=True) for each in pair])
    ledger += [ledger[2], ledger[4].replace(b"r2", b"r3")]
    report, said = told(Auditor, ledger, [], 1000)
    assert (report, said) == told(LongWay, ledger, [], 1000)
    assert [finding.series for finding in report.findings if finding.code == "budget"] == ["w0", "w1", "w2"]
    assert report.repeated == 1
    assert {finding.code for finding in report.findings if finding.series == "r3"} == {"bad-hash"}


def test_shares_are_the_same_one_only_for_the_same_arguments() -> None:
    """Texts are shared by the share under which they are due, so two different shares may not be one object."""
    assert user(5) is user(5)
    made = [user(5), user(6), *(share_of(scheme, budget, 5) for scheme in SCHEMES for budget in (5, 6))]
    made += [share_of("balanced", 10, regular) for regular in (5, 6)]
    assert len(set(map(id, made))) == len(made)
