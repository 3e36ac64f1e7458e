"""``left`` on ledgers with members: a person's old and new losses stay within the person's cap."""

from pathlib import Path

from tests.cli.ledger.test_left import Record, Site, readings, ruled

SETTINGS = 'member_separator = "/"\nmember_epsilon = 3.0\n'
MILLIARD = 10**9


def claims(ledger: list[Record], member: str) -> dict[str, int]:
    """Return what each series of a member claims, and its last cap under the name of its chain."""
    found: dict[str, int] = {}
    for entry in ledger:
        if entry["series"].partition("/")[0] == member:
            found[entry["series"]] = entry.get("lifetime_nano") or entry.get("cap_nano") or found[entry["series"]]
    return found


def lost(ledger: list[Record], series: str) -> int:
    """Return what a series lost: S + M of its only version."""
    figured = [entry for entry in ledger if entry["series"] == series and "regular_peak_nano" in entry]
    return max((entry["landmark_spent_nano"] + entry["regular_peak_nano"] for entry in figured), default=0)


def begun_anew(tmp_path: Path, settings: str) -> tuple[list[Record], list[Record], list[Record], str]:
    """Return the old ledger, the new one with its rejects, and what `left` says, of three series of one person."""
    site = Site(tmp_path)
    (tmp_path / "old.toml").write_text(SETTINGS + "lifetime_epsilon = 1.0\n")
    records: list[Record] = [ruled("p/used", epsilon=0.9), ruled("p/new", epsilon=0.5), ruled("p/closed", epsilon=0.75)]
    records += [*readings("p/used", 0, 1, 2), *readings("p/closed", 0), {"type": "close", "series": "p/closed"}]
    records += [ruled("q/alone", epsilon=0.4)]
    old, rejects = site.installed("old", records, "--config", str(tmp_path / "old.toml"))
    assert not rejects
    left, said = site.left("old", settings=settings)
    (tmp_path / "new.toml").write_text(settings)
    after: list[Record] = [*left, *readings("p/used", 5, 6, 10), *readings("p/new", 5, 10)]
    after += [ruled("p/more", epsilon=0.1), ruled("p/more", epsilon=1e-9)]
    new, rejects = site.installed("new", after, "--config", str(tmp_path / "new.toml"))
    return old, new, rejects, said


def test_the_cap_goes_with_the_series(tmp_path: Path) -> None:
    """Old losses and new claims together are at most the old cap; what a closed series claimed stays claimed."""
    old, new, rejects, said = begun_anew(tmp_path, SETTINGS)
    before, after = claims(old, "p"), claims(new, "p")
    assert before == {"p/": 3 * MILLIARD, "p/used": MILLIARD, "p/new": MILLIARD, "p/closed": MILLIARD}
    left_used = MILLIARD - lost(old, "p/used")
    assert after == {"p/": left_used + 500_000_000, "p/used": left_used, "p/new": 500_000_000}
    assert sum(lost(old, series) for series in before) + after["p/"] <= before["p/"]
    assert [reject["reason"] for reject in rejects] == ["member-cap", "member-cap"]
    assert claims(new, "q") == {"q/": 3 * MILLIARD - MILLIARD + 400_000_000, "q/alone": 400_000_000}
    assert "p/: epsilon" in said
    assert " is left for the claims of a member's series" in said


def test_settings_that_would_refuse_a_part(tmp_path: Path) -> None:
    """No records where members have no separator, a cap or its claims would be refused; the remedy is said."""
    begun_anew(tmp_path, SETTINGS)
    site = Site(tmp_path)
    for settings, remedy in (
        ("", "set `member_separator` to the one of the ledger"),
        ('member_separator = "/"\nmember_epsilon = 0.2\n', "raise or unset `member_epsilon` until all are adopted"),
        (SETTINGS + "lifetime_epsilon = 1.0\n", "unset `lifetime_epsilon`, so that a series claims its first epsilon"),
    ):
        left, said = site.left("old", settings=settings, code=2)
        assert not left
        assert remedy in said
