"""Schemes: how much of the budget each step proposes to spend.

Schemes affect utility only: the guard refuses a wrong proposal, so that amount is never spent.

E = budget, S = spent on landmarks, W = largest sum of regular costs over a window (M, the largest cost, if windows are
single steps), R = landmarks at or after the current step, including spare ones; all are integers, and ``//`` rounds
down. A landmark is offered a share ``a``. A regular step is offered ``A = E - S - R*a``, or its own part of A if
windows are longer. Source: Katsomallos, Tzompanaki, Kotzinos, Landmark Privacy, CODASPY 2022 (Uniform, Adaptive, Skip);
Kellaris et al., Differentially private event sequences over infinite streams, VLDB 2014 (Uniform, BD and BA over
windows). Balanced is this project's own.
"""

from collections.abc import Iterator
from math import floor
from typing import Literal, NamedTuple, assert_never

from stream_app.privacy.amounts import Flag, Whole, least, most, where
from stream_app.privacy.guard import Window, WindowLevel
from stream_app.privacy.kinds.counts import CountsForm
from stream_app.privacy.kinds.number import NumberForm
from stream_app.privacy.parameters import (
    AdaptiveForm,
    BalancedForm,
    BudgetAbsorptionForm,
    BudgetDistributionForm,
    KellarisForm,
    ParametersForm,
    SamplingForm,
    SchemeForm,
    SkipForm,
    UniformForm,
)
from stream_app.privacy.values import NANO, exact, nano

MILLION = 10**6
SCHEMES: dict[str, tuple[str, ...]] = {
    "landmark": ("uniform", "adaptive", "skip", "balanced", "bd", "ba"),
    "event": ("uniform", "adaptive", "skip", "balanced"),
    "user": ("uniform", "adaptive"),
    "w-event": ("uniform", "bd", "ba"),
}
"""The schemes of each level; at level landmark, bd and ba need a window of several steps."""


class Uniform(NamedTuple):
    """Equal shares for every remaining landmark and the current regular step; always publishes."""

    name: Literal["uniform"] = "uniform"


class Adaptive(NamedTuple):
    """The shares of Uniform, published at a rate (in units of 1e-9) that follows changes between releases."""

    increase_nano: int = NANO // 2
    decrease_nano: int = NANO // 2
    minimum_nano: int = NANO // 10
    name: Literal["adaptive"] = "adaptive"

    def next_rate(self, rate_nano: Whole, *, still: Flag) -> Whole:
        """Return the rate after a publication; ``still`` means that the noise scale exceeded the change."""
        fallen = rate_nano * (NANO - self.decrease_nano) // NANO
        risen = rate_nano + (NANO - rate_nano) * self.increase_nano // NANO
        return most(where(still, fallen, risen), self.minimum_nano)


class Skip(NamedTuple):
    """Nothing for landmarks and everything for regular steps, which reveals where the landmarks are."""

    name: Literal["skip"] = "skip"


class Balanced(NamedTuple):
    """A fixed share of the budget, in units of 1e-6, for regular steps; landmarks split the rest.

    If regular steps get the whole budget, landmarks are not published: they are repeated or suppressed at no cost.
    """

    regular_millionth: int = MILLION // 2
    name: Literal["balanced"] = "balanced"


class BudgetDistribution(NamedTuple):
    """Half of the window's remaining budget; landmarks get the shares of Uniform.

    ``sampling`` sets how often the scheme publishes; if ``sampling`` is None, the private dissimilarity decides.
    """

    sampling: Adaptive | None = Adaptive()
    name: Literal["bd"] = "bd"


class BudgetAbsorption(NamedTuple):
    """The window shares of this step and of the steps since the last publication.

    Landmarks get the shares of Uniform. The regular steps after a publication pay back what that publication absorbed,
    and publish nothing. ``sampling`` works as in BD.
    """

    sampling: Adaptive | None = Adaptive()
    name: Literal["ba"] = "ba"


Scheme = Uniform | Adaptive | Skip | Balanced | BudgetDistribution | BudgetAbsorption


