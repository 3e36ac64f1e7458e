"""Pan-private counters: an intrusion's bound by exact fractions; the code keeps counters as proven."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp

import orjson
import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.privacy.collected.steps import start_noise
from stream_app.privacy.noise.draws import closing_stream
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, RawCells
from tests.collected import PAN_PRIVATE, REPLACE, collected, contribution, intrusion, watermark
from tests.privacy.collected.intrusion_law import Way, worst, worst_sum
from tests.privacy.noise.fit import SURE, fit
from tests.run import KEYS, Run

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
MEMBERS = (1, 2, 3)
MOST_LOOKS = 2
OTHER_KEYS = KeyRing("fedcba9876543210", 0, bytes(range(1, 33)))
SERIES = "ward-3"


WAYS = [Way(intruding, closing) for intruding, closing in product((HALF, THIRD), repeat=2)]
"""Our way, with less, equal and more noise in memory than at the close."""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.intrusion}-{way.closing}")
@pytest.mark.parametrize("looks", range(MOST_LOOKS + 1))
def test_an_exposed_step_costs_at_most_the_dearer_of_both(way: Way, looks: int) -> None:
    """This holds over all small steps, neighbours and look times; an unexposed step costs its epsilon."""
    bound = max(way.intrusion**-2, way.closing**-2) if looks else way.closing**-2
    for members in MEMBERS:
        found = worst(way, members, looks)
        assert found is not None
        assert found <= bound
        assert not looks or found >= way.intrusion**-2, "a look does tell what it may"


WRONG = {
    "no start noise": ({"start": False}, 1, HALF, THIRD),
    "start noise under the resident key": ({"start": False}, 1, THIRD, HALF),
    "no fresh noise after an announced look": ({"fresh": False}, 2, HALF, HALF),
    "the same fresh noise again": ({"other": False}, 2, HALF, HALF),
    # Who comes later with the key of the worker strips it off: the start noise alone stands there.
    "closing noise under the resident key": ({"hidden": False}, 0, THIRD, HALF),
    "closing noise under the resident key, seen without start noise": (
        {"hidden": False, "start": False},
        0,
        HALF,
        HALF,
    ),
    "start noise at the rate of one cell": ({"intrusion": HALF**2}, 1, HALF, HALF),
}


@pytest.mark.parametrize(("changes", "looks", "intruding", "closing"), WRONG.values(), ids=WRONG)
def test_wrong_ways_are_caught(changes: dict[str, object], looks: int, intruding: Fraction, closing: Fraction) -> None:
    """Each part is needed: without it, the bound is exceeded."""
    bound = max(intruding**-2, closing**-2) if looks else closing**-2
    found = worst(replace(Way(intruding, closing), **changes), 1, looks)  # type: ignore[arg-type]
    assert found is None or found > bound


RANGES = ((-1, 1), (0, 1), (0, 2), (-2, 1))


def middle_and_reach(low: int, high: int) -> tuple[int, int]:
    """Return c and an item's largest distance from it."""
    centre = (low + high) // 2
    return centre, max(high - centre, centre - low)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.intrusion}-{way.closing}")
@pytest.mark.parametrize("looks", range(MOST_LOOKS + 1))
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_an_exposed_sum_costs_at_most_the_dearer_of_both(way: Way, looks: int, low: int, high: int) -> None:
    """All noises have sensitivity 2 * max(hi - c, c - lo), over k - c: an item may also be moved past a look."""
    centre, reach = middle_and_reach(low, high)
    bound = max(way.intrusion ** (-2 * reach), way.closing ** (-2 * reach)) if looks else way.closing ** (-2 * reach)
    worsts = [worst_sum(way, low, high, centre, members, looks) for members in (1, 2)]
    assert all(found is not None and found <= bound for found in worsts)
    symmetric = high - centre == centre - low
    told = worsts[-1] is not None and worsts[-1] >= way.intrusion ** (-2 * reach)
    assert told or not (looks and symmetric), "a look does tell what it may"


@pytest.mark.parametrize(("low", "high"), [(0, 3), (0, 1), (2, 3)])
def test_sums_need_their_centre_and_twice_its_reach(low: int, high: int) -> None:
    """With noise for the range alone, or with uncentred items, moved items cost more than stated."""
    way = Way(HALF, HALF)
    centre, reach = middle_and_reach(low, high)
    moved = worst_sum(way, low, high, centre, 1, 1)
    assert moved is not None
    assert moved > HALF ** -(high - low), "the bound of noise whose sensitivity is the range"
    bare = worst_sum(way, low, high, 0, 1, 1)
    assert centre == 0 or (bare is not None and bare > HALF ** (-2 * reach)), "items that count as they are"


# The code keeps counters as the law above has them.


def pan_private(keys: KeyRing = KEYS) -> Run:
    """Return a run under a policy with noise in its counters."""
    policy = collected(collect=PAN_PRIVATE, epsilon=1.0)
    return Run(Context(keys, limits=Limits(lifetime_nano=10**15))).feed_all([policy])


def seed(nth: int) -> str:
    """Return a seed."""
    return f"{nth:064x}"


def cells(run: Run, step: int) -> tuple[int, ...]:
    """Return the counters of an open step as they are in memory."""
    return tuple(run.collection.counted(SERIES)[step].cells)


def noise(policy: Policy, nth: int, step: int, looks: int) -> tuple[int, ...]:
    """Return the noise of a seed."""
    return start_noise(bytes.fromhex(seed(nth)), policy, SERIES, step, looks)


