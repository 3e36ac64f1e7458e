"""The windows of a version that protects w steps in a row: what is due at its regular steps, and what a window loses.

With A what the landmarks leave of the budget (E - S - R*a, see share.py; at level w-event E less w*e1, e1 what a
private dissimilarity costs: E // 2w, or 0 with released ones), a regular step may spend what the last w - 1 steps left
of A; the landmarks among them count elsewhere. BD proposes half of what is left; BA u = A // w for each step since the
last regular publication, as far as that has been paid back: k units spent on step l are paid back by the steps up to
l + k - 1, which publish nothing; the other schemes u. Each event costs e1 besides, published or not.

A version waits while windows, its own or those of an earlier version, hold steps that an earlier version spent on.
Steps of versions differ in length, so what one leaves to the next is in milliseconds.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from stream_app.audit.books.landmarks import LandmarkSet


class Reach(NamedTuple):
    """What is protected together under a version; a version without units counts its steps as such."""

    origin_ms: int | None  # of the grid of units; None where there are none
    unit_ms: int
    window: int

    @property
    def length_ms(self) -> int:
        """The length of a window."""
        return self.window * self.unit_ms


class EarlierSpends(NamedTuple):
    """The last spend of the versions so far, which windows of later ones must not reach; zeros where none is known."""

    end_ms: int = 0  # of the last step that was spent on
    reach_ms: int = 0  # the end of the last window, of versions before, around a step that it spent on
    units: bool = False  # whether a version had units, so that all of them waited

    def opens_ms(self, reach: Reach) -> int:
        """Return when a version may begin to spend; without windows it protects single steps."""
        return max(self.end_ms + reach.length_ms - reach.unit_ms, self.reach_ms) if self.end_ms else 0

    def clears_ms(self, reach: Reach) -> int:
        """Return the same where one of two versions has units: windows of both are kept apart as a whole."""
        return max(self.end_ms + reach.length_ms, self.reach_ms) if self.end_ms else 0


class Frame(NamedTuple):
    """The windows of a policy: at level w-event, and at level landmark where they are longer than a step."""

    steps: int  # w
    step_ms: int
    charge_nano: int  # e1

    @property
    def held_nano(self) -> int:
        """What windows hold back for private dissimilarities: w*e1."""
        return self.steps * self.charge_nano


@dataclass(slots=True)
class Window:
    """The regular spends of one period that a window still holds; changed in place."""

    frame: Frame
    spends: deque[tuple[int, int]] = field(default_factory=deque)  # steps that spent, ascending, and nano-epsilon
    total_nano: int = 0  # of them all
    last: tuple[int, int] | None = None  # the regular step published last, and its spend
    largest_nano: int = 0  # m: spent on one regular step
    cost_ms: int | None = None  # start of the last step that spent or was charged
    doubt: int | None = None  # the first step after missing entries, until what they hid is out of reach
    hidden: bool = False  # whether missing entries may hide a larger spend on one regular step

    def due(self, scheme: str, first: int, step: int, free: int) -> int:
        """Return what a scheme proposes at a regular step; `free` is A, `first` the period's first decided step."""
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
        """Return what the other steps of the window that ends with `step` spent, and forget the steps before it."""
        while self.spends and self.spends[0][0] <= step - self.frame.steps:
            self.total_nano -= self.spends.popleft()[1]
        if not self.spends or self.spends[-1][0] < step:
            return self.total_nano
        return sum(spend for at, spend in self.spends if at != step)  # decided before: a fault

    def loss(self, step: int, spend: int) -> int:
        """Return what the window that ends with `step` loses when this regular step spends `spend`."""
        return self.held(step) + spend + self.frame.held_nano

    def pass_by(self, step: int, spend: int, *, landmark: bool, waits: bool) -> None:
        """Move past a decided step, which spent `spend`."""
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
        """Let go of steps that are landmarks by now: they count with the landmarks."""
        self._hold({at: spend for at, spend in self.spends if not landmarks.at(at)[0]})

    def _hold(self, spends: dict[int, int]) -> None:
        self.spends, self.total_nano = deque(sorted(spends.items())), sum(spends.values())

    def miss(self) -> None:
        """Note that entries are missing."""
        self.doubt, self.hidden = None, True

    def settled(self, step: int) -> bool:
        """Tell whether missing entries no longer matter at `step`: two windows after them, all figures are known."""
        if self.doubt is None:
            self.doubt = step
        if step < self.doubt + 2 * self.frame.steps:
            return False
        self.doubt = None
        return True

    def leave(self, left: EarlierSpends) -> EarlierSpends:
        """Return what the periods up to this one leave to later ones; `left` is what those before this one left."""
        if self.cost_ms is None:
            return left
        length_ms = self.frame.steps * self.frame.step_ms
        return EarlierSpends(self.cost_ms + self.frame.step_ms, max(left.reach_ms, self.cost_ms + length_ms))