def propose(
    scheme: Scheme, budget: Whole, spent: Whole, peak: Whole, landmarks_left: Whole, *, landmark: Flag
) -> Whole:
    """Return the proposed cost of a landmark, or A, the total that regular steps may spend.

    Both are in nano-epsilon. A is for the current step if windows are single steps, otherwise for the window that ends
    with that step (`propose_window`). A proposal of 0 publishes nothing new. ``budget``, ``spent`` and ``peak`` are E,
    S and W of the guard; in columns they are below 2^63 millionths.
    """
    left, some = budget - spent, most(landmarks_left, 1)
    match scheme:
        case Uniform() | Adaptive() | BudgetDistribution() | BudgetAbsorption():
            # Without the minimum, rounding alone would break the theorem: R landmarks must fit alongside W as well.
            share = least(left // (landmarks_left + 1), (left - peak) // some)
        case Balanced():
            regular = budget * scheme.regular_millionth // MILLION
            # PRIVACY: if regular steps get the whole budget (as under Skip), no landmark is published, so releases show
            # which steps are landmarks. The ledger shows them anyway. With dummies the ledger shows L', and true and
            # drawn landmarks get the same 0: what is published depends on L' and on values outside of it, and on
            # nothing else of L.
            share = most(left - most(regular, peak), 0) // some
        case Skip():
            share = 0 * left
        case _:
            assert_never(scheme)
    share = share * (landmarks_left > 0)
    return where(landmark, share, left - landmarks_left * share)


def propose_user(budget: Whole, spent: Whole, steps_left: Whole) -> Whole:
    """Return the proposed cost of a step at user level: an equal share for each remaining step, then 0."""
    return where(steps_left > 0, (budget - spent) // most(steps_left, 1), 0)


def propose_units(budget_nano: int, spent_nano: int, spare_left: int, window: int) -> int:
    """Return the proposed cost of a step of units, protected in windows of ``window`` units.

    A step of units is never a landmark, and units that became landmarks in time cost nothing. Budget is set aside only
    for the spare units, because each may later be charged a ``window``-th of the largest cost.
    """
    left_nano = budget_nano - spent_nano
    return window * (left_nano // (window + spare_left)) if spare_left else left_nano


def propose_window(
    scheme: Scheme, level: WindowLevel, window: Window, spendable_nano: int, first_step: int, step: int
) -> int:
    """Return the proposed cost of a regular step whose window may spend ``spendable_nano`` in total.

    BD and BA follow Kellaris et al. 2014, algorithms 2 and 3, in integers; the other schemes give each step an equal
    share. ``first_step`` is the first processed step of the period. A proposal of 0 publishes nothing new.
    """
    left_nano = max(0, spendable_nano - window.spent_nano(level, step))
    unit = spendable_nano // level.steps
    match scheme:
        case Uniform() | Adaptive() | Balanced() | Skip():
            wanted = unit
        case BudgetDistribution():
            wanted = left_nano // 2
        case BudgetAbsorption():
            paid = first_step - 1  # the last step whose unit is used: absorbed, or paid back by a nullified step
            if window.published is not None and unit:
                published, spend_nano = window.published
                paid = published + spend_nano // unit - 1
            wanted = unit * min(max(0, step - paid), level.steps)
        case _:
            assert_never(scheme)
    return min(wanted, left_nano)


def sampling_of(scheme: Scheme) -> Adaptive | None:
    """Return the rule of a scheme's sampling rate, or None if its rate stays 1."""
    if isinstance(scheme, Adaptive):
        return scheme
    return scheme.sampling if isinstance(scheme, BudgetDistribution | BudgetAbsorption) else None


def scheme_of(form: SchemeForm) -> Scheme:
    """Return the scheme that a form describes."""
    match form:
        case UniformForm():
            return Uniform()
        case AdaptiveForm():
            return _sampling(form)
        case SkipForm():
            return Skip()
        case BalancedForm():
            return Balanced(floor(exact(form.regular_share) * MILLION))
        case BudgetDistributionForm():
            return BudgetDistribution(None if form.dissimilarity == "private" else _sampling(form))
        case BudgetAbsorptionForm():
            return BudgetAbsorption(None if form.dissimilarity == "private" else _sampling(form))
        case _:
            assert_never(form)


def _sampling(form: SamplingForm) -> Adaptive:
    return Adaptive(nano(form.increase), nano(form.decrease), nano(form.minimum))


def scheme_faults(form: ParametersForm) -> Iterator[tuple[str, str]]:
    """Yield each member that does not fit the scheme, with the reason."""
    scheme, level = form.scheme, form.protection.level
    if isinstance(scheme, SkipForm) and not scheme.accept_risk:
        message = 'skip reveals where the landmarks are; add "accept_risk": true or choose another scheme'
        yield "scheme.accept_risk", message
    if scheme.name not in SCHEMES[level]:
        known = ", ".join(SCHEMES[level])
        yield "scheme.name", f"level {level} does not support scheme {scheme.name}; its schemes are {known}"
    elif level == "landmark" and isinstance(scheme, KellarisForm) and (form.protection.window or 1) == 1:
        message = f"{scheme.name} spreads budget over windows; add protection.window or choose another scheme"
        yield "scheme.name", message
    if isinstance(scheme, KellarisForm) and scheme.dissimilarity == "private":
        yield from _dissimilarity_faults(form, scheme)


def _dissimilarity_faults(form: ParametersForm, scheme: KellarisForm) -> Iterator[tuple[str, str]]:
    for member in sorted(scheme.model_fields_set & {"increase", "decrease", "minimum"}):
        message = "only for the sampling rate of dissimilarity released; private has no rate, so remove it"
        yield f"scheme.{member}", message
    if not isinstance(form.value, NumberForm | CountsForm):
        message = f"private compares numbers or counts, not {form.value.kind}; use released"
        yield "scheme.dissimilarity", message
    if form.protection.level == "landmark":
        yield "scheme.dissimilarity", "level landmark reserves no budget for private dissimilarities; use released"
    if form.collect is not None:
        yield "scheme.dissimilarity", "collected counts are read only when they are published; use released"
    window = form.protection.window
    if window is not None and nano(form.epsilon) < 2 * window:
        message = f"private needs a nano-epsilon for each of 2 * window = {2 * window} shares; raise it or use released"
        yield "epsilon", message
