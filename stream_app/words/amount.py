"""Amounts of budget as people read them: in epsilon, what was used beside what was promised."""

from typing import Final, NamedTuple

NANO: Final = 10**9  # nano-epsilon of epsilon 1
_WRITTEN_OUT: Final = 10_000  # from here on, ``.4g`` would write an exponent


def amount(nano: int) -> str:
    """Return an amount of nano-epsilon in epsilon, exactly, with one decimal at least: 1.0, 0.499999992."""
    sign, (whole, rest) = "-" if nano < 0 else "", divmod(abs(nano), NANO)
    decimals = f"{rest:09d}".rstrip("0") or "0"
    return f"{sign}{whole}.{decimals}"


def promised(used_nano: int, epsilon_nano: int) -> str:
    """Return how much of a promise was used, such as "0.7 of 1.0 promised".

    ``used_nano`` is the largest loss that the promise bounds, so far: over all steps t, what the landmarks and t spent
    together; with windows, what the landmarks and the dearest window did; at level event the dearest step; at level
    user all steps. It is never a sum over steps that no promise is about. ``epsilon_nano`` is the epsilon of the policy
    version that promised it. Both in nano-epsilon.
    """
    return f"{amount(used_nano)} of {amount(epsilon_nano)} promised"


def worse(used_nano: int, epsilon_nano: int, than_used_nano: int, than_epsilon_nano: int) -> bool:
    """Return whether a larger share of a promise was used, or the same share of a larger one; of 0 it is the least."""
    share, other = used_nano * than_epsilon_nano, than_used_nano * epsilon_nano
    return share > other or (share == other and (used_nano, epsilon_nano) > (than_used_nano, than_epsilon_nano))


class Used(NamedTuple):
    """How much of the promise of one policy version to one series was used, in nano-epsilon, as `promised` says it."""

    series: str
    policy: int
    used_nano: int
    epsilon_nano: int

    def worse(self, than: "Used") -> bool:
        """Return whether a larger share of the promise was used, or the same share of a larger one.

        Of equal ones that of the first name counts, so that whoever reads a ledger in whatever order names the same.
        """
        mine, other = (self.used_nano, self.epsilon_nano), (than.used_nano, than.epsilon_nano)
        return worse(*mine, *other) or (mine == other and self[:2] < than[:2])

    def sentence(self, series: int, *, versions: bool) -> str:
        """Return it in words, as that of which most was used of so many series; ``versions``: any had several."""
        found = promised(self.used_nano, self.epsilon_nano)
        whose = f"{quoted(self.series)}, policy {self.policy}" if versions else quoted(self.series)
        most = f"; the most of {series:,} series" if series > 1 else ""
        return f"{found} ({whose}{most})"


def quoted(series: str) -> str:
    """Return a series id so that it can neither break the line nor drive the terminal."""
    return series if series.isprintable() and " " not in series else ascii(series)


def summed(nano: int, steps: int) -> str:
    """Return the sum of all that was measured, in nano-epsilon, over so many decided steps of however many series.

    It bounds the loss where all steps of all series may differ, which no policy promises anything about.
    """
    over = "1 step" if steps == 1 else f"all {steps:,} steps"
    return f"sum over {over}: {amount(nano)}; no promise is about this sum"


def four_digits(figure: float) -> str:
    """Return a figure with four digits; large ones are written out, with commas."""
    return f"{figure:.4g}" if figure < _WRITTEN_OUT else f"{float(f'{figure:.4g}'):,.0f}"
