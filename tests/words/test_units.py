"""Policies with units in words: what is one event, what is omitted, and what a step publishes."""

from typing import Any

import pytest

from stream_app.audit.answers.asked import for_the_person
from stream_app.privacy.policy import policy_of
from stream_app.words.promise import Circumstances, in_words, landmark_steps

HOUR, DAY = 3_600_000, 86_400_000
NUMBER = {"kind": "number", "lower": 40, "upper": 400, "resolution": 1}


def parameters(statistic: dict[str, Any] | None = None, /, **protection: Any) -> dict[str, Any]:
    """Return a policy's parameters that the core accepts: a day's mean, by the hour."""
    unit = {"level": "landmark", "step": DAY, "unit": HOUR, "open_steps": 2} | protection
    value = NUMBER | ({"statistic": "mean"} if statistic is None else statistic)
    found = {"epsilon": 1.0, "scheme": {"name": "uniform"}, "value": value, "protection": unit}
    policy_of(found, 1)
    return found


@pytest.mark.parametrize(
    ("protection", "where"),
    [
        (
            {"landmarks": [[10 * DAY, 12 * DAY]]},
            "at its 48 landmarks, which are left out, and at one other hour",
        ),
        ({"landmarks": [DAY + 5]}, "at its 1 landmark, which is left out, and at one other hour"),
        ({"window": 6}, "at its landmarks (none so far), which are left out, and at any 6 hours in a row"),
        ({"level": "event"}, "at one hour"),
        ({"level": "event", "unit": 300_000}, "at one unit of 5 min"),
        ({"level": "event", "unit": DAY}, "at one day"),
    ],
)
def test_where_two_histories_may_differ(protection: dict[str, Any], where: str) -> None:
    """They may differ in units, whatever the step; the landmarks are omitted."""
    text = in_words(parameters(**protection), "home-7")
    assert text.partition(". Whatever")[0] == f"Take two histories of home-7 that differ only {where}"


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        ({"statistic": "mean"}, "the mean of its hours"),
        ({"statistic": "sum"}, "the sum of its hours"),
        (
            {"statistic": "share", "from": 70, "to": 180.5},
            "the share of its hours with a value of at least 70 and below 180.5",
        ),
        ({"statistic": "histogram", "edges": [70, 180]}, "how many of its hours are in each of 3 bins"),
        (
            {"kind": "category", "categories": ["home", "work"], "statistic": "histogram"},
            "how many of its hours are in each category",
        ),
        ({"statistic": "mean", "by": "hour"}, "the mean of its hours for each hour of the day"),
        ({"statistic": "sum", "by": "weekday"}, "the sum of its hours for each weekday"),
        ({"statistic": "mean", "by": "hour-of-week"}, "the mean of its hours for each hour of the week"),
    ],
)
def test_what_a_step_publishes(statistic: dict[str, Any], said: str) -> None:
    """A day publishes one statistic of its hours."""
    found = parameters()
    value = statistic if "kind" in statistic else NUMBER | statistic
    policy_of(found | {"value": value}, 1)
    assert f" Each day publishes {said}. " in in_words(found | {"value": value})


def test_what_is_said_besides() -> None:
    """It covers a unit's contents, later landmarks, what everybody sees, and what neighbours suggest."""
    text = in_words(parameters(within="max", spare=24))
    assert "All readings of an hour count as one event; its value is its largest reading." in text
    assert "registered before their step is published are left out as well." in text
    assert "registered later are also protected, but they use budget, which is reserved for 24 of them." in text
    assert "Visible to everyone: which hours have readings, and how many of them are counted;" in text
    assert "This protects what an hour alone would reveal, but not what its neighbours suggest about it." in text
    assert "use budget." in in_words(parameters())
    assert "landmark" not in in_words(parameters(level="event"))


def test_landmarks_count_units_on_their_grid() -> None:
    """A moment is the unit that contains it, and units before the offset count, too."""
    assert landmark_steps(parameters(landmarks=[5, [DAY, DAY + 1]])) == 2
    assert landmark_steps(parameters(offset=1_800_000, landmarks=[[0, HOUR]])) == 2
    assert landmark_steps(parameters(offset=1_800_000, landmarks=[[1_800_000, 1_800_000 + HOUR]])) == 1


def test_what_a_person_is_told() -> None:
    """A statistic of the person's hours is published, and marked moments are left out."""
    text = for_the_person(parameters(), "p-3", Circumstances(landmarks=48), 10**8, "It ends.")
    assert text.startswith("For each day, the mean of its hours is published about you (p-3), with noise added.")
    assert "differ only at your 48 marked moments, which are left out, and at one other hour. What is published" in text
    assert "not what its neighbours suggest about it." in text
