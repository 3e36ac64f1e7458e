"""Three speeds: what each one runs, and how many examples it draws."""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from tests.suite.markers import uses

EXPRESSIONS: Final = {
    "quick": "not broker and not slow and not long",
    "test": "not long",
    "long": "long or amount",
}
"""What ``--speed`` selects if no ``-m`` is given; `make quick`, `make test` and `make long` pass it."""


class Amount(NamedTuple):
    """An amount for each speed; an option of its name overrides it."""

    quick: int
    test: int
    long: int
    meaning: str


AMOUNTS: Final = {
    "datasets": Amount(500, 500, 10_000, "made-up datasets whose intervals have to hold the truth"),
    "draws": Amount(20_000, 20_000, 1_000_000, "draws that are decided by both paths"),
    "filtered": Amount(20_000, 20_000, 100_000, "events that the filter takes as its literal second form does"),
    "ledgers": Amount(60, 110, 1_000, "true ledgers that an audit must find true"),
    "matrices": Amount(100, 200, 5_000, "transition matrices solved by enumeration and programs"),
    "hostile_records": Amount(2_000, 4_000, 100_000, "hostile records decided in groups of one and one by one"),
    "percent": Amount(14, 14, 100, "how many in a hundred of the documents that are a change away from a valid one"),
    "pairs": Amount(1_000, 1_000, 10_000, "pairs of logs that measure alike and must be decided alike"),
    "seeds": Amount(100, 100, 10_000, "schedules that are simulated"),
    "kills": Amount(5, 5, 20, "how often test_kills kills a worker"),
    "pool_kills": Amount(5, 10, 200, "how often test_processes kills a process that shares work"),
    "events": Amount(10_000, 10_000, 100_000, "how many events test_kills sends"),
    "late": Amount(600, 600, 4_000, "how many events test_late sends through each scenario"),
    "fuzz": Amount(8_000, 8_000, 100_000, "how many records test_fuzz sends"),
    "scale": Amount(4, 4, 4, "up to how many workers the long runs of test_scale start"),
}


def add_options(parser: pytest.Parser) -> None:
    """Declare ``--speed`` and one option per amount."""
    parser.addoption("--speed", choices=[*EXPRESSIONS], default="test", help="which tests run, with how many draws")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the files in an order that is drawn")
    for name, amount in AMOUNTS.items():
        by_speed = ", ".join(f"{getattr(amount, speed)} at {speed}" for speed in EXPRESSIONS)
        parser.addoption(f"--{name}", type=int, help=f"{amount.meaning} ({by_speed})")


# No draw is timed: on a loaded machine a draw or an example would be too slow by chance. This holds from the first
# import on, because the conftest of a folder that the command names imports tests before the speed is known.
settings.register_profile("untimed", deadline=None, max_examples=50)
settings.load_profile("untimed")

EXAMPLES: Final = {"quick": 50, "test": 50, "long": 500}
"""The number of examples Hypothesis draws at each speed, unless a test sets its own."""


def scaled(usual: int) -> int:
    """Return how many examples a property with its own number draws at this speed: ``usual`` in `make test`."""
    return usual * settings().max_examples // EXAMPLES["test"]


def choose(config: pytest.Config) -> None:
    """Select by speed, unless the command names markers; this runs before Hypothesis is asked for anything."""
    speed = config.getoption("speed")
    config.option.markexpr = config.option.markexpr or EXPRESSIONS[speed]
    settings.register_profile(speed, settings.get_profile("untimed"), max_examples=EXAMPLES[speed])
    settings.load_profile(speed)


def amount(request: pytest.FixtureRequest, name: str) -> int:
    """Return an amount: the option's, or else the speed's."""
    config = request.config
    given: int | None = config.getoption(name)
    return int(getattr(AMOUNTS[name], config.getoption("speed"))) if given is None else given


LONG_SECONDS: Final = 3600
"""How long a test may take at ``--speed long``; for the other speeds see `timeout` in pyproject.toml."""


def mark(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they use and those that have an amount; start with the slowest files.

    With ``--shuffle`` files come in an order drawn from its seed instead.
    """
    seed = config.getoption("shuffle")
    for item in items:
        if isinstance(item, pytest.Function):
            for used in sorted(uses(item)):
                item.add_marker(used)
            if AMOUNTS.keys() & set(item.fixturenames):
                item.add_marker("amount")
            if config.getoption("speed") == "long":
                item.add_marker(pytest.mark.timeout(LONG_SECONDS))
    places = _places(items) if seed is None else _shuffled(items, seed)
    items.sort(key=lambda item: places[_file(item)])


LONG_KINDS: Final = ("broker", "slow", "amount")
"""Markers of tests that take long."""


def _places(items: list[pytest.Item]) -> dict[str, tuple[float, str]]:
    """Return the order of files, with those with a broker spread evenly: they wait while the others compute.

    Of either kind, files with long tests come first, and of these the files with few tests, because each test is long.
    """
    tests = Counter(map(_file, items))
    broker, slow = ({_file(item) for item in items if _has(item, *names)} for names in (["broker"], LONG_KINDS))
    kinds = [
        sorted(kind, key=lambda file: (file not in slow, tests[file], file)) for kind in (broker, tests.keys() - broker)
    ]
    return {file: (place / len(kind), file) for kind in kinds for place, file in enumerate(kind)}


def _has(item: pytest.Item, *names: str) -> bool:
    return any(map(item.get_closest_marker, names))


def _shuffled(items: list[pytest.Item], seed: int) -> dict[str, tuple[float, str]]:
    files = sorted(set(map(_file, items)))
    return {
        file: (place, file)
        for place, file in zip(np.random.default_rng(seed).permutation(len(files)), files, strict=True)
    }


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
