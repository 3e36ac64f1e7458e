"""The windows of a series at level w-event: what is due at a step, and what w steps in a row lose.

With E the budget, w the steps of a window, e1 what a private dissimilarity costs (E // 2w; 0 with released ones), and
P = E - w*e1: a step may spend what the last w - 1 steps left of P. Uniform proposes P // w; BD half of what is left; BA
u = P // w for each step since the last publication, as far as that has been paid back: k units spent on step l are
paid back by the steps up to l + k - 1, which publish nothing. Each event costs e1 besides, published or not.

A version waits while windows, its own or those of an earlier w-event version, hold steps that an earlier version
spent on. Steps of versions differ in length, so what one leaves to the next is in milliseconds.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class EarlierSpends(NamedTuple):
    """The last spend of the versions so far, which windows of later ones must not reach; zeros where none is known."""

    end_ms: int = 0  # of the last step that was spent on
    reach_ms: int = 0  # the end of the last w-event window, of versions before, around a step that it spent on


class Frame(NamedTuple):
    """The windows of a policy at level w-event."""

    steps: int  # w
    step_ms: int
    spendable_nano: int  # P
    charge_nano: int  # e1

    def opens_ms(self, left: EarlierSpends) -> int:
        """Return when a version may begin to spend."""
        clear_ms = left.end_ms + (self.steps - 1) * self.step_ms
        return max(clear_ms, left.reach_ms) if left.end_ms else 0


@dataclass(slots=True)
class Window:
    """The spends of one period that a window still holds; changed in place."""

    frame: Frame
    opens_ms: int
    spends: dict[int, int] = field(default_factory=dict)  # nano-epsilon by step, in order
    last: tuple[int, int] | None = None  # the step published last, and its spend
    cost_ms: int | None = None  # start of the last step that spent or was charged
    doubt: int | None = None  # the first step after missing entries, until what they hid is out of reach

    def due(self, scheme: str, first: int, step: int) -> int:
        """Return what a scheme proposes at `step` where `first` was the first decided one; 0 while it waits."""
        steps, step_ms, spendable, _ = self.frame
        if step * step_ms < self.opens_ms:
            return 0
        unit = spendable // steps
        match scheme:
            case "bd":
                return (spendable - self.held(step)) // 2
            case "ba":
                free = step - first + 1
                if self.last is not None and unit:
                    published, spend = self.last
                    free = step - published - (spend // unit - 1)
                return unit * min(steps, free) if free > 0 else 0
            case _:
                return unit

    def held(self, step: int) -> int:
        """Return what the other steps of the window that ends with `step` spent, and forget the steps before it."""
        for at in [at for at in self.spends if at <= step - self.frame.steps]:
            del self.spends[at]
        return sum(spend for at, spend in self.spends.items() if at != step)

    def loss(self, step: int, spend: int) -> int:
        """Return what the window that ends with `step` loses when `step` spends `spend`; 0 while the version waits."""
        if not spend and step * self.frame.step_ms < self.opens_ms:
            return 0
        return self.held(step) + spend + self.frame.steps * self.frame.charge_nano

    def pass_by(self, step: int, spend: int) -> None:
        """Move past a decided step, which spent `spend`."""
        start_ms = step * self.frame.step_ms
        if spend:
            self.spends[step] = spend
            self.last = step, spend
        if spend or (self.frame.charge_nano and start_ms >= self.opens_ms):
            self.cost_ms = start_ms

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
