"""The runs that verify a policy on each of its pairs, and the runs of a control that spends twice as much."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from stream_app.deciding.rows import SeriesRow
from stream_app.processes import pooled
from stream_app.verify.gathered import pairs_of
from stream_app.verify.neighbours import Pair
from stream_app.verify.trial import Seen, UnusableError, derived, ruled, seen_of

CHUNK = 200
"""The number of runs between two checks of the time."""
TWICE = 2
_DRAW = 0
"""The number from which the secret for drawing a policy's dummies is derived; runs use several numbers."""


class Part(NamedTuple):
    """Some runs of one history in a pair, under the subject or its control."""

    pair: int
    control: bool
    side: int
    start: int
    runs: int


class Experiment(NamedTuple):
    """What is verified, on which pairs, and the control, which behaves like a faulty worker."""

    subject: SeriesRow
    """The row of a series when the policy takes effect."""
    control: SeriesRow | None
    """The control's row; None if no policy may have twice the budget."""
    pairs: tuple[Pair, ...]
    secret: bytes
    """The secret from which all keys of all runs are derived."""

    def subject_of(self, part: Part) -> SeriesRow:
        """Return the row with which a part's runs begin."""
        subject = self.control if part.control else self.subject
        assert subject is not None, "a part is run only if it has a row"
        return subject

    def seen(self, part: Part) -> Seen:
        """Return what is seen in a part's runs, under a key that no other part uses."""
        secrets = [
            derived(self.secret, part.pair, part.control, part.side, run)
            for run in range(part.start, part.start + part.runs)
        ]
        return seen_of(self.subject_of(part), self.pairs[part.pair], part.side, secrets)

    def parts(self, runs: int) -> Iterator[Part]:
        """Yield ``runs`` runs of every history in parts; all histories grow together, so any part can be the last."""
        controls = (False,) if self.control is None else (False, True)
        for start in range(0, runs, CHUNK):
            for pair, each in enumerate(self.pairs):
                for control in controls if each.controlled else (False,):
                    for side in (0, 1):
                        yield Part(pair, control, side, start, min(CHUNK, runs - start))

    def histories(self) -> int:
        """Return how many histories are run."""
        controlled = 0 if self.control is None else sum(pair.controlled for pair in self.pairs)
        return 2 * (len(self.pairs) + controlled)


def experiment(parameters: Mapping[str, Any], secret: bytes) -> Experiment:
    """Return the experiment for ``parameters``, a policy record without type, series and version.

    The control is the same policy with twice its epsilon (and intrusion). It acts like a worker that spends twice the
    budget that it charges each time. Raises `UnusableError`.
    """
    row = ruled(parameters, derived(secret, _DRAW))
    doubled = dict(row.policy.parameters)
    doubled["epsilon"] = TWICE * float(parameters["epsilon"])
    collect = parameters.get("collect")
    if collect is not None and "intrusion_nano" in collect:
        doubled["collect"] = {**collect, "intrusion_nano": TWICE * collect["intrusion_nano"]}
    control = None
    with suppress(UnusableError):
        control = ruled(doubled, derived(secret, _DRAW))
    return Experiment(row, control, pairs_of(row.policy), secret)


Results = Generator[tuple[Part, Seen], None, None]
"""Parts in order, each with what was seen in it; closing the generator ends the runs."""


def gathered(
    tried: Experiment, runs: int, results: Results, watch: Callable[[int, int], bool]
) -> dict[tuple[int, bool, int], Seen]:
    """Return what was observed of each history, by pair, control and side.

    ``watch`` receives the number of finished runs and the total number of runs, and returns whether to continue.
    """
    found: dict[tuple[int, bool, int], list[Seen]] = {}
    done, total = 0, runs * tried.histories()
    for part, seen in results:
        found.setdefault((part.pair, part.control, part.side), []).append(seen)
        done += part.runs
        if not watch(done, total):
            break
    return {place: np.concatenate(parts) for place, parts in found.items()}


def here(tried: Experiment, parts: Iterable[Part]) -> Results:
    """Run parts in this process, in order."""
    yield from ((part, tried.seen(part)) for part in parts)


def beside(parameters: Mapping[str, Any], secret: bytes, parts: Iterable[Part], jobs: int) -> Results:
    """Run parts of the experiment for ``parameters`` in ``jobs`` processes; yield results in the parts' order."""
    with pooled(jobs, _hold, (parameters, secret)) as pool:
        waiting: deque[tuple[Part, Future[Seen]]] = deque()
        for part in parts:
            waiting.append((part, pool.submit(_held_seen, part)))
            if len(waiting) > 2 * jobs:
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()


_held: list[Experiment] = []
"""The experiment whose parts this process runs."""


def _hold(parameters: Mapping[str, Any], secret: bytes) -> None:
    _held[:] = [experiment(parameters, secret)]


def _held_seen(part: Part) -> Seen:
    return _held[0].seen(part)
