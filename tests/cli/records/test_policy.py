"""``policy`` and ``check``: what can be sent as a series' policy, and what is only for the configuration."""

import json
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stream_app.cli import main
from stream_app.cli.shared.policyfile import documents_in
from stream_app.formats import wire
from stream_app.formats.records import PolicyRecord
from tests.command import Cli
from tests.run import NUMBER, observation, policy


def written(folder: Path, *documents: dict[str, Any], indent: int | None = None) -> str:
    """Write documents, one per line unless indented; return the file's name."""
    path = folder / "policies.jsonl"
    path.write_text("\n".join(json.dumps(document, indent=indent) for document in documents) + "\n")
    return str(path)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name unreachable brokers: a message about them shows that something was to be sent."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", "127.0.0.1:1")


@pytest.mark.parametrize("series", ["home-*", "home-?", "home-[12]"])
def test_a_glob_is_not_sent(tmp_path: Path, cli: Cli, series: str) -> None:
    """A glob would rule one series of that name; the message says where it belongs, and nothing is sent."""
    file = written(tmp_path, policy("home-1"), policy(series))
    said = cli("policy", file, code=2).err
    assert said.splitlines() == [
        "landmark-stream policy: nothing sent",
        f"{file}:2: {series}: a policy with a glob is a default policy; set `policies_file` to this file",
    ]


def test_a_series_of_its_name_is_sent(tmp_path: Path, cli: Cli) -> None:
    """A record that spans several lines is one record and reaches the brokers."""
    assert "brokers at 127.0.0.1:1" in cli("policy", written(tmp_path, policy("home-1"), indent=1), code=2).err


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("missing", [("type",), ("version",), ("type", "series", "version")])
def test_members_that_are_missing_are_named(
    tmp_path: Path, cli: Cli, missing: tuple[str, ...], indent: int | None
) -> None:
    """These and no others."""
    document = {name: value for name, value in policy("home-1").items() if name not in missing}
    file = written(tmp_path, document, indent=indent)
    assert f"{file}:1: not a policy record; it lacks {', '.join(missing)}\n" in cli("policy", file, code=2).err


@pytest.mark.parametrize(("changed", "defaults"), [({}, 0), ({"series": "home-*"}, 1), ({"type": None}, 1)])
def test_check_says_what_policy_cannot_send(tmp_path: Path, cli: Cli, changed: dict[str, Any], defaults: int) -> None:
    """Default policies are valid in the configuration: the code is 0, and a line says so."""
    document = {name: value for name, value in (policy("home-1") | changed).items() if value is not None}
    file = written(tmp_path, policy("home-2"), document)
    said = cli("check", file).out
    assert said.startswith("policies = 2\n")
    assert ("defaults_only = 1\n" in said) == bool(defaults)
    assert ("`policies_file`" in said) == bool(defaults)


LANDMARKS = {"level": "landmark", "landmarks": [5, 9]}


def test_versions_of_a_file_are_compared(tmp_path: Path, cli: Cli) -> None:
    """A loss that no event between them can fix is an error; landmarks that may be past by then give a note."""
    weaker = policy("home-1", 2, protection={"level": "w-event", "window": 2})
    file = written(tmp_path, weaker, policy("home-1", 3, protection={"level": "event"}), policy("home-2", 1))
    lost = "fewer consecutive steps, or shorter ones, are protected together"
    told = f'protects less than version 2: {lost}; keep that, or set "weaker":true and set accept_weaker_policies'
    assert f"error: {file}:2: version: {told}\n" in cli("check", file, code=2).out
    assert f"nothing sent\n{file}:2: {told}\n" in cli("policy", file, code=2).err


def test_what_may_have_passed_is_a_note(tmp_path: Path, cli: Cli) -> None:
    """A statement of the record itself is also a note; neither makes a file invalid."""
    first = policy("home-1", protection=LANDMARKS)
    file = written(tmp_path, first, policy("home-1", 2, protection={"level": "event"}), policy("home-2", 1))
    assert main(["check", file]) == 0
    told = "version 2 protects less than version 1: future landmarks of the previous version are missing; "
    assert f"note: {file}:2: {told}" in cli.said().out
    file = written(
        tmp_path, first, policy("home-1", 2, value={**NUMBER, "sensitivity": 1}, weaker=True, protection=LANDMARKS)
    )
    told = cli("check", file, "--json").document
    assert told["problems"] == []
    assert "fewer values of one step are neighbours" in told["notes"][0]
    shown = cli("check", written(tmp_path, first, policy("home-1", 2, protection=LANDMARKS))).out
    (noise,) = [line for line in shown.splitlines() if line.startswith("note: ")]
    assert noise.startswith("note: home-1: scheme: the noise at a landmark"), "once for both versions"
    assert main(["check", written(tmp_path, policy("home-1", weaker="yes"))]) == 2
    assert ": weaker: found text; use true or false" in cli.said().out


