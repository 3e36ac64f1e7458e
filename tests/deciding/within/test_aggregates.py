"""The aggregate of a step's readings: exact, even if readings are late, repeated or out of order."""

import json
from fractions import Fraction
from random import Random  # noqa: TID251 (draws logs, no noise)
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collected import SCHEMES_OF, SERIES
from tests.deciding.within.literal import STEP, literal
from tests.readings import AGGREGATES, PROTECTIONS, reading, watermark, within
from tests.run import NUMBER, Run, observation, policy
from tests.suite.speeds import scaled

VALUES = (0.1, 0.0005, 2.5, 7, 11, -3.25, 0.0014999, 1e-300, 1e300, -1e300, 5e-324, 3.3333, "none", None, True)


def drawn(seed: int) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """Return a log of readings and watermarks of one series, its protection, and its kind."""
    draw = Random(seed)
    form: dict[str, Any] = {"within": draw.choice(AGGREGATES), "open_steps": draw.randrange(1, 4)}
    form |= draw.choice(({}, {}, {"absent": "approximated"}, {"absent": 1.25}))
    value = NUMBER | draw.choice(({}, {"invalid": 0.00049}, {"lower": -5, "resolution": 0.25}))
    now = draw.randrange(3) * STEP
    log = [] if draw.random() < 0.3 else [watermark(now)]
    for _ in range(draw.randrange(1, 40)):
        now += draw.choice((0, 0, 1, 3, 12))
        if draw.random() < 0.2:
            log.append(watermark(max(0, now + draw.randrange(-12, 13))))
        else:
            log.append(reading(max(0, now + draw.randrange(-25, 20)), draw.choice(VALUES)))
    return log, form, value


def decided(run: Run) -> list[tuple[int, Fraction | None]]:
    """Return the steps of a run's releases with their measurements."""
    found = [json.loads(release) for release in run.releases]
    return [
        (one["timestamp"] // STEP, Fraction(str(one["measurement"])) if "measurement" in one else None) for one in found
    ]


@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_logs_come_to_what_the_rules_say(block: int) -> None:
    """Without noise (0 except once in e^100 draws at this budget), every release and reject matches."""
    for seed in range(100 * block, 100 * block + 100):
        log, form, value = drawn(seed)
        run = Run().feed_all([within(protection=form, value=value, epsilon=1e6), *log])
        rejects = [json.loads(reject) for reject in run.rejects]
        expected, refused = literal(log, form, value)
        assert decided(run) == expected, (seed, form)
        assert [(one["timestamp"], one["reason"]) for one in rejects] == refused, (seed, form)


def test_the_draws_hold_what_they_are_about() -> None:
    """As a control, late, repeated, early and invalid readings, gaps, and steps with many readings all occur."""
    reasons: set[str] = set()
    steps: list[Fraction | None] = []
    for seed in range(100):
        log, form, value = drawn(seed)
        expected, refused = literal(log, form, value)
        reasons |= {reason for _, reason in refused}
        steps += [cells for _, cells in expected]
    assert reasons == {"late", "early", "duplicate", "invalid-value"}
    assert None in steps
    assert len(steps) > 300


@settings(max_examples=scaled(75), suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PROTECTIONS), st.integers(0, 10**6), st.data())
def test_a_step_is_released_as_one_observation_is(level: dict[str, Any], seed: int, data: st.DataObject) -> None:
    """At any budget and under the same key, one observation of the aggregate gives the same release.

    Therefore, everything known about the law of a single observation's release holds for that of a step's readings.
    """
    log, form, value = drawn(seed)
    scheme = data.draw(st.sampled_from(SCHEMES_OF[str(level["level"])]))
    if "window" in level and level["level"] == "landmark":
        scheme = {"name": "uniform"}
    members: dict[str, Any] = {"epsilon": data.draw(st.sampled_from((0.3, 2.0, 50.0))), "scheme": scheme}
    members["filter"] = data.draw(st.sampled_from(("none", "level")))
    if form.get("absent") == "approximated":
        del form["absent"]  # a gap that is filled is no observation
    run = Run().feed_all([within(protection=level | form, value=value, **members), *log])
    expected, _ = literal(log, form, value)
    plain = Run().feed_all([policy(SERIES[0], protection=level, value=value, **members)])
    plain.feed_all(observation(SERIES[0], step * STEP, float(cell or 0)) for step, cell in expected)
    assert run.releases == plain.releases
    assert run.spent_nano == plain.spent_nano
    assert [_figures(entry) for entry in run.ledger[1:]] == [_figures(entry) for entry in plain.ledger[1:]]


def _figures(entry: bytes) -> dict[str, Any]:
    """Return an entry without its place in the chain, which began with another policy."""
    return {name: part for name, part in json.loads(entry).items() if name not in {"previous", "hash"}}
