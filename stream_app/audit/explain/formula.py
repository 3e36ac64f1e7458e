"""The share formula of one step with its numbers put in: what `share.py` computes, so that it can be followed by hand.

E is the budget, S what was spent on landmarks, M the largest spend on another step, R the landmarks at or after the
step with the unused spare, G the share of Balanced for regular steps; at user level R is what is left of the
length. At level w-event w is the steps of a window, e1 what a private dissimilarity costs, P what windows may spend, H
what the other steps of the window that ends here spent; BA counts steps: f the first decided, l the one published last,
for s, and i this one. Amounts are whole numbers of nano-epsilon; `//` rounds down.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from stream_app.audit.books.terms import Terms
from stream_app.audit.books.window import Window

_SYMBOL: Final = re.compile(r"\b[A-Za-z]1?\b")


class BudgetFigures(NamedTuple):
    """The figures of a period between two records, in nano-epsilon; R counts steps."""

    budget_nano: int  # E
    landmark_spent_nano: int  # S
    regular_peak_nano: int  # M
    landmarks_left: int  # R

    @property
    def left_nano(self) -> int:
        """What landmarks and any one other step may still lose together: E - S - M."""
        return self.budget_nano - self.landmark_spent_nano - self.regular_peak_nano


class Formula(NamedTuple):
    """One line of the share: `rule` in symbols, `numbers` with these put in, `value` what comes out."""

    symbol: str
    rule: str
    numbers: str
    value: int


class Shares(NamedTuple):
    """What a scheme proposes for the next landmark and for the next other step, in nano-epsilon."""

    landmark_nano: int  # a
    regular_nano: int  # g
    formulas: tuple[Formula, ...]


def shares_of(terms: Terms, figures: BudgetFigures, regular_nano: int) -> Shares:
    """Return what landmarks and other steps would get; `regular_nano` is G, which Balanced alone uses.

    The values are those of `terms.share`, by which ledgers are audited; the rules say in symbols how they come about.
    """
    _, spent, peak, left = figures
    landmark = terms.share(spent, peak, left, True)  # noqa: FBT003 - as `Share` is called
    regular = terms.share(spent, peak, left, False)  # noqa: FBT003
    if terms.level == "user":
        rule = "(E - S) // R" if left > 0 else "0"
        return Shares(landmark, regular, (_formula("a", rule, figures, {}, landmark),))
    formulas = []
    symbols: dict[str, int] = {}
    if terms.scheme == "balanced":
        symbols["G"] = regular_nano
    formulas.append(_formula("a", _landmark_rule(terms.scheme, left), figures, symbols, landmark))
    formulas.append(_formula("g", "E - S - R*a" if left else "E - S", figures, {"a": landmark}, regular))
    return Shares(landmark, regular, tuple(formulas))


class Reach(NamedTuple):
    """What a window may spend at its last step, in nano-epsilon."""

    steps: int  # w
    spendable_nano: int  # P
    charge_nano: int  # e1
    held_nano: int  # H
    opens_ms: int  # before it the version waits, as windows hold steps that an earlier version spent on

    @property
    def limit_nano(self) -> int:
        """What the guard allows for the step."""
        return self.spendable_nano - self.held_nano


def reach_of(window: Window, step: int) -> Reach:
    """Return the window that ends with `step`, before it is decided."""
    frame = window.frame
    return Reach(frame.steps, frame.spendable_nano, frame.charge_nano, window.held(step), window.opens_ms)


def window_shares_of(terms: Terms, window: Window, first: int, step: int) -> Shares:
    """Return what `step` would get at level w-event, where `first` was the first decided one."""
    steps, step_ms, spendable, charge = window.frame
    value = window.due(terms.scheme, first, step)
    figures = BudgetFigures(terms.budget_nano, 0, 0, 0)
    symbols = {"w": steps, "e1": charge, "P": spendable, "H": window.held(step), "i": step, "f": first}
    formulas = [_formula("P", "E - w*e1", figures, symbols, spendable)]
    rule = {"bd": "(P - H) // 2", "ba": "u * min(w, i - f + 1)"}.get(terms.scheme, "P // w")
    if terms.scheme == "ba":
        symbols["u"] = unit = spendable // steps
        formulas.append(_formula("u", "P // w", figures, symbols, unit))
        if window.last is not None and unit:
            symbols["l"], symbols["s"] = window.last
            rule = "u * max(0, min(w, i - l - (s // u - 1)))"
    if step * step_ms < window.opens_ms:
        rule = "0"
    formulas.append(_formula("x", rule, figures, symbols, value))
    return Shares(value, value, tuple(formulas))


def _landmark_rule(scheme: str, left: int) -> str:
    if left == 0 or scheme == "skip":
        return "0"
    if scheme == "balanced":
        return "max(0, E - S - max(G, M)) // R"
    return "min((E - S) // (R + 1), (E - S - M) // R)"


def _formula(symbol: str, rule: str, figures: BudgetFigures, more: Mapping[str, int], value: int) -> Formula:
    numbers = {**dict(zip("ESMR", figures, strict=True)), **more}
    return Formula(symbol, rule, _SYMBOL.sub(lambda found: str(numbers[found[0]]), rule), value)
