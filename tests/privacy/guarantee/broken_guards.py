"""Guards that register decided steps wrongly: each breaks the theorem, over short and over long traces."""

from stream_app.privacy.guard import Guard, WindowLevel
from stream_app.privacy.landmarks import LandmarkSet


class NeverRefuses(Guard):
    """Charges decided steps without asking whether they fit."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Charge what steps spent, whatever the budget holds."""
        assert level is None
        assert len(added) >= steps
        budget, spent, peak, _ = self
        return Guard(budget, spent + steps * peak, peak)


class DoesNotCharge(Guard):
    """Asks whether decided steps fit, but charges nothing."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Return the unchanged guard if the true guard agrees."""
        return Guard(*self) if Guard(*self).charge_passed(level, steps, added) else None


class ChargesOnce(Guard):
    """Charges several steps like one."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        """Take one step of them."""
        return Guard(*self).charge_passed(level, min(steps, 1), added)
