"""The remaining budget of each series in a ledger, as records for new topics: a fence, then a policy.

The loss of a series over a period is the epsilon spent on landmarks plus the largest epsilon spent at another step; the
losses of periods add up. Aborted entries count like any others, because anyone who reads uncommitted records has seen
them, and because a worker is bound by them. Two things would break the sum, and the new workers must refuse both:
processing a step again, and registering a landmark for a step that the old ledger processed. So each series first gets
a *fence*: a version that withholds a single step of one millisecond, at the end of the last processed step. The fence
costs nothing. The version before the fence sets the total that all later versions may use; nothing is processed under
it. Each version is harmless even if no other version is accepted.
"""

from collections.abc import Iterator
from typing import assert_never

from stream_app.accounting import starts
from stream_app.accounting.starts import Record, RemainingBudget
from stream_app.audit.finding import Finding
from stream_app.audit.form import entry as entries
from stream_app.audit.form.reader import CLAIM, is_claim, read_entry
from stream_app.formats import wire
from stream_app.privacy.parameters import LARGEST_VERSION
from stream_app.privacy.policy import PolicyError, stored_policy_of


class LeftError(Exception):
    """A ledger that does not show how much epsilon was spent; the message names the place."""


class _None(Exception):  # noqa: N818 - a branch, no error
    """The series gets no records."""


class _ByHand(_None):
    """The series may get records, but they cannot be derived here."""


class Remains:
    """Computes the remaining budgets from the lines of a ledger in log order.

    The lines include committed, aborted and copied entries. ``lifetime_nano`` is the total that a series may ever use;
    None stands for the series' first epsilon.
    """

    def __init__(self, lifetime_nano: int | None) -> None:
        self._lifetime = lifetime_nano
        self._found: dict[str, _SeriesSums] = {}

    def take(self, lines: list[bytes]) -> None:
        """Process entries; raises `LeftError` if one is missing, is unreadable, or conflicts with another."""
        for line in lines:
            if line.startswith(CLAIM) and is_claim(line):
                continue
            entry = read_entry(line)
            if isinstance(entry, Finding | entries.OpaqueEntry):
                found = entry.finding if isinstance(entry, entries.OpaqueEntry) else entry
                whose = found.series or "a line"
                raise LeftError(f"{whose}: {found.message}; use the program version that wrote it, or audit the ledger")
            self._found.setdefault(entry.series, _SeriesSums(self._lifetime)).take(entry)

    def left(self) -> Iterator[RemainingBudget]:
        """Yield people's limits, then the remaining budget of each series in order of appearance."""
        series = [one.what_is_left(name) for name, one in self._found.items() if one.cap_nano is None]
        claims = {name: one.claim_nano for name, one in self._found.items()}
        caps = {chain: one.cap_nano for chain, one in self._found.items() if one.cap_nano is not None}
        yield from starts.caps_left(caps, claims, series)
        yield from series


