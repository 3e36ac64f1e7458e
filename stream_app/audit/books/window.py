"""The windows of a version that protects w consecutive steps: regular steps' shares and windows' losses.

Let A be the part of the budget that the landmarks leave: E - S - R*a (see share.py), or E - w*e1 at level w-event. Here
e1 is the cost of a private dissimilarity, E // 2w, or 0 if dissimilarities are released. A regular step may spend the
part of A that the last w - 1 steps left; landmarks among them are counted elsewhere. BD proposes half of that part. BA
proposes u = A // w for each step since the last regular publication, after that publication has been paid back: if k
units were spent on step l, the steps up to l + k - 1 pay them back by publishing nothing. The other schemes propose u.
Each event also costs e1, published or not.

A version waits as long as any window, its own or an earlier version's, contains a step on which an earlier version
spent budget. Versions can have steps of different lengths, so the spends that matter to the next version are stored in
milliseconds.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from stream_app.audit.books.landmarks import LandmarkSet


class Reach(NamedTuple):
    """The window that a version protects in addition to landmarks; without units, its steps count as units."""

    origin_ms: int | None  # of the grid of units; None without units
    unit_ms: int
    window: int

    @property
    def length_ms(self) -> int:
        """The length of a window."""
        return self.window * self.unit_ms


class EarlierSpends(NamedTuple):
    """The last spend of all versions so far, which no later window may contain, or zeros if that spend is unknown."""

    end_ms: int = 0  # of the last step with a spend
    reach_ms: int = 0  # end of the last window of earlier versions around a step with a spend
    units: bool = False  # whether a version had units, so all of them waited

    def opens_ms(self, reach: Reach) -> int:
        """Return when a version may begin to spend; a version without windows protects single steps."""
        return max(self.end_ms + reach.length_ms - reach.unit_ms, self.reach_ms) if self.end_ms else 0

    def clears_ms(self, reach: Reach) -> int:
        """Return when a version may begin to spend if either version has units, so that their windows stay apart."""
        return max(self.end_ms + reach.length_ms, self.reach_ms) if self.end_ms else 0


class Frame(NamedTuple):
    """The windows of a policy: at level w-event, and at level landmark if windows are longer than a step."""

    steps: int  # w
    step_ms: int
    charge_nano: int  # e1

    @property
    def held_nano(self) -> int:
        """The epsilon that windows reserve for private dissimilarities: w*e1."""
        return self.steps * self.charge_nano


@dataclass(slots=True)
class Window:
    """The regular spends of one period that are still in a window, updated in place."""

    frame: Frame
    spends: deque[tuple[int, int]] = field(default_factory=deque)  # (step, nano-epsilon) pairs, ascending by step
    total_nano: int = 0  # sum of them
    last: tuple[int, int] | None = None  # last published regular step and its cost
    largest_nano: int = 0  # m: largest regular spend
    cost_ms: int | None = None  # start of the last step with a spend or charge
    doubt: int | None = None  # first step after missing entries, while they still matter
    hidden: bool = False  # whether missing entries may hide a larger regular spend

    def due(self, scheme: str, first: int, step: int, free: int) -> int:
        """Return a scheme's proposal at a regular step; `free` is A, and `first` is the first processed step."""
        steps, held = self.frame.steps, self.held(step)
        share = unit = free // steps
        match scheme:
            case "bd":
                share = (free - held) // 2
            case "ba":
                since = step - first + 1
                if self.last is not None and unit > 0:
                    published, spend = self.last
                    since = step - published - (spend // unit - 1)
                share = unit * min(steps, since) if since > 0 else 0
            case _:
                pass
        return max(0, min(share, free - held))

    def held(self, step: int) -> int:
        """Return the sum spent on the other steps in the window ending with `step`; forget all earlier steps."""
        while self.spends and self.spends[0][0] <= step - self.frame.steps:
            self.total_nano -= self.spends.popleft()[1]
        if not self.spends or self.spends[-1][0] < step:
            return self.total_nano
        return sum(spend for at, spend in self.spends if at != step)  # processed again: fault

    def loss(self, step: int, spend: int) -> int:
        """Return the loss of the window that ends with `step` if this regular step spends `spend`."""
        return self.held(step) + spend + self.frame.held_nano

    def pass_by(self, step: int, spend: int, *, landmark: bool, waits: bool) -> None:
        """Move past a processed step that spent `spend`."""
        if spend and not landmark:
            if self.spends and self.spends[-1][0] >= step:
                self._hold({**dict(self.spends), step: spend})
            else:
                self.spends.append((step, spend))
                self.total_nano += spend
            self.last = step, spend
            self.largest_nano = max(self.largest_nano, spend)
        if spend or (self.frame.charge_nano and not waits):
            self.cost_ms = step * self.frame.step_ms

    def leave_out(self, landmarks: LandmarkSet) -> None:
        """Drop the steps that are now landmarks, because these count separately."""
        self._hold({at: spend for at, spend in self.spends if not landmarks.at(at)[0]})

    def _hold(self, spends: dict[int, int]) -> None:
        self.spends, self.total_nano = deque(sorted(spends.items())), sum(spends.values())

    def miss(self) -> None:
        """Note that entries are missing."""
        self.doubt, self.hidden = None, True

    def settled(self, step: int) -> bool:
        """Return whether missing entries no longer matter at `step`: after two windows, all figures are known."""
        if self.doubt is None:
            self.doubt = step
        if step < self.doubt + 2 * self.frame.steps:
            return False
        self.doubt = None
        return True

    def leave(self, left: EarlierSpends) -> EarlierSpends:
        """Return the spends so far that later periods must consider; `left` has the spends of earlier periods."""
        if self.cost_ms is None:
            return left
        length_ms = self.frame.steps * self.frame.step_ms
        return EarlierSpends(self.cost_ms + self.frame.step_ms, max(left.reach_ms, self.cost_ms + length_ms))
