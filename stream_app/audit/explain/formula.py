"""The share formula of one step with its numbers filled in: the calculation of `share.py`, written out.

E is the budget, S the epsilon spent on landmarks, M the largest spend on another step, R the number of landmarks at or
after the step plus the unused spare, and G the share of Balanced for regular steps. At user level, R is the remaining
length. If any w consecutive steps are protected together, M is the largest sum of spends on other steps in a window.
Then e1 is the cost of a private dissimilarity, P (at level w-event) or A (at level landmark) is what windows may spend,
and H is the sum spent on the other steps of the window that ends here, excluding landmarks. If units are protected,
landmarks have no share, w is the number of units in a window, and R is the remaining spare. BA counts steps: f is the
first processed step, l the last published one, with spend s, and i the current one. Amounts are whole numbers of
nano-epsilon; `//` rounds down.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from stream_app.audit.books.period import Books
from stream_app.audit.books.share import rule_of
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
        """The epsilon still available for landmarks and any one other step together: E - S - M."""
        return self.budget_nano - self.landmark_spent_nano - self.regular_peak_nano


class Formula(NamedTuple):
    """One line of the share's calculation: `rule` in symbols, `numbers` filled in, and the result `value`."""

    symbol: str
    rule: str
    numbers: str
    value: int


class Shares(NamedTuple):
    """The shares that a scheme proposes for the next landmark and the next other step, in nano-epsilon."""

    landmark_nano: int  # a
    regular_nano: int  # g
    formulas: tuple[Formula, ...]


def shares_of(books: Books, figures: BudgetFigures, regular_nano: int, step: int) -> Shares:
    """Return the shares of `step` as a landmark and as another step; `regular_nano` is G.

    The values are those used to audit ledgers; the rules give their derivation in symbols.
    """
    terms, (_, spent, peak, left) = books.terms, figures
    waits = books.waits(step)
    landmark = 0 if waits else terms.share(spent, peak, left, True)  # noqa: FBT003 - as `Share` is called
    symbols = {"G": regular_nano}
    if terms.level == "user":
        rule = "(E - S) // R" if left > 0 and not waits else "0"
        return Shares(landmark, landmark, (_formula("a", rule, figures, {}, landmark),))
    if books.window is not None:
        return _window_shares(books, books.window, figures, symbols, step)
    regular = 0 if waits else terms.share(spent, peak, left, False)  # noqa: FBT003
    if terms.units is not None:
        rule = "0" if waits else "w * ((E - S) // (w + R))" if left else "E - S"
        return Shares(0, regular, (_formula("g", rule, figures, {"w": terms.units.window}, regular),))
    first = _formula("a", "0" if waits else _landmark_rule(terms.scheme, left), figures, symbols, landmark)
    rule = "E - S - R*a" if left else "E - S"
    return Shares(landmark, regular, (first, _formula("g", "0" if waits else rule, figures, {"a": landmark}, regular)))


class Reach(NamedTuple):
    """The most that a window may spend at its last step, in nano-epsilon."""

    steps: int  # w
    spendable_nano: int  # in a window, ignoring landmarks' needs: E - S - w*e1
    charge_nano: int  # e1
    held_nano: int  # H

    @property
    def limit_nano(self) -> int:
        """The most that the guard allows for the step, unless it is a landmark."""
        return self.spendable_nano - self.held_nano


def reach_of(books: Books, step: int) -> Reach | None:
    """Return the window that ends with `step`, before `step` is processed, or None if there are no windows."""
    if books.window is None:
        return None
    frame = books.window.frame
    spendable = books.terms.budget_nano - books.spent_nano - frame.held_nano
    return Reach(frame.steps, spendable, frame.charge_nano, books.window.held(step))


def _window_shares(books: Books, window: Window, figures: BudgetFigures, symbols: dict[str, int], step: int) -> Shares:
    terms, (_, spent, peak, left) = books.terms, figures
    first = step if books.first_step is None else books.first_step
    waits, steps = books.waits(step), window.frame.steps
    landmark = terms.share(spent, peak, left, True)  # noqa: FBT003
    free = terms.share(spent, peak, left, False) - window.frame.held_nano  # noqa: FBT003
    value = 0 if waits else window.due(terms.scheme, first, step, free)
    symbols |= {"w": steps, "e1": window.frame.charge_nano, "H": window.held(step), "i": step, "f": first}
    if waits and terms.level == "landmark":
        return Shares(0, 0, (_formula("a", "0", figures, {}, 0), _formula("x", "0", figures, {}, 0)))
    if terms.level == "w-event":
        name, formulas = "P", [_formula("P", "E - w*e1", figures, symbols, free)]
    else:
        name, symbols["a"] = "A", landmark
        formulas = [_formula("a", _landmark_rule(terms.scheme, left), figures, symbols, landmark)]
        formulas.append(_formula("A", "E - S - R*a" if left else "E - S", figures, symbols, free))
    symbols[name] = free
    rule = {"bd": f"({name} - H) // 2", "ba": "u * min(w, i - f + 1)"}.get(terms.scheme, f"{name} // w")
    if terms.scheme == "ba":
        symbols["u"] = unit = free // steps
        formulas.append(_formula("u", f"{name} // w", figures, symbols, unit))
        if window.last is not None and unit:
            symbols["l"], symbols["s"] = window.last
            rule = "u * max(0, min(w, i - l - (s // u - 1)))"
    if name == "A":
        rule = f"min({rule}, A - H)"
    formulas.append(_formula("x", "0" if waits else rule, figures, symbols, value))
    return Shares(value if terms.level == "w-event" else landmark, value, tuple(formulas))


def _landmark_rule(scheme: str, left: int) -> str:
    return rule_of(scheme) if left else "0"


def _formula(symbol: str, rule: str, figures: BudgetFigures, more: Mapping[str, int], value: int) -> Formula:
    numbers = {**dict(zip("ESMR", figures, strict=True)), **more}
    return Formula(symbol, rule, _SYMBOL.sub(lambda found: str(numbers[found[0]]), rule), value)
