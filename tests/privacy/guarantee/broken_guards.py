"""Guards that register decided steps wrongly: the theorem breaks under each, over short traces and over long ones."""

from stream_app.privacy.guard import Guard, WindowLevel
from stream_app.privacy.landmarks import LandmarkSet


class NeverRefuses(Guard):
    """Charges decided steps without asking whether they fit."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Take what steps spent, whatever the budget holds."""
        assert level is None
        assert len(added) >= steps
        budget, spent, peak, _ = self
        return Guard(budget, spent + steps * peak, peak)


class DoesNotCharge(Guard):
    """Asks whether decided steps fit, and books nothing."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Return what was there before, if the true guard agrees."""
        return Guard(*self) if Guard(*self).charge_passed(level, steps, added) else None


class ChargesOnce(Guard):
    """Charges several steps like one."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Take one step of them."""
        return Guard(*self).charge_passed(level, min(steps, 1), added)