WEEKENDS = {
    "weekly": ["sat", "sun"],
    "from": "17:00",
    "to": "20:00",
    "zone": "Europe/Paris",
    "first": "2026-01-01",
    "last": "2026-06-30",
}
CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;TZID=Europe/Paris:20260301T220000
DTEND;TZID=Europe/Paris:20260302T060000
RRULE:FREQ=WEEKLY;COUNT=5
END:VEVENT
END:VCALENDAR
"""


def weekends() -> list[list[int]]:
    """Return the weekend evenings of half a year, in ms."""
    clocks, days = ZoneInfo("Europe/Paris"), (date(2026, 1, 1) + timedelta(days=number) for number in range(181))
    return [
        [int(datetime.combine(day, time(hour), clocks).timestamp() * 1000) for hour in (17, 20)]
        for day in days
        if day.weekday() >= 5
    ]


def test_the_record_that_is_sent_holds_integers(tmp_path: Path) -> None:
    """Landmarks in people's notation are expanded first; other members and a record of integers stay unchanged."""
    protection = {"level": "landmark", "landmarks": [WEEKENDS], "step": 3_600_000, "spare": 2}
    said = policy("home-1", protection=protection)
    plain = policy("home-2", protection={"level": "landmark", "landmarks": [5, [7, 9]]})
    file = Path(written(tmp_path, said, plain))
    file.write_text(file.read_text().replace('"home-2"', ' "home-2" '))
    sent = [document.written for document in documents_in(file)]
    found = wire.decode(sent[0])
    assert isinstance(found, PolicyRecord)
    assert found.parameters["protection"] == {**protection, "landmarks": weekends()}
    assert {name for name in said if name not in {"type", "series", "version"}} == set(found.parameters)
    assert sent[1] == file.read_bytes().splitlines()[1]


def test_a_calendar_lies_beside_its_policy(tmp_path: Path, cli: Cli) -> None:
    """Wherever the command runs."""
    (tmp_path / "nights.ics").write_text(CALENDAR)
    file = written(tmp_path, policy("home-1", protection={"level": "landmark", "landmarks": [{"ics": "nights.ics"}]}))
    (document,) = documents_in(Path(file))
    assert len(document.content["protection"]["landmarks"]) == 5
    assert "brokers at 127.0.0.1:1" in cli("policy", file, code=2).err, "nothing else is wrong"
    (tmp_path / "nights.ics").unlink()
    assert main(["policy", file]) == 2
    told = f'{file}:1: protection.landmarks.0.ics: found "nights.ics"; there is no such file'
    assert told in cli.said().err


def test_what_is_wrong_with_times_is_told_beside_the_rest(tmp_path: Path, cli: Cli) -> None:
    """Both commands report wrong times in every record of the file, together with an unknown member."""
    wrong = policy("home-1", protection={"level": "landmark", "landmarks": ["2026-01-01", {"dates": []}], "spares": 1})
    file = written(tmp_path, wrong, policy("home-2", epsilon=-1, renew={"every": "month", "until": 5}))
    members = [
        "1{}protection.landmarks.0",
        "1{}protection.landmarks.1.zone",
        "1{}protection.landmarks.1.dates",
        "1{}protection.spares",
        "2{}renew.zone",
        "2{}renew.until",
        "2{}epsilon",
    ]
    said = cli("check", file, code=2).out
    for member in members:
        assert f"error: {file}:{member.format(': ')}: " in said
    said = cli("policy", file, code=2).err
    assert said.startswith("landmark-stream policy: nothing sent\n")
    for member in members:
        assert f"{file}:{member.format(': ')}: " in said


def test_a_record_that_no_topic_takes_is_refused(tmp_path: Path, cli: Cli) -> None:
    """The message has the record's size and says where later landmarks can go."""
    years = {**WEEKENDS, "weekly": ["mon", "wed", "fri", "sun"], "first": "1970-01-01", "last": "2020-12-31"}
    file = written(tmp_path, policy("home-1", protection={"level": "landmark", "landmarks": [years]}))
    said = cli("policy", file, code=2).err
    assert (
        "bytes, but a record can have at most 262,144; list fewer landmarks, and add the rest with `landmarks`" in said
    )


def test_default_policies_may_say_them_too(tmp_path: Path) -> None:
    """A replay under them writes what it writes under the integers, byte for byte."""
    key = tmp_path / "key"
    assert main(["keys", "new", str(key)]) == 0
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(observation("home-1", at + 5, 3)) + "\n" for at, _ in weekends()[:9]))
    ledgers: list[bytes] = []
    for landmarks in ([WEEKENDS], weekends()):
        protection = {"level": "landmark", "landmarks": landmarks, "step": 3_600_000}
        default = {**policy("home-*", protection=protection), "type": "policy"}
        file = written(tmp_path, {name: value for name, value in default.items() if name != "version"})
        out = tmp_path / f"out-{len(ledgers)}"
        assert main(["replay", str(events), "--out", str(out), "--policies", file, "--key", str(key)]) == 0
        ledgers.append((out / "ledger.jsonl").read_bytes())
    assert ledgers[0] == ledgers[1]
    assert b'"landmark":true' in ledgers[0]


def test_renewal_needs_a_lifetime(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` names each policy that would never be renewed, and what to set.

    The policy's renewals may be integers or a calendar rule.
    """
    monkeypatch.chdir(tmp_path)
    every = {"every": "month", "zone": "Europe/Paris", "first": "2026-02-01", "until": "2026-12-31"}
    file = written(tmp_path, policy("a", renew=[5]), policy("b"), policy("c", renew=every), policy("d", renew=[]))
    problems = cli("check", file, "--json", code=2).document["problems"]
    assert [problem["field"] for problem in problems] == [f"{file}:1: renew", f"{file}:3: renew"]
    assert all("lifetime_epsilon" in problem["message"] for problem in problems)
    (tmp_path / "with.toml").write_text("lifetime_epsilon = 12.0")
    assert main(["check", file, "--config", "with.toml"]) == 0
    monkeypatch.setenv("LANDMARK_STREAM_LIFETIME_EPSILON", "-1")
    cli.said()
    assert "lifetime_epsilon" in cli("check", file, code=2).out
