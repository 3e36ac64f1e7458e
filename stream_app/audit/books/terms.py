"""The terms of one policy version, read from its ledger entry's parameters; unknown terms are refused."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any, Literal

from stream_app.audit.books.landmarks import LandmarkSet
from stream_app.audit.books.policy import fault_of, is_filtered
from stream_app.audit.books.share import MILLION, Share, share_of, user
from stream_app.audit.books.units import Grid, Units, unit_share, units_of
from stream_app.audit.books.window import Frame, Reach
from stream_app.audit.form.domains import PARAMETERS, SCHEMES
from stream_app.audit.form.grid import decimal_of
from stream_app.audit.kinds import kind_of
from stream_app.audit.kinds.kind import ValueKind
from stream_app.audit.kinds.units import unit_scale
from stream_app.words.amount import NANO

Level = Literal["landmark", "event", "user", "w-event"]


class TermsError(ValueError):
    """Raised for parameters that this audit cannot account for; the message names the field."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The guarantee of a policy version and everything that its period's arithmetic needs."""

    version: int
    budget_nano: int
    lifetime_nano: int | None  # the most that the policy lets its series reserve; None if not stated
    level: Level
    step_ms: int
    steps: Grid
    units: Units | None  # None if steps are protected whole
    landmarks: LandmarkSet  # at the start of the period; numbers of steps, or of units if there are any
    spare: int
    length: int  # steps; 0 except at user level
    frame: Frame | None  # the windows; None at level landmark with one-step windows, event and user
    scheme: str
    share: Share  # the scheme's share; with windows: for landmarks, and in total for regular steps
    tosses: bool  # whether the scheme may ever approximate despite a share
    compares: bool  # True: a private dissimilarity may skip steps after the first release; False: a rate below 1
    spelling: str  # version and budget as written in every release entry
    scale_nano: Fraction  # noise scale times the spend in nano-epsilon; for a sum with its count, times half a spend
    scales_nano: Mapping[str, Fraction]  # the same for parts of a vector; empty for other kinds
    statistic: str  # of collected numbers or of units; "" if there is none
    least_nano: int  # a smaller share counts as 0: it cannot be halved
    within: str  # how a step's readings combine; "" if it has one
    gaps: bool  # whether steps without a reading are approximated, whatever their share
    hides_absence: bool  # whether these are processed as if a public value was read
    kind: ValueKind  # of the values, for the releases
    filtered: bool  # whether estimates are more than clamped noisy values
    open_steps: int  # number of steps open to contributions; 0: not collected
    neighbours: str  # of collected data; "" if not collected
    intrusion_nano: int  # epsilon that a look at counters reveals; 0: no noise
    correlation: str | None  # correlation that an adversary is assumed to know
    renew: tuple[int, ...]  # times of renewal (ms), if the lifetime allows it
    lasting: Mapping[str, Any]  # the parameters that a renewal keeps

    @property
    def counts_items(self) -> bool:
        """Whether the number of items or units is public and stated in each perturbed release."""
        return self.units is not None or (self.statistic == "mean" and self.neighbours == "replace")

    @property
    def divides(self) -> bool:
        """Whether a noisy value is divided by the number of items or units."""
        return self.counts_items and self.statistic in ("mean", "share")

    @property
    def marks(self) -> Grid:
        """The grid of landmarks: the units' grid if there are units, else the steps' grid."""
        return self.steps if self.units is None else self.units.grid

    @property
    def reach(self) -> Reach:
        """The window that the version protects, in addition to its landmarks."""
        if self.units is not None:
            return Reach(*self.units.grid, self.units.window)
        return Reach(None, self.step_ms, 1 if self.frame is None else self.frame.steps)


