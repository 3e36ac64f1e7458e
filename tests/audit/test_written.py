"""True hand-written ledgers hold: every scheme at every level, registrations, versions, absent steps."""

import pytest

from stream_app.audit.report.page import page
from tests.audit.ways import audit
from tests.audit.written import LEDGERS, NANO, Written, cover, renumber, seal, write


@pytest.mark.parametrize("name", LEDGERS)
def test_a_true_ledger_holds(name: str) -> None:
    """There is no finding, with or without releases, and the counts are those of the text."""
    written = write(LEDGERS[name])
    report = audit(written.lines(), written.release_lines())
    assert report.findings == ()
    assert report.holds
    assert (report.series, report.entries, report.releases) == (1, len(written.entries), len(written.releases))
    assert audit(written.lines()).holds
    charged = {"absorbed": 8 * 20, "dummies": 1}.get(name, 0)  # e1 at each of eight steps; what the draw cost
    assert report.spent_nano == sum(entry.get("epsilon_nano", 0) for entry in written.entries) + charged


def test_many_series_hold_in_any_mix() -> None:
    """Series are audited side by side, however they interleave."""
    together = [write(text, name) for name, text in LEDGERS.items()]
    turns = max(len(written.entries) for written in together)
    lines = [written.lines()[turn] for turn in range(turns) for written in together if turn < len(written.entries)]
    releases = [line for written in reversed(together) for line in written.release_lines()]
    report = audit(lines, releases)
    assert report.findings == ()
    assert report.series == len(LEDGERS)


def test_series_of_epsilons_of_their_own() -> None:
    """If no two stand alike, no texts are kept for other series, and faults are still found."""
    lines: list[bytes] = []
    for number in range(1, 501):
        steps = "".join(f"\n{step} perturbed L {number} | {number * (step + 1)} {7 - step} 0" for step in range(8))
        policy = (
            f'policy 1 {{"epsilon": {8 * number}e-9, "scheme": {{"name": "uniform"}}, "level": "user", "length": 8}}'
        )
        written = write(f"\n{policy}{steps}\n", f"home-{number}")
        if number == 500:
            written.entries[-1]["epsilon_nano"] = 499
            written = seal(written)
        lines += written.lines()
    assert audit(lines[:-1]).holds
    (found,) = audit(lines).findings[:1]
    assert (found.series, found.sequence) == ("home-500", 9)


def test_the_example_of_the_design() -> None:
    """In section 9, epsilon 1, four landmarks ahead and a spare of two give a regular step 142857148."""
    text = """
    policy 1 {"epsilon": 1.0, "scheme": {"name": "adaptive"}, "landmarks": [1, [4000, 7000]], "spare": 2}
    2 perturbed . 142857148 | 0 5 142857148
    """
    written = write(text)
    assert audit(written.lines()).findings[0].message == "spends 142857148, but adaptive proposes 166666670"
    written = write(text.replace("[1, [4", "[3000, [4").replace("| 0 5", "| 0 6"))
    assert audit(written.lines(), written.release_lines()).holds


def test_another_key_is_told_and_is_no_finding() -> None:
    """A key may be replaced: the report says by which, where and in how many series.

    A chain counts under each of its keys.
    """
    written = write(LEDGERS["event"])
    written.entries[-1]["key"] = "f" * 16
    other = write(LEDGERS["user"], "other")
    report = audit([*seal(written).lines(), *other.lines()])
    assert report.holds
    last = written.entries[-1]
    changed = {"series": "home-7", "sequence": last["sequence"], "before": "0123456789abcdef", "key": "f" * 16}
    used = {"0123456789abcdef": 2, "f" * 16: 1}
    assert report.document()["keys"] == {"used": used, "changed_series": 1, "changes": [changed]}
    assert "keys used: 2: 0123456789abcdef (in 2 series), ffffffffffffffff (in 1 series); " in report.text()
    said = f"1 time, in 1 of 2 series:\n  home-7 #{last['sequence']}  from 0123456789abcdef to {'f' * 16}\n"
    assert f"the key changed {said}" in report.text()
    assert "keys used" in page(report, (), "")
    assert audit(other.lines()).document()["keys"]["used"] == {"0123456789abcdef": 1}
    assert "keys used" not in audit(other.lines()).text()


def test_the_lifetime_can_be_declared() -> None:
    """A configured lifetime above the first epsilon, which no ledger shows, allows more to later versions."""
    written = write(LEDGERS["adaptive"])
    policy = next(entry for entry in written.entries if entry["policy"] == 3)
    policy["parameters"]["epsilon"] = 1.7e-8
    policy["budget_nano"] = 17
    del written.entries[written.entries.index(policy) + 1 :]
    renumber(written)
    assert [finding.code for finding in audit(written.lines()).findings] == ["lifetime"]
    assert audit(written.lines(), lifetime_nano=101).holds
    assert not audit(written.lines(), lifetime_nano=100).holds


def test_an_empty_ledger_proves_nothing() -> None:
    """Nothing was found, but nothing was audited: missing entries would not be visible."""
    report = audit([])
    assert not report.audited
    assert not report.holds
    assert not report.findings
    assert report.text().startswith("NOTHING WAS AUDITED")


def test_the_report_tells_what_was_read() -> None:
    """The verdict is the first line and the amount used is the second; figures are in epsilon."""
    written: Written = write(LEDGERS["uniform"])
    text = audit(written.lines(), written.release_lines()).text().splitlines()
    assert text[0] == "HOLDS: no findings"
    assert text[1] == "largest loss so far: 0.0000001 (limit 0.0000001; home-7)"
    steps = len(written.releases)
    assert text[-1] == f"sum over all {steps} steps: 0.000000148 (no guarantee limits this sum)"
    assert not any("lifetime" in line for line in text), "a series with one policy version needs none"
    assert f"{NANO}" not in text


def test_the_last_step_may_end_after_the_last_timestamp() -> None:
    """A registration of whole steps may extend beyond the year 9999 if the step does."""
    text = """
    policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}}
    253402300799 perturbed . 100 | 0 0 100
    landmarks [[253402300799, 253402300800]] 0 | 0 0 100
    """
    written = write(text.replace('"uniform"}', '"uniform"}, "step": 1000000000'))
    written.entries[1]["timestamp"] = written.releases[0]["timestamp"] = 253_401_000_000_000
    written.entries[2]["add"] = [[253_402_000_000_000, 253_402_000_000_000 + 10**9]]
    written.entries[2]["landmarks_left"] = 1
    assert audit(seal(cover(written)).lines(), written.release_lines()).holds
