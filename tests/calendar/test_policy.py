"""Policies as people write them become records of integers; nothing else in them changes."""

from datetime import datetime
from pathlib import Path
from typing import Any

from stream_app.calendar.policy import in_integers
from stream_app.privacy.policy import policy_of
from tests.run import NUMBER, policy

PARAMETERS: dict[str, Any] = {"epsilon": 1.0, "scheme": {"name": "uniform"}, "value": NUMBER}


def ms(text: str) -> int:
    """Return the milliseconds of a time with an offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def no_file(name: str) -> bytes:
    """Fail, because a policy that names no file must not read one."""
    raise AssertionError(name)


def test_integers_alone_are_the_record_itself() -> None:
    """It is not even a copy, so its bytes can be sent unchanged."""
    for record in (
        policy("a", protection={"level": "landmark", "landmarks": [5, [7, 9], None], "step": 2}, renew=[1, 2]),
        policy("a", protection=None, dummies=5),
        policy("a", dummies={"start": 5, "end": 6}),
        {},
    ):
        found, wrongs = in_integers(record, no_file)
        assert found is record
        assert not wrongs


def test_lengths_become_milliseconds() -> None:
    """Step, unit and offset may be written in words; an invalid length is named, whatever else is wrong."""
    for said, ms_of in {"5min": 300_000, "1h": 3_600_000, "1D": 86_400_000, "2 weeks": 1_209_600_000}.items():
        record = policy("a", protection={"level": "event", "step": said, "unit": said, "offset": "250 ms"})
        found, wrongs = in_integers(record, no_file)
        assert not wrongs
        assert found["protection"] == {"level": "event", "step": ms_of, "unit": ms_of, "offset": 250}
    for said in ("5m", "five minutes", "h", "0 h", "1.5h", "-1 h", "", "5 min 3 s", "1e3 s"):
        wrongs = in_integers(policy("a", protection={"level": "event", "step": said}), no_file)[1]
        assert [wrong.member for wrong in wrongs] == ["protection.step"], said


def test_times_become_integers_and_the_rest_stays() -> None:
    """These are landmarks by `protection.zone`, dummies' range and renewals; other members stay as they were."""
    record = {
        "series": "home-7",
        "protection": {"level": "landmark", "zone": "Europe/Paris", "landmarks": ["2026-03-29", 5], "step": 3600000},
        **PARAMETERS,
        "dummies": {"method": "padding", "start": "2026-03-01", "end": "2026-03-31", "probability": 0.5},
        "renew": {"every": "month", "zone": "UTC", "until": "2026-02-01"},
    }
    found, wrongs = in_integers(record, no_file, after_ms=ms("2026-01-01T00:00Z"))
    assert not wrongs
    assert found == {
        **record,
        "protection": {
            "level": "landmark",
            "landmarks": [5, [ms("2026-03-29T00:00+01:00"), ms("2026-03-30T00:00+02:00")]],
            "step": 3600000,
        },
        "dummies": {
            "method": "padding",
            "start": ms("2026-03-01T00:00+01:00"),
            "end": ms("2026-04-01T00:00+02:00"),
            "probability": 0.5,
        },
        "renew": [ms("2026-02-01T00:00Z")],
    }


def test_what_is_wrong_is_told_and_left_away() -> None:
    """Faults in the rest can therefore be reported together with it, and none is reported twice."""
    record = {
        **PARAMETERS,
        "protection": {"level": "landmark", "zone": "Mars", "landmarks": ["soon", "2026-01-01"]},
        "renew": {"every": "month", "zone": "UTC", "until": "2026-02-01"},
    }
    found, wrongs = in_integers(record, no_file)
    assert [wrong.member for wrong in wrongs] == ["protection.zone", "protection.landmarks.0", "renew.first"]
    assert found["protection"] == {"level": "landmark", "landmarks": []}
    policy_of({name: found[name] for name in (*PARAMETERS, "protection")}, 1)


def test_under_dummies_no_landmark_is_told() -> None:
    """A worker logs the faults of its default policies, where such landmarks are secret."""
    hidden = "2026-03-29T17:00"
    for landmark in (hidden, {"dates": [hidden], "zone": "UTC"}, [hidden, 5]):
        record = {**PARAMETERS, "protection": {"landmarks": [landmark]}, "dummies": {"start": "2026", "end": 5}}
        found, wrongs = in_integers(record, no_file)
        assert hidden not in str(wrongs)
        assert wrongs[0].member.startswith("protection.landmarks.0")
        assert wrongs[-1].member == "dummies.start"
        assert "dummies" not in found


def test_a_calendar_is_read_by_its_name(tmp_path: Path) -> None:
    """The reader of a policy says where to read the file."""
    event = "BEGIN:VEVENT\r\nDTSTART:20260329T170000Z\r\nDTEND:20260329T180000Z\r\nEND:VEVENT\r\n"
    (tmp_path / "mine.ics").write_text(f"BEGIN:VCALENDAR\r\n{event}END:VCALENDAR\r\n")
    record = policy("a", protection={"level": "landmark", "landmarks": [{"ics": "mine.ics"}]})
    found, wrongs = in_integers(record, lambda name: (tmp_path / name).read_bytes())
    assert not wrongs
    assert found["protection"]["landmarks"] == [[ms("2026-03-29T17:00Z"), ms("2026-03-29T18:00Z")]]
