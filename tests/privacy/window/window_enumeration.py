"""Every short trace of a series at level w-event, through the real fold: gaps, late records, new versions.

The search knows only the program's functions that it calls. It counts for itself, in milliseconds, what was really
spent and charged, which windows there are and which of them contain a step. Traces that agree in all of that and in the
state are continued once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from stream_app.privacy import fold
from stream_app.privacy.guard import Guard, Window, WindowLevel
from stream_app.privacy.place import Place, place, proposal, spent, unspent
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import State
from stream_app.privacy.values import Raw, ReleasedCells
from tests.run import KEYS

ZERO = ReleasedCells((0,))
LIFETIME_NANO = 10**9


class Rules(NamedTuple):
    """What a search drives; the defaults are the program's, and a broken variant replaces one of them."""

    proposals: Callable[[Policy, State, int, Place], Iterable[int]] = lambda policy, state, step, at: (
        proposal(policy, state, step, at),
    )
    spend: Callable[[Policy, State, int, Place, int], Guard | None] = spent
    kept: Callable[[Window], Window] = lambda window: window  # after every release
    begun: Callable[[Policy, Window], Window] = lambda _, window: window  # after every new version


class Cost(NamedTuple):
    """What one event really cost, and the step it was in."""

    start_ms: int
    end_ms: int
    version: int
    spend: int
    charge: int


class Node(NamedTuple):
    """A state of the program and what really happened."""

    state: State
    nth: int  # of the versions, the one that rules
    costs: tuple[Cost, ...]


class Found(NamedTuple):
    """What a search saw."""

    nodes: int
    published: int
    refusals: int  # proposals that the guard refused
    late: int  # records for a step that is decided, or before: all refused
    violations: int  # releases after which a window lost more than its version promised


class Search:
    """One search over ``horizon_ms`` milliseconds under versions that follow each other at any moment."""

    def __init__(self, rules: Rules, versions: Sequence[Policy], horizon_ms: int) -> None:
        """Start with nothing seen."""
        self.rules, self.versions, self.horizon_ms = rules, versions, horizon_ms
        self.nodes = self.published = self.refusals = self.late = self.violations = 0

    def run(self, *, until_broken: bool = False) -> Found:
        """Walk all traces, millisecond by millisecond, or until one breaks a window."""
        first = fold.adopt(self.versions[0], None, None, LIFETIME_NANO)
        assert not isinstance(first, Rejection)
        layer = [Node(first.state, 0, ())]
        for now_ms in range(self.horizon_ms):
            known: dict[object, Node] = {}
            for node in layer:
                for ruled in self._versions(node):
                    for after in self._events(ruled, now_ms):
                        known.setdefault(_key(after), after)
                if until_broken and self.violations:
                    break
            layer = list(known.values())
            self.nodes += len(layer)
        return Found(self.nodes, self.published, self.refusals, self.late, self.violations)

    def _versions(self, node: Node) -> Iterator[Node]:
        """Yield the node as it is, and after each number of later versions."""
        yield node
        while node.nth + 1 < len(self.versions):
            before, policy = self.versions[node.nth], self.versions[node.nth + 1]
            adopted = fold.adopt(policy, before, node.state, LIFETIME_NANO, may_weaken=True)
            if isinstance(adopted, Rejection):  # its landmarks have passed
                return
            guard = adopted.state.guard
            state = replace(adopted.state, guard=guard._replace(window=self.rules.begun(policy, guard.window)))
            node = Node(state, node.nth + 1, node.costs)
            yield node

    def _events(self, node: Node, now_ms: int) -> Iterator[Node]:
        """Yield the nodes without an event at this millisecond, with one not published, and with one published."""
        state, nth, costs = node
        policy = self.versions[nth]
        yield node
        self._late(policy, state)
        if now_ms % policy.step_ms or now_ms < state.clock.decided_end_ms:
            return
        index = now_ms // policy.step_ms
        at = place(policy, state, index)
        event = Cost(now_ms, now_ms + policy.step_ms, nth, 0, self._charge(node, now_ms))
        for spend_nano in self.rules.proposals(policy, state, index, at):
            guard = self.rules.spend(policy, state, index, at, spend_nano) if spend_nano > 0 else None
            if guard is None:
                self.refusals += spend_nano > 0
                continue
            stepped = fold.advance(policy, state, index, at, guard, ZERO, spend_nano)
            ring = self.rules.kept(stepped.state.guard.window)
            after = replace(stepped.state, guard=stepped.state.guard._replace(window=ring))
            paid = (*costs, event._replace(spend=spend_nano))
            self.published += 1
            self.violations += self._breaks(paid)
            yield Node(after, nth, paid)
        idle = fold.advance(policy, state, index, at, unspent(policy, state, index), None, 0)
        if event.charge:
            costs = (*costs, event)
            self.violations += self._breaks(costs)
        yield Node(idle.state, nth, costs)

    def _late(self, policy: Policy, state: State) -> None:
        """Send a record for each millisecond already decided: it is refused, and so changes nothing."""
        for late_ms in range(state.clock.decided_end_ms):
            assert isinstance(fold.step(KEYS, policy, state, "s", late_ms, Raw(0)), Rejection)
            self.late += 1

    def _charge(self, node: Node, now_ms: int) -> int:
        """Return e1, unless the version waits: then no window may contain this step and an earlier version's cost."""
        policy = self.versions[node.nth]
        level = policy.protection
        if not isinstance(level, WindowLevel) or not level.charge_nano:
            return 0
        own_ms = now_ms - (level.steps - 1) * policy.step_ms
        for cost in node.costs:
            before = self.versions[cost.version].windows
            reach = before.steps * self.versions[cost.version].step_ms if before else 0
            if cost.version < node.nth and (cost.end_ms > own_ms or cost.start_ms + reach > now_ms):
                return 0
        return level.charge_nano

    def _breaks(self, costs: tuple[Cost, ...]) -> bool:
        """Return whether any window around the last cost, of a version that spent in it, lost too much.

        A version's landmarks count in each of its windows; the spends of other versions count in their own place.
        """
        last = costs[-1]
        for nth, policy in enumerate(self.versions):
            if policy.windows is None:
                continue
            step_ms, length_ms = policy.step_ms, policy.windows.steps * policy.step_ms
            marked = [cost for cost in costs if cost.version == nth and cost.start_ms // step_ms in policy.landmarks]
            first_ms = (last.start_ms // step_ms - policy.windows.steps + 1) * step_ms
            for start_ms in range(first_ms, last.end_ms, step_ms):
                held = [cost for cost in costs if cost.start_ms < start_ms + length_ms and cost.end_ms > start_ms]
                own = any(cost.version == nth for cost in held)
                together = {*held, *marked}
                if own and sum(cost.spend + cost.charge for cost in together) > policy.epsilon_nano:
                    return True
        return False


def _key(node: Node) -> object:
    """Return what distinguishes this node's future from another's; what was released plays no part in it."""
    state = node.state
    return (
        *state.guard,
        state.clock.first_step,
        state.clock.last_step,
        state.clock.decided_ms,
        state.latest.source_ms,
        *node[1:],
    )


def version(number: int, scheme: dict[str, object], epsilon_nano: int, **protection: object) -> Policy:
    """Return a version of that many nano-epsilon; by default at level w-event."""
    value = {"kind": "number", "lower": 0, "upper": 1, "resolution": 1}
    level = {"level": "w-event"} | protection
    parameters = {"epsilon": float(f"{epsilon_nano}e-9"), "protection": level, "scheme": scheme, "value": value}
    return policy_of(parameters, number)