def test_counters_are_counts_and_the_noise_of_their_seeds() -> None:
    """Start noise, fresh noise at each look and closing noise are all separate, and none comes from the key."""
    runs = [pan_private(), pan_private(OTHER_KEYS)]
    for run in runs:
        run.feed_all([watermark(0, seed(1)), contribution(3, "a", "walk"), contribution(13, "a", "ride")])
        run.feed_all([intrusion(seed(2)), contribution(4, "b", "ride")])
    run = runs[0]
    policy = run.rows[SERIES].policy
    terms = [noise(policy, 1, 0, 0), noise(policy, 2, 0, 1)]
    assert cells(run, 0) == tuple(sum(part) for part in zip((1, 1), *terms, strict=True))
    for other in runs:
        # The same announcement once more adds other noise: a record that was sent twice is no harm.
        other.feed_all([intrusion(seed(2)), watermark(10, seed(3))])
    terms.append(noise(policy, 2, 0, 2))
    held = tuple(sum(part) for part in zip((1, 1), *terms, strict=True))
    drawn = policy.kind.perturb(
        closing_stream(bytes.fromhex(seed(3)), policy, SERIES, 0, NANO, RawCells(held)), RawCells(held), NANO
    )
    released = orjson.loads(run.releases[0])
    assert tuple(released["measurement"].values()) == tuple(drawn)
    assert released["measurement"] != dict(zip(("walk", "ride"), held, strict=True))
    all_terms = [*terms, noise(policy, 1, 1, 0), noise(policy, 2, 1, 1), noise(policy, 3, 2, 0)]
    assert len(set(all_terms)) == len(all_terms)
    assert runs[0].releases == runs[1].releases, "no noise comes of the resident key"
    assert cells(runs[0], 1) == cells(runs[1], 1)


@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_counters_of_sums_are_centred_and_restored_at_the_release(statistic: str) -> None:
    """Memory holds each item's k - c and the seeds' noise; the release holds k plus the closing noise."""
    value = {"kind": "number", "lower": 60, "upper": 100, "resolution": 0.5}  # cells 120 .. 200, c = 160
    record = collected(collect=PAN_PRIVATE | {"statistic": statistic}, epsilon=1.0, value=value)
    run = Run(Context(KEYS)).feed_all([record, watermark(0, seed(1)), contribution(3, "a", 61)])
    run.feed_all([intrusion(seed(2)), contribution(4, "b", 999)])
    policy = run.rows[SERIES].policy
    assert policy.collect is not None
    assert policy.collect.gathers.sensitivity == 80
    held = (122 - 160) + (200 - 160) + noise(policy, 1, 0, 0)[0] + noise(policy, 2, 0, 1)[0]
    assert cells(run, 0) == (held,)
    run.feed(watermark(10, seed(3)))
    raw = RawCells((held + 2 * 160,) if statistic == "sum" else (held + 2 * 160, 2))
    drawn = policy.kind.perturb(closing_stream(bytes.fromhex(seed(3)), policy, SERIES, 0, NANO, raw), raw, NANO)
    released = orjson.loads(run.releases[0])
    assert released["measurement"] == drawn[0] / 2 / (1 if statistic == "sum" else 2)
    assert released["scale"] == 40 / (1 if statistic == "sum" else 2)


def test_without_intrusion_the_noise_is_of_the_key_and_of_no_seed() -> None:
    """Counters are bare, and closing noise is as for observations, so a collector's seeds need not be fresh."""
    found = []
    for keys, nth in ((KEYS, 1), (KEYS, 5), (OTHER_KEYS, 1)):
        run = Run(Context(keys)).feed_all([collected(collect=REPLACE, epsilon=1.0), watermark(0, seed(nth))])
        run.feed(contribution(3, "a", "walk"))
        assert cells(run, 0) == (1, 0)
        run.feed(watermark(10, seed(nth + 1)))
        found.append(run.releases[0])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("looks", [0, 1])
def test_the_rate_of_start_noise(looks: int) -> None:
    """It is discrete Laplace of rate intrusion / 2, at the start and after a look."""
    policy = pan_private().rows[SERIES].policy
    q = exp(-0.5)
    chances = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-40, 41)}
    draws = [draw for nth in range(3000) for draw in noise(policy, nth, 7, looks)]
    assert fit(draws, chances) > SURE
    narrow = {k: (1 - q * q) / (1 + q * q) * (q * q) ** abs(k) for k in range(-40, 41)}
    assert fit(draws, narrow) < SURE, "the control: rate intrusion would be seen"


@pytest.mark.parametrize(("neighbours", "sensitivity"), [("replace", 2), ("add-remove", 1)])
def test_sensitivities(neighbours: str, sensitivity: int) -> None:
    """Over all small steps, neighbours' counts differ by at most the sensitivity, and some reach it.

    The noise is made for it.
    """
    collect = {"neighbours": neighbours, "open_steps": 1}
    rows = Run().feed_all([collected(collect=collect, epsilon=1.0), watermark(0)]).rows
    assert rows[SERIES].policy.kind.scale(NANO) == sensitivity
    keys, largest = ("walk", "ride"), 0
    absent = (None,) if neighbours == "add-remove" else ()
    for items in product((*keys, *absent), repeat=3):
        for nth, other in product(range(3), (*keys, *absent)):
            if neighbours == "add-remove" and None not in (items[nth], other):
                continue  # another item is two such changes
            changed = (*items[:nth], other, *items[nth + 1 :])
            largest = max(largest, sum(abs(items.count(key) - changed.count(key)) for key in keys))
    assert largest == sensitivity
