"""``left`` on ledgers with members: a person's old and new losses stay within the person's cap."""

from pathlib import Path

from tests.cli.ledger.test_left import HOUR, Record, Site, readings, ruled
from tests.command import Cli

SETTINGS = 'member_separator = "/"\nmember_epsilon = 3.0\n'
MILLIARD = 10**9


def claims(ledger: list[Record], member: str) -> dict[str, int]:
    """Return the claim of each of a member's series, and the member's last cap under the name of its chain."""
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
    """Return the old ledger, the new ledger and rejects, and what `left` says, for three series of one person."""
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
    """Old losses plus new claims are at most the old cap; the claim of a closed series remains."""
    old, new, rejects, said = begun_anew(tmp_path, SETTINGS)
    before, after = claims(old, "p"), claims(new, "p")
    assert before == {"p/": 3 * MILLIARD, "p/used": MILLIARD, "p/new": MILLIARD, "p/closed": MILLIARD}
    left_used = MILLIARD - lost(old, "p/used")
    assert after == {"p/": left_used + 500_000_000, "p/used": left_used, "p/new": 500_000_000}
    assert sum(lost(old, series) for series in before) + after["p/"] <= before["p/"]
    assert [reject["reason"] for reject in rejects] == ["member-cap", "member-cap"]
    assert claims(new, "q") == {"q/": 3 * MILLIARD - MILLIARD + 400_000_000, "q/alone": 400_000_000}
    assert "p/: epsilon" in said
    assert " remains for reservations by the person's series" in said


def test_settings_that_would_refuse_a_part(tmp_path: Path) -> None:
    """No records come if members lack a separator, or a cap or its claims would be refused; a remedy is named."""
    begun_anew(tmp_path, SETTINGS)
    site = Site(tmp_path)
    for settings, remedy in (
        ("", "set `member_separator` to the separator of the ledger"),
        (
            'member_separator = "/"\nmember_epsilon = 0.2\n',
            "raise or unset `member_epsilon` until all records are accepted",
        ),
        (
            SETTINGS + "lifetime_epsilon = 1.0\n",
            "unset `lifetime_epsilon` so that each series reserves the epsilon of its first policy",
        ),
    ):
        left, said = site.left("old", settings=settings, code=2)
        assert not left
        assert remedy in said


def lived_twice(site: Site) -> tuple[list[Record], list[Record], str]:
    """Return both ledgers of a person whose cap of 3 is fully claimed, and the messages of `left`."""
    event, windows = {"level": "event", "step": HOUR}, {"level": "w-event", "step": HOUR, "window": 2}
    records: list[Record] = [ruled("p/event", protection=event), ruled("p/windows", protection=windows)]
    records += [ruled("p/half", epsilon=0.5), *readings("p/event", 0), *readings("p/windows", 0, 1)]
    records += [*readings("p/half", 0, 1, 2), ruled("q/spare", epsilon=0.5, protection=event), *readings("q/spare", 0)]
    config = site.folder / "people.toml"
    config.write_text(SETTINGS + "lifetime_epsilon = 1.0\n")
    old, rejects = site.installed("old", records, "--config", str(config))
    assert not rejects
    begun, said = site.left("old", settings=SETTINGS)
    after = [*readings("p/event", 5), *readings("p/windows", 5, 6), *readings("p/half", 5, 6, 10)]
    config.write_text(SETTINGS)
    new, _ = site.installed("new", [*begun, *after, *readings("q/spare", 5)], "--config", str(config))
    return old, new, said


def test_what_is_lost_on_both_sides_of_the_move_is_said(tmp_path: Path, cli: Cli) -> None:
    """At levels event and w-event, losses exceed claim and cap: each event or window gets a whole new epsilon."""
    old, new, said = lived_twice(Site(tmp_path))
    words = ["left", "--ledger", f"{tmp_path}/old/ledger.jsonl", "--config", f"{tmp_path}/settings.toml"]
    cli.said()
    told = {one["series"]: one for one in cli(*words, "--without-aborted", "--json").document["series"]}
    both = {name: lost(old, name) + lost(new, name) for name in ("p/event", "p/windows", "p/half", "q/spare")}
    assert both["p/event"] == both["p/windows"] == 2 * MILLIARD
    assert sum(both[name] for name in both if name.startswith("p/")) > claims(old, "p")["p/"] == 3 * MILLIARD
    for name, nano in both.items():
        assert nano <= told[name]["together_nano"] <= 2 * MILLIARD
    for member in "pq":
        mine = sum(nano for name, nano in both.items() if name.startswith(member))
        assert mine <= told[f"{member}/"]["together_nano"]
    sentences = {line.partition(":")[0]: line for line in said.splitlines()}
    over = "histories that differ both before and after the move lose up to {} in total, above the {}"
    assert over.format("2.0", "lifetime of 1.0") in sentences["p/event"]
    assert over.format("2.0", "lifetime of 1.0") in sentences["p/windows"]
    assert over.format("5.0", "limit of 3.0") in sentences["p/"]
    assert not [name for name in ("p/half", "q/spare", "q/") if "both before" in sentences[name]]
