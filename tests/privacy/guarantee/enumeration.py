"""Every short trace of one period, driven through the real fold, with the theorem checked by brute force.

The search knows only the program's functions that it calls: what a step is, what is proposed, what the guard says, what
a registration does. It counts for itself what was really spent, which steps are landmarks and how many are left. Traces
that agree in all of that and in the state are continued once; their number is kept.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from stream_app.privacy import fold
from stream_app.privacy.guard import Guard
from stream_app.privacy.place import Place, place, proposal, spent
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.protection import LandmarkLevel, UserLevel
from stream_app.privacy.published import LandmarksEntry
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import NEVER, State
from stream_app.privacy.values import ReleasedCells

ZERO = ReleasedCells((0,))


class Rules(NamedTuple):
    """What a search drives; the defaults are the program's, and a broken variant replaces one of them."""

    proposals: Callable[[Policy, State, int, Place], Iterable[int]] = lambda policy, state, step, at: (
        proposal(policy, state, step, at),
    )
    spend: Callable[[Policy, State, int, Place, int], Guard | None] = spent
    guard: type[Guard] = Guard  # the one that registrations meet


class Books(NamedTuple):
    """What really happened, by the search's own count: nothing in it comes from the guard."""

    landmarks: frozenset[int]
    spare: int
    on_landmarks: int  # the sum of what all landmarks spent
    on_regular: tuple[int, ...]  # what each regular step spent

    def worst(self, window: int) -> int:
        """Return the largest sum of spends over L and any ``window`` steps in a row."""
        starts = range(len(self.on_regular))
        return self.on_landmarks + max(sum(self.on_regular[start : start + window]) for start in starts)

    def published(self, step: int, spend: int) -> "Books":
        """Return the books after a spend."""
        if step in self.landmarks:
            return self._replace(on_landmarks=self.on_landmarks + spend)
        return self._replace(on_regular=(*self.on_regular[:step], spend, *self.on_regular[step + 1 :]))

    def registered(self, added: frozenset[int], last: int) -> "Books":
        """Return the books after landmarks were registered, ``last`` being the last decided step."""
        moved = sum(self.on_regular[step] for step in added)
        regular = tuple(0 if step in added else spent for step, spent in enumerate(self.on_regular))
        spare = max(0, self.spare - sum(step > last for step in added))
        return Books(self.landmarks | added, spare, self.on_landmarks + moved, regular)


class Found(NamedTuple):
    """What a search saw."""

    traces: int  # distinct ones, from the first moment to the last
    states: int
    violations: int  # states in which some sum exceeds the budget
    refusals: int  # proposals that the guard refused
    registered: int
    not_registered: int
    miscounts: int  # entries whose landmarks_left is not the search's own count


class Node(NamedTuple):
    """A state of the program and what really happened."""

    state: State
    books: Books


Key = tuple[object, ...]
Layer = dict[Key, tuple[Node, int]]
"""The nodes at one point in time by their keys, with the number of traces that lead to each."""


