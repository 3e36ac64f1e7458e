"""Budget amounts as people read them: in epsilon, with the loss so far and its limit."""

from typing import Final, NamedTuple

NANO: Final = 10**9  # nano-epsilon of epsilon 1
_WRITTEN_OUT: Final = 10_000  # from here on, ``.4g`` would write an exponent


def amount(nano: int) -> str:
    """Return nano-epsilon as epsilon, exactly, with at least one decimal: 1.0, 0.499999992."""
    sign, (whole, rest) = "-" if nano < 0 else "", divmod(abs(nano), NANO)
    decimals = f"{rest:09d}".rstrip("0") or "0"
    return f"{sign}{whole}.{decimals}"


def of_limit(used_nano: int, limit_nano: int) -> str:
    """Return how much of a limit is used, such as "0.7 of 1.0"; both are given in nano-epsilon."""
    return f"{amount(used_nano)} of {amount(limit_nano)}"


def largest_loss(used_nano: int, epsilon_nano: int, least: str = "", whose: str = "") -> str:
    """Return the largest loss so far and its limit, such as "largest loss so far: 0.7 (limit 1.0)".

    ``used_nano`` is the largest loss that the guarantee limits: the maximum over all steps t of what the landmarks and
    t spent together; with windows, what the landmarks and the costliest window spent; at level event, what the
    costliest step spent; at level user, what all steps spent. It is never a sum over steps that no guarantee limits.
    ``epsilon_nano`` is the epsilon of the policy version. Both are in nano-epsilon. ``least`` is put before the loss,
    and ``whose`` after its limit.
    """
    return f"largest loss so far: {least}{amount(used_nano)} (limit {amount(epsilon_nano)}{whose})"


def worse(used_nano: int, epsilon_nano: int, than_used_nano: int, than_epsilon_nano: int) -> bool:
    """Return whether a larger share of a limit was used, or the same share of a larger limit.

    A limit of 0 ranks lowest.
    """
    share, other = used_nano * than_epsilon_nano, than_used_nano * epsilon_nano
    return share > other or (share == other and (used_nano, epsilon_nano) > (than_used_nano, than_epsilon_nano))


class UsedBudget(NamedTuple):
    """The largest loss under one policy version of a series, and the loss limit, in nano-epsilon.

    See `largest_loss`.
    """

    series: str
    policy: int
    used_nano: int
    epsilon_nano: int

    def worse(self, than: "UsedBudget") -> bool:
        """Return whether a larger share of the limit was used, or the same share of a larger limit.

        If both are equal, the name that sorts first counts, so every order of reading a ledger gives the same result.
        """
        mine, other = (self.used_nano, self.epsilon_nano), (than.used_nano, than.epsilon_nano)
        return worse(*mine, *other) or (mine == other and self[:2] < than[:2])

    def sentence(self, series: int, *, versions: bool, least: str = "") -> str:
        """Return the budget in words, as the largest share of ``series`` series.

        ``versions`` says whether some series had several versions.
        """
        whose = f"{quoted(self.series)}, policy {self.policy}" if versions else quoted(self.series)
        most = f"; the largest share of {series:,} series" if series > 1 else ""
        return largest_loss(self.used_nano, self.epsilon_nano, least, f"; {whose}{most}")


def quoted(series: str) -> str:
    """Return a series id that can neither break the line nor control the terminal."""
    return series if series.isprintable() and " " not in series else ascii(series)


def summed(nano: int, steps: int) -> str:
    """Return the sum of all measurements, in nano-epsilon, over ``steps`` processed steps of any series.

    This sum, which no policy limits, bounds the loss if all steps of all series may differ.
    """
    over = "1 step" if steps == 1 else f"all {steps:,} steps"
    return f"sum over {over}: {amount(nano)} (no guarantee limits this sum)"


def four_digits(figure: float) -> str:
    """Return a figure with four digits; large figures are written out, with commas."""
    return f"{figure:.4g}" if figure < _WRITTEN_OUT else f"{float(f'{figure:.4g}'):,.0f}"
