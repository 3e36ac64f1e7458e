"""The chain: copies collapse, conflicts do not, and the links of long runs of copies prove them."""

import pytest

from stream_app.audit.chain import WINDOW
from tests.audit.ways import audit, codes
from tests.audit.written import KEY, LEDGERS, seal, write

ENTRIES = 6 * WINDOW


def long_ledger() -> list[bytes]:
    """Return a true ledger of many steps at level event."""
    steps = "\n".join(f"{step} perturbed . 7 | 0 0 7" for step in range(ENTRIES - 1))
    policy = 'policy 1 {"epsilon": 7e-9, "scheme": {"name": "uniform"}, "level": "event"}'
    return write(f"{policy}\n{steps}").lines()


@pytest.mark.parametrize("name", LEDGERS)
def test_copies_collapse(name: str) -> None:
    """Every entry twice, the whole ledger twice, or any tail twice gives no finding, and copies are counted."""
    lines = write(LEDGERS[name]).lines()
    for copied in (
        [line for line in lines for _ in range(2)],
        [*lines, *lines],
        *([*lines[:end], *lines[start:]] for end in range(len(lines) + 1) for start in range(end + 1)),
    ):
        report = audit(copied)
        assert report.findings == ()
        assert (report.entries, report.repeated) == (len(lines), len(copied) - len(lines))


def test_a_batch_written_twice_collapses_however_long() -> None:
    """A run from before the remembered entries is proven once it links to them."""
    lines = long_ledger()
    for end in (2 * WINDOW + 5, ENTRIES):
        for start in (0, 1, end - 2 * WINDOW, end - WINDOW - 1, end - 1):
            report = audit([*lines[:end], *lines[start:]])
            assert report.findings == (), (start, end)
            assert report.entries == ENTRIES


def test_an_old_copy_that_proves_nothing_is_told() -> None:
    """A copy too old to compare is a finding if its run does not lead back to known entries."""
    lines = long_ledger()
    for copied in ([*lines, lines[2]], [*lines[:-1], lines[2], lines[-1]], [*lines, lines[2], lines[4], lines[5]]):
        assert codes(audit(copied)) == {"stale-duplicate"}
    assert len(audit([*lines, lines[2], lines[4], lines[5]]).findings) == 2


def test_a_forged_old_run_does_not_link() -> None:
    """A run of different bytes that leads to true ones is not taken for copies."""
    lines = long_ledger()
    forged = [line.replace(b'"timestamp":1000,', b'"timestamp":1500,') for line in lines]
    assert codes(audit([*lines, *forged])) == {"bad-hash"}
    written = write(
        """
        policy 1 {"epsilon": 7e-9, "scheme": {"name": "uniform"}, "level": "event"}
        5 perturbed . 7 | 0 0 7
        """
    )
    assert codes(audit([*lines, written.lines()[1], *lines[2:]])) == {"stale-duplicate"}


def test_one_changed_entry_is_one_finding() -> None:
    """A changed entry is reported only at its own place, so a reader sees how far the damage extends."""
    lines = long_ledger()
    lines[40] = lines[40].replace(b'"release":"', b'"release":"0', 1)
    report = audit(lines)
    assert [(finding.code, finding.sequence) for finding in report.findings] == [
        ("bad-hash", 41),
        ("malformed-entry", 41),
    ]
    lines = long_ledger()
    lines[40] = lines[40].replace(b'"regular_peak_nano":7', b'"regular_peak_nano":8')
    found = [(finding.code, finding.sequence) for finding in audit(lines).findings]
    assert found == [("bad-hash", 41), ("regular-peak", 41), ("regular-peak", 42)]


def test_a_gap_is_one_finding() -> None:
    """After missing entries, figures are accepted again once they fit, and later faults are still found."""
    lines = long_ledger()
    report = audit(lines[:10] + lines[20:])
    assert [(finding.code, finding.sequence) for finding in report.findings] == [("gap", 21)]
    written = write(LEDGERS["uniform"])
    del written.entries[3]
    assert [finding.code for finding in audit(written.lines()).findings] == ["gap"]


def test_another_series_spelt_alike_is_another() -> None:
    """Series ids are compared as text, however JSON spells them."""
    names = ('a"b', 'a\\"b', "a\\b", "ü", "a\nb", "\u2028")
    ledgers = [write(LEDGERS["uniform"], name) for name in names]
    report = audit([line for written in ledgers for line in written.lines()])
    assert report.findings == ()
    assert report.series == len(names)
    broken = audit(ledgers[0].lines()[:3] + ledgers[0].lines()[4:])
    assert [(finding.code, finding.series) for finding in broken.findings] == [("gap", 'a"b')]


def test_epochs_rise_under_each_key() -> None:
    """A key that returns after another one continues where it was; an earlier epoch of it was erased."""
    for epoch, found in ((3, {"epoch-backwards"}), (5, set())):
        written = write(LEDGERS["event"])
        keys = [(KEY, 0), (KEY, 5), ("f" * 16, 0), (KEY, epoch), (KEY, epoch)]
        for entry, (key, at) in zip(written.entries, keys, strict=True):
            entry |= {"key": key, "epoch": at}
        assert codes(audit(seal(written).lines())) == found