def read_terms(version: int, parameters: Mapping[str, Any]) -> Terms:
    """Read the parameters of a `policy` entry; raise `TermsError` for anything unknown or impossible."""
    fault = fault_of(parameters)
    if fault:
        raise TermsError(fault)
    protection, scheme, value = parameters["protection"], parameters["scheme"], parameters["value"]
    collect = parameters.get("collect") or {}
    level: Level = protection["level"]
    units = units_of(protection, value)
    steps = Grid(protection.get("offset") or 0, protection.get("step", 1))
    marks = steps if units is None else units.grid
    name = scheme["name"]
    budget = _budget(parameters)
    lifetime = parameters.get("lifetime")
    is_halved = collect.get("statistic") == "mean" and collect["neighbours"] == "add-remove"
    statistic = collect.get("statistic") or value.get("statistic") or ""
    kind = kind_of(parameters)
    filter_name = parameters.get("filter") or ("level" if name == "balanced" else "none")
    return Terms(
        version=version,
        budget_nano=budget,
        lifetime_nano=None if lifetime is None else floor(decimal_of(lifetime) * NANO),
        level=level,
        step_ms=steps.length_ms,
        steps=steps,
        units=units,
        landmarks=LandmarkSet().joined(
            sorted(
                marks.covering(*((span, span + 1) if isinstance(span, int) else span))
                for span in protection.get("landmarks", [])
            )
        ),
        spare=protection.get("spare", 0),
        length=protection["length"] if level == "user" else 0,
        frame=_frame(protection, scheme, budget),
        scheme=name,
        share=_share(parameters, budget),
        tosses=SCHEMES[name].has_rate and (_is_private(scheme) or _falls(scheme)),
        compares=_is_private(scheme),
        spelling=_spelling(version, budget),
        scale_nano=NANO * (kind.scale if units is None else unit_scale(value) * units.window),
        scales_nano={name: scale * NANO for name, scale in kind.scales.items()},
        statistic=statistic,
        least_nano=2 if is_halved else 1,
        within=protection.get("within") or "",
        gaps=protection.get("absent") == "approximated",
        hides_absence=protection.get("absent", "approximated") != "approximated",
        kind=kind,
        filtered=filter_name == "level" and is_filtered(parameters),
        open_steps=collect.get("open_steps", 0),
        neighbours=collect.get("neighbours", ""),
        intrusion_nano=collect.get("intrusion_nano") or 0,
        correlation=parameters.get("correlation"),
        renew=tuple(parameters.get("renew") or ()),
        lasting={
            **{name: part for name, part in parameters.items() if name not in ("protection", "renew")},
            "protection": {name: part for name, part in protection.items() if name != "landmarks"},
        },
    )


def with_epsilon(known: Terms, parameters: Mapping[str, Any]) -> Terms:
    """Return the terms as `read_terms` would, for parameters that differ from `known` only in epsilon.

    Only the parts that depend on epsilon are read again; if the policy has windows, everything is read again.
    """
    epsilon = parameters.get("epsilon")
    if known.frame is not None or not PARAMETERS["epsilon"].fits(epsilon):
        return read_terms(known.version, parameters)
    budget = _budget(parameters)
    return replace(
        known,
        budget_nano=budget,
        share=_share(parameters, budget),
        spelling=_spelling(known.version, budget),
        lasting={**known.lasting, "epsilon": epsilon},
    )


def _budget(parameters: Mapping[str, Any]) -> int:
    return floor(decimal_of(parameters["epsilon"]) * NANO)


def _share(parameters: Mapping[str, Any], budget: int) -> Share:
    protection = parameters["protection"]
    if protection["level"] == "user":
        return user(budget)
    if protection.get("unit") is not None:
        return unit_share(budget, protection.get("window") or 1)
    scheme = parameters["scheme"]
    return share_of(scheme["name"], budget, floor(decimal_of(scheme.get("regular_share", 0.5)) * MILLION))


def _spelling(version: int, budget: int) -> str:
    return f'"policy":{version},"budget_nano":{budget}'


def _is_private(scheme: Mapping[str, Any]) -> bool:
    return scheme.get("dissimilarity") == "private"


def _frame(protection: Mapping[str, Any], scheme: Mapping[str, Any], budget: int) -> Frame | None:
    """Return the windows of a policy; private dissimilarities receive half of the budget."""
    steps: int = protection.get("window") or 1
    if steps == 1 and protection["level"] != "w-event":
        return None
    if protection.get("unit") is not None:  # the window counts units; a step's spend counts in all its windows
        return None
    return Frame(steps, protection.get("step", 1), budget // (2 * steps) if _is_private(scheme) else 0)


def _falls(adaptive: Mapping[str, Any]) -> bool:
    """Return whether Adaptive's rate, in whole billionths, can fall below its initial value, 1."""
    decrease, minimum = decimal_of(adaptive.get("decrease", 0.5)), decimal_of(adaptive.get("minimum", 0.1))
    return floor(decrease * NANO) > 0 and floor(minimum * NANO) < NANO


def scale_of(terms: Terms, spend_nano: int, count: int | dict[str, int] | None) -> float | dict[str, float]:
    """Return a release's noise scale, rounding each number once; `count` is the number of items or units (per bin)."""
    if terms.scales_nano:
        return {name: _rounded(scale, spend_nano) for name, scale in terms.scales_nano.items()}
    if terms.least_nano > 1:
        half = spend_nano // 2
        return {"sum": _rounded(terms.scale_nano, half), "count": _rounded(Fraction(NANO), spend_nano - half)}
    if isinstance(count, dict) and terms.divides:
        return {name: _rounded(terms.scale_nano, spend_nano * units) for name, units in count.items()}
    items = count if isinstance(count, int) and terms.divides else 1
    return _rounded(terms.scale_nano, spend_nano * max(1, items))


def _rounded(scale_nano: Fraction, spend_nano: int) -> float:
    # The division of two integers rounds once, as the format requires.
    return scale_nano.numerator / (scale_nano.denominator * spend_nano)