class Search:
    """One search over ``steps`` steps under policies that differ only in landmarks and spare."""

    def __init__(self, rules: Rules, policies: Sequence[Policy], steps: int) -> None:
        """Start with nothing seen."""
        self.rules, self.policies, self.policy, self.steps = rules, policies, policies[0], steps
        self.window = self.policy.windows.steps if self.policy.windows else 1
        self._known: dict[Key, list[tuple[frozenset[int], fold.StateChange[LandmarksEntry] | Rejection]]] = {}
        self.states = self.violations = self.refusals = self.registered = self.not_registered = self.miscounts = 0

    def run(self) -> Found:
        """Walk all traces, layer by layer: by step, then by number of landmarks."""
        layer: Layer = {}
        for policy in self.policies:
            adopted = fold.adopt(policy, None, None, None)
            assert not isinstance(adopted, Rejection)
            intervals = policy.landmarks.intervals
            landmarks = frozenset(step for first, end in intervals for step in range(first, min(end, self.steps)))
            if isinstance(policy.protection, UserLevel):
                landmarks = frozenset(range(self.steps))
            books = Books(landmarks, policy.spare, 0, (0,) * self.steps)
            self._reach(layer, Node(adopted.state, books), 1)
        for step in range(self.steps):
            later: Layer = {}
            for node, ways in self._closure(layer):
                for decided in self._decisions(node, step):
                    self._reach(later, decided, ways)
            layer = later
        traces = sum(ways for _, ways in self._closure(layer))
        return Found(
            traces,
            self.states,
            self.violations,
            self.refusals,
            self.registered,
            self.not_registered,
            self.miscounts,
        )

    def _reach(self, layer: Layer, node: Node, ways: int) -> None:
        key = self._key(node)
        before = layer.get(key)
        if before is None:
            self.states += 1
            self.violations += node.books.worst(self.window) > self.policy.epsilon_nano
            layer[key] = (node, ways)
        else:
            layer[key] = (before[0], before[1] + ways)

    def _key(self, node: Node) -> Key:
        """Return what distinguishes this node's future from another's; what was released plays no part in it."""
        state = node.state
        counts = isinstance(self.policy.protection, UserLevel) or self.policy.scheme.name == "ba"
        first = state.clock.first_step if counts else NEVER
        return (
            state.guard,
            state.promise.landmarks.intervals,
            state.promise.spare_left,
            first,
            state.clock.last_step,
            node.books,
        )

    def _closure(self, layer: Layer) -> Iterator[tuple[Node, int]]:
        """Yield the nodes of a moment after any number of registrations of any sets of steps."""
        by_size: list[Layer] = [{} for _ in range(self.steps + 1)]
        for key, (node, ways) in layer.items():
            by_size[len(node.books.landmarks)][key] = (node, ways)
        for nodes in by_size:
            for node, ways in nodes.values():
                for moved in self._registrations(node):
                    self._reach(by_size[len(moved.books.landmarks)], moved, ways)
                yield node, ways

    def _registrations(self, node: Node) -> Iterator[Node]:
        """Yield the nodes after one registration of any steps."""
        state, books = node
        if not isinstance(self.policy.protection, LandmarkLevel):
            return
        for added, moved in self._registered(state, books):
            if isinstance(moved, Rejection):
                self.not_registered += 1
                continue
            self.registered += 1
            after = books.registered(added, state.clock.last_step)
            left = sum(step > state.clock.last_step for step in after.landmarks) + after.spare
            self.miscounts += moved.entry.figures.landmarks_left != left
            yield Node(moved.state, after)

    def _registered(
        self, state: State, books: Books
    ) -> list[tuple[frozenset[int], fold.StateChange[LandmarksEntry] | Rejection]]:
        """Return what every registration does; it is a pure function of these parts of the state."""
        key = (state.guard, state.promise.landmarks.intervals, state.promise.spare_left, state.clock.last_step)
        known = self._known.get(key)
        if known is None:
            others = [step for step in range(self.steps) if step not in books.landmarks]
            met = replace(state, guard=self.rules.guard(*state.guard))
            known = []
            for size in range(1, len(others) + 1):
                for added in combinations(others, size):
                    moved = fold.register(self.policy, met, added)
                    if not isinstance(moved, Rejection):
                        moved = fold.StateChange(replace(moved.state, guard=Guard(*moved.state.guard)), moved.entry)
                    known.append((frozenset(added), moved))
            self._known[key] = known
        return known

    def _decisions(self, node: Node, step: int) -> Iterator[Node]:
        """Yield the nodes after a step without an event, an approximated step and a published step."""
        state, books = node
        policy, guard = self.policy, state.guard
        yield node
        at = place(policy, state, step)
        approximated = fold.advance(policy, state, step, at, guard, None, 0)
        self._count_left(approximated, books, step)
        yield Node(approximated.state, books)
        for spend_nano in self.rules.proposals(policy, state, step, at):
            if spend_nano <= 0:
                continue
            after = self.rules.spend(policy, state, step, at, spend_nano)
            if after is None:
                self.refusals += 1
                continue
            stepped = fold.advance(policy, state, step, at, after, ZERO, spend_nano)
            self._count_left(stepped, books, step)
            yield Node(stepped.state, books.published(step, spend_nano))

    def _count_left(self, stepped: fold.StepResult, books: Books, step: int) -> None:
        if isinstance(self.policy.protection, LandmarkLevel):
            left = sum(landmark > step for landmark in books.landmarks) + books.spare
            self.miscounts += stepped.landmarks_left != left


def search(
    rules: Rules, scheme: dict[str, object], epsilon_nano: int, *, steps: int, spares: Sequence[int], window: int = 1
) -> Found:
    """Return what all traces under a scheme show, for every initial landmark set and every spare."""
    protections: list[dict[str, object]] = [
        {"level": "landmark", "landmarks": landmarks, "spare": spare, "window": window}
        for spare in spares
        for size in range(steps + 1)
        for landmarks in combinations(range(steps), size)
    ]
    return Search(rules, [policy_under(scheme, epsilon_nano, protection) for protection in protections], steps).run()


def policy_under(scheme: dict[str, object], epsilon_nano: int, protection: dict[str, object]) -> Policy:
    """Return a policy of that many nano-epsilon over steps of one millisecond."""
    value = {"kind": "number", "lower": 0, "upper": 1, "resolution": 1}
    parameters = {"epsilon": float(f"{epsilon_nano}e-9"), "protection": protection, "scheme": scheme, "value": value}
    return policy_of(parameters, 1)