class _SeriesSums:
    """The sums over the entries of one series."""

    def __init__(self, lifetime_nano: int | None) -> None:
        self._lifetime = lifetime_nano
        self._last = (0, "")  # number and hash of the last entry
        self._closed = self._period = self._reach = self._exposed = self._budget = self._landmarks = 0
        self.end: int | None = None  # end of last processed step, ms
        self._first: int | None = None  # first processed step of the version
        self._ended = self._drawn = self._view = False
        self.claim_nano = 0  # counts towards its person's limit
        self.cap_nano: int | None = None  # None, unless this is the chain of a person
        self._rules: Record = {}
        self._level, self._step, self._offset = "", 1, 0

    def take(self, entry: entries.Known) -> None:
        sequence, last = self._last
        if entry.sequence <= sequence:  # a copy: aborted, and committed later
            if entry.sequence == sequence and entry.hash != last:
                raise LeftError(f"{entry.series}: two different entries have number {sequence}; audit the ledger")
            return
        if entry.sequence > sequence + 1 or (sequence and entry.previous != last):
            missing = f"entry {sequence + 1} is missing, or entry {entry.sequence} follows a different entry"
            raise LeftError(f"{entry.series}: {missing}; the epsilon spent is unknown")
        self._last = (entry.sequence, entry.hash)
        self._count(entry)
        if isinstance(entry, entries.ReleaseEntry | entries.LandmarksEntry):
            self._landmarks = entry.landmark_spent_nano
            self._period = self._landmarks + entry.regular_peak_nano

    def _count(self, entry: entries.Known) -> None:
        match entry:
            case entries.PolicyEntry():
                rules = starts.adoptable(entry.parameters)
                self._view = self._view or entry.view
                if self._rules:
                    self._leave()
                    self._drawn = self._drawn and starts.renewed(self._rules, rules)
                self._rules, self._budget = rules, entry.budget_nano
                self._level, self._step = self._protection["level"], self._protection.get("step", 1)
                self._offset = self._protection.get("offset") or 0
                # The smaller of the series' reservation and the given lifetime; without either, its first epsilon.
                known = [nano for nano in (self._lifetime, entry.lifetime_nano) if nano is not None]
                self._lifetime = min(known, default=self._budget)
                if entry.parameters.get("collect") is None:
                    self.claim_nano += entry.lifetime_nano or 0
                self._first = None
            case entries.ReleaseEntry():
                self.end = entry.timestamp + self._step
                self._first = entry.timestamp if self._first is None else self._first
            case entries.LandmarksEntry():  # registered late
                old = self._protection
                self._rules["protection"] = {**old, "landmarks": [*old.get("landmarks", []), *entry.add]}
            case entries.DummiesEntry():
                self._period, self._drawn = entry.charged_nano, True
            case entries.IntrusionEntry():
                self._exposed = max([self._exposed, *(stop for _, stop in entry.exposed)])
            case entries.CloseEntry():
                self._ended = True
            case entries.MemberEntry():
                self.cap_nano = entry.cap_nano
            case _:
                assert_never(entry)

    @property
    def _protection(self) -> Record:
        found: Record = self._rules["protection"]
        return found

    @property
    def _unit(self) -> int:
        """The length of a unit, or 0 if there are no units."""
        unit: int = self._protection.get("unit") or 0
        return unit

    @property
    def _window(self) -> int:
        """The number of steps or units in a window, or 0 if there are no windows."""
        window: int = self._protection.get("window") or 1
        return window if window > 1 or self._level == "w-event" else 0

    def _leave(self) -> None:
        if self._unit and self._period and self.end is not None:
            self._reach = max(self._reach, self.end + max(1, self._window) * self._unit)
        elif self._window and self._period and self.end is not None:
            self._reach = max(self._reach, self.end - self._step + self._window * self._step)
        self._closed, self._period, self._landmarks = self._closed + self._period, 0, 0

    def what_is_left(self, series: str) -> RemainingBudget:
        """Return the remaining budget, or the reason why there are no records."""
        try:
            found, used = self._left(series), self._closed + self._period
            return starts.of_view(found, used, self._lifetime or 0) if self._view else found
        except _None as why:
            return RemainingBudget(
                series, (), 0, self.end or 0, str(why), isinstance(why, _ByHand), self._closed + self._period
            )

    def _left(self, series: str) -> RemainingBudget:
        """Return the remaining budget; raises `_None` and `_ByHand`."""
        assert self._lifetime is not None, "the first entry of a series is a policy"
        left, end = self._lifetime - self._closed - self._period, self.end or 0
        # No step or landmark of the new policy is before this time.
        begin = self._offset - (self._offset - end) // self._step * self._step
        if self._ended:
            raise _None("closed, so it gets no policy")
        if self._exposed > begin:
            raise _ByHand(f"an intrusion exposed steps before {self._exposed}, and these steps could open again")
        if self._reach > self._opens(begin, end):
            raise _ByHand(f"windows of an earlier version extend to {self._reach}")
        # The remainder of the current policy is also a limit: its own epsilon is a guarantee, like the lifetime.
        epsilon, last = min(left, self._budget - self._period), False
        if self._level in {"event", "w-event"}:  # each step or window may use all; a lifetime sums the peaks
            epsilon, last = self._budget, self._level == "w-event" or left < self._budget
        elif epsilon <= 0:
            self._refill(left, begin)
            raise _None("no budget remains")
        policy: Record = {"type": "policy", "series": series, "version": LARGEST_VERSION if last else 3, **self._rules}
        policy |= {"epsilon": starts.epsilon_of(epsilon), "protection": self._protected(begin, end)}
        if bounds := self._bounds:
            policy["renew"] = bounds
        else:
            policy.pop("renew", None)
        if "collect" in policy:
            policy["weaker"] = True  # the fence before it collects nothing
        size = len(wire.dump(policy))
        if size > wire.LARGEST_RECORD_BYTES:
            raise _ByHand(f"its policy is {size} bytes long, but the limit for a record is {wire.LARGEST_RECORD_BYTES}")
        cap = epsilon if last else max(left, epsilon)  # what later versions may use
        fence = () if self.end is None else self._fence(series, cap, self.end - 1)
        more = f"{self._each}, from timestamp {begin} on" + ", with the drawn landmarks" * self._drawn
        more += ", and again at each bound of `renew`" * bool(bounds)
        together = self._closed + self._period + cap
        more += ", and no later version is possible" * last + starts.exceeding(together, "lifetime", self._lifetime)
        return RemainingBudget(series, (*fence, policy), epsilon, begin, more, by_hand=False, together_nano=together)

    def _opens(self, begin: int, end: int) -> int:
        """Return the time from which the new policy may spend."""
        if self._unit:  # the fence's epsilon is not counted, so a window of units passes first
            return max(begin, end + max(1, self._window) * self._unit)
        return end + (self._window - 1) * self._step if self._window else begin

    @property
    def _each(self) -> str:
        """A phrase that says what the whole remaining budget applies to."""
        if self._level == "landmark":
            waits = ", after a wait" * (self._window > 0 or self._unit > 0)
            return " beside each window" * (self._window > 0) + waits
        step = " for each unit, after a wait" if self._unit else " for each step"
        return {"event": step, "w-event": " for each window, after a wait"}.get(self._level, "")

    @property
    def _bounds(self) -> list[int]:
        """The renewal bounds after the start of the last processed step; earlier bounds already took effect."""
        decided_ms = -1 if self.end is None else self.end - self._step
        return [bound for bound in self._rules.get("renew") or [] if bound > decided_ms]

    def _refill(self, left: int, begin: int) -> None:
        """Raise `_ByHand` if a series without remaining budget can continue after its next bound or in its windows."""
        if left > 0 and self._bounds:
            raise _ByHand(f"its budget is exhausted until {self._bounds[0]}, when it is renewed")
        spare = self._budget - self._landmarks
        # Future landmarks would lose epsilon in windows of their own, although they should share it with one window.
        united = starts.united(self._protection.get("landmarks", []), self._protection, begin)
        if self._window and spare > 0 and not self._unit and not united:
            left_each = f"the landmarks left epsilon {starts.epsilon_of(spare)} for each window"
            raise _ByHand(f"{left_each}: the series may continue with this budget at level w-event")

    def _protected(self, begin: int, end: int) -> Record:
        """Return the protection from ``begin`` onward; raises `_None` and `_ByHand`."""
        protection = dict(self._protection)
        if self._level == "landmark":
            protection["landmarks"] = starts.united(protection.get("landmarks", []), protection, begin)
        elif self._level == "user" and self._first is not None:
            protection["length"] -= (end - self._first) // self._step
            if protection["length"] <= 0:
                raise _None("all steps of its length have passed")
        elif self._level not in {"event", "w-event", "user"}:
            raise _ByHand(f"unknown level {self._level}")
        return protection

    def _fence(self, series: str, cap_nano: int, at_ms: int) -> tuple[Record, ...]:
        """Return two policy versions, and the reading of the only step that the second version withholds.

        No later version is accepted before this reading.
        """
        # The kind is the same, so that the policy after them is not weaker.
        value = {name: part for name, part in self._rules["value"].items() if name not in starts.OF_STATISTICS}
        if value["kind"] == "choice":  # only for collected data, whose policy is marked as weaker anyway
            value = {"kind": "category", "categories": value["items"]}
        # PRIVACY: if only one of the two versions is adopted, it lets next to nothing through. The first has a single
        # step for its epsilon, which is no more than the remaining budget, so it is spent at most once. The second has
        # the smallest possible epsilon. It withholds the step of the first (0, because nothing was processed), and so
        # is not weaker. Whatever comes after it is weaker, and is refused until the fence's own step is processed.
        first = {
            "version": 1,
            "epsilon": starts.epsilon_of(cap_nano),
            "protection": {"level": "user", "step": 1, "length": 1},
            "scheme": {"name": "uniform"},
        }
        fence = {
            "version": 2,
            "epsilon": starts.epsilon_of(1),
            "protection": {"level": "landmark", "step": 1, "landmarks": sorted({0, at_ms})},
            "scheme": {"name": "skip", "accept_risk": True},  # landmarks spend nothing
        }
        versions = ({"type": "policy", "series": series, **rules, "value": value} for rules in (first, fence))
        return (*versions, {"series": series, "timestamp": at_ms, "value": _public(first | {"value": value})})


def _public(version: Record) -> object:
    """Return a fixed value of a policy version's kind, independent of what was measured."""
    try:
        return stored_policy_of({name: part for name, part in version.items() if name != "version"}, 1).kind.item.guess
    except PolicyError as error:
        raise LeftError(f"{error}; use the program version that wrote it") from None
