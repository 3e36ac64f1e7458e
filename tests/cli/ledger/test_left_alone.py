"""``left`` if new workers refuse some of its records: none is printed, and any adopted alone are harmless."""

from itertools import combinations

import pytest

from tests.cli.ledger.test_left import HOUR, Record, Site, readings, ruled
from tests.run import SAMPLES, Run

FAR = 1_140_000
"""A step in the year 2100, in hours, which lies in the future."""


def test_a_fence_too_far_ahead_is_not_printed(site: Site) -> None:
    """If the last decided step ends in the future, the error says from when on that no longer holds."""
    site.installed("old", [ruled("home"), *readings("home", FAR), ruled("near"), *readings("near", 1)])
    begun, said = site.left("old", code=2, settings="max_future_ms = 3600000\n")
    assert begun == []
    assert "home: the reading that marks earlier steps as processed" in said
    assert "future" in said
    assert "after 2100-01-18T23:59:59.999000+00:00" in said
    assert "near" not in said
    begun, _ = site.left("old", settings=f"max_future_ms = {10**13}\n")
    assert {record["series"] for record in begun} == {"home", "near"}


def test_a_fence_above_the_cap_is_not_printed(site: Site) -> None:
    """With a lifetime above `max_epsilon`, the version that carries it would be refused; the others would rule."""
    site.installed("old", [ruled("home"), *readings("home", 0)])
    begun, said = site.left("old", "3.0", code=2, settings="max_epsilon = 1.0\n")
    assert (begun, "version 1 of its policy" in said, "raise `max_epsilon`" in said) == ([], True, True)
    begun, said = site.left("old", code=2, settings="accept_policies = false\n")
    assert (begun, "set `accept_policies`" in said) == ([], True)
    begun, said = site.left("old", "3.0", code=2, settings="lifetime_epsilon = 1.0\n")
    assert (begun, "unset `lifetime_epsilon`" in said) == ([], True)


def registered(first_ms: int, width_ms: int, count: int) -> list[Record]:
    """Return records that register ``count`` late landmarks of ``width_ms`` steps, up to 3,000 per record."""
    spans = [[first_ms + 7 * nth, first_ms + 7 * nth + width_ms] for nth in range(count)]
    return [{"type": "landmarks", "series": "home", "add": spans[at : at + 3000]} for at in range(0, len(spans), 3000)]


FINE: Record = {
    "protection": {"level": "landmark", "step": 1, "landmarks": [1_400_000_000_000]},
    "scheme": {"name": "balanced"},
}


def test_landmarks_registered_again_and_again_fit(site: Site) -> None:
    """Each landmark is stored once and compactly, so 9,000 fit into a record, and each one is a landmark."""
    late = registered(1_500_000_000_000, 1, 9000)
    _, rejects = site.installed("old", [ruled("home", **FINE), *readings("home", 1), *late, *late])
    assert rejects == []
    begun, _ = site.left("old")
    added = [1_500_000_000_000 + 7 * nth for nth in range(9000)]
    assert begun[-1]["protection"]["landmarks"] == [1_400_000_000_000, *added]
    steps = [{"series": "home", "timestamp": at, "value": 1.5} for at in (added[0], added[-1], added[-1] + 1)]
    new, rejects = site.installed("new", [*begun, *steps])
    assert (rejects, [entry["landmark"] for entry in new[-3:]]) == ([], [True, True, False])


def test_landmarks_that_no_record_holds_are_left_to_a_person(site: Site) -> None:
    """A series with more landmarks than a record holds gets no records; the others get theirs."""
    late = registered(1_500_000_000_000, 2, 12_000)
    old = [ruled("home", **FINE), *readings("home", 1), *late, ruled("near"), *readings("near", 1)]
    site.installed("old", old)
    begun, said = site.left("old", code=1)
    assert {record["series"] for record in begun} == {"near"}
    assert "but the limit for a record is 262144; you must decide" in said


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("level", ["user", "landmark"])
def test_some_records_alone_give_no_more_than_what_is_left(level: str, kind: str, site: Site) -> None:
    """Whichever subset of the records is adopted, no more than the remaining budget is spent over any steps."""
    protection: Record = {"level": level, "step": HOUR}
    protection |= {"length": 7} if level == "user" else {"landmarks": [[HOUR, 500 * HOUR]]}
    value = SAMPLES[kind].values[0]
    reading = {"series": "home", "timestamp": HOUR, "value": value}
    site.installed("old", [ruled("home", protection=protection, value=SAMPLES[kind].declared), reading])
    begun, _ = site.left("old")
    left_nano = round(begun[-1]["epsilon"] * 10**9)
    steps = range(2 * HOUR, 402 * HOUR, HOUR)
    for count in range(1, len(begun)):
        for some in combinations(begun, count):
            run = Run().feed_all(some)
            run.feed_all({"series": "home", "timestamp": at, "value": value} for at in steps)
            assert run.spent_nano <= left_nano + len(steps), some
