"""How long a worker may be outside its group before it counts as lost."""

import pytest

from stream_app.kafka.faust import membership
from stream_app.kafka.faust.membership import Membership
from stream_app.setup.settings import Settings


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        """Begin at some time."""
        self.now_seconds = 1_000.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now_seconds


def test_only_time_outside_counts_and_only_while_brokers_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A start, consecutive rebalances, an outage of the brokers: no worker is lost; then one is, once."""
    clock = Clock()
    monkeypatch.setattr(membership, "time", clock)
    caplog.set_level("INFO")
    found = Membership(Settings.model_validate({}))
    assert found.grace_seconds == 120.0
    for seconds, member, silent in [(100, False, False), (30, True, False), (119, False, False), (119, True, False),
                                    (500, False, True), (120, False, False)]:  # fmt: skip
        clock.now_seconds += seconds
        found.look(member=member, silent=silent)
        assert not found.lost
    for _ in range(3):
        clock.now_seconds += 1
        found.look(member=False, silent=False)
        assert found.lost
    found.look(member=True, silent=False)
    assert not found.lost
    waits = "waiting for its consumer group, which still counts a killed worker for up to 45 s"
    told = [record.getMessage() for record in caplog.records]
    assert [told[0], told[1], told[2]] == [waits] * 3, "once for each time outside"
    assert [record.levelname for record in caplog.records[3:]] == ["ERROR", "INFO"]
    assert "outside its consumer group for 121 s" in told[3]


def test_the_grace_time_follows_the_session() -> None:
    """A rebalance waits for a silent member as long as its session lasts."""
    assert Membership(Settings.model_validate({"session_timeout_ms": 300_000})).grace_seconds == 600.0
