"""A policy: a publisher's guarantee for a series, compiled from a policy record's parameters.

Invalid parameters raise `PolicyError`, which lists every fault with its member, so that `check` shows them all at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from hashlib import blake2b
from typing import Literal

from pydantic import ValidationError

from stream_app.privacy.collected.collect import Collect, collect_faults, collect_of, collected_kind
from stream_app.privacy.collected.within import Within, within_faults, within_of
from stream_app.privacy.dummies.request import Dummies, drawn, dummies_of, undrawn
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.kinds import Kind, kind_of, substitute_fault, takes_filter
from stream_app.privacy.kinds.form import KindFault
from stream_app.privacy.landmarks import NO_LANDMARKS, Grid, LandmarkSet
from stream_app.privacy.parameters import ParametersForm, form_faults
from stream_app.privacy.protection import (
    LandmarkLevel,
    Protection,
    protection_faults,
    protection_of,
    windows_of,
)
from stream_app.privacy.rule import CARRIED, LARGEST_BUDGET_NANO, Rule, rule_for
from stream_app.privacy.scheme import Adaptive, Scheme, sampling_of, scheme_faults, scheme_of
from stream_app.privacy.units.units import Units, unit_faults, unit_kind, units_of
from stream_app.privacy.values import nano


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a policy: the member, what was found, and the remedy."""

    member: str
    message: str


class PolicyError(ValueError):
    """Invalid policy parameters; ``faults`` lists every fault."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{fault.member}: {fault.message}" for fault in faults))


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of a policy; ``parameters`` are the record's parameters, kept for the ledger."""

    version: int
    epsilon_nano: int
    step_ms: int
    protection: Protection
    scheme: Scheme
    filter: Literal["none", "level"]
    kind: Kind
    correlation: str | None
    collect: Collect | None
    parameters: Mapping[str, object] = field(compare=False, repr=False)
    identity: bytes = field(repr=False)  # digest of the version, the step and the mechanism
    dummies: Dummies | None = None  # not drawn yet; until then, the landmarks are only here
    renew: tuple[int, ...] = ()  # bounds in ms, ascending: see deciding/renewal.py for what restarts at them
    lifetime_nano: int | None = None  # for all versions; only the first version's value counts
    within: Within | None = None  # None: a step has one observation, or units
    units: Units | None = None  # None: a step is protected; otherwise landmarks and windows count units

    offset_ms: int = field(init=False, repr=False, compare=False)  # steps start here and every ``step_ms`` after
    grid: Grid = field(init=False, repr=False, compare=False)  # of landmarks: units if steps hold units, else steps
    windows: WindowLevel | None = field(init=False, repr=False, compare=False)  # None: single steps
    sampling: Adaptive | None = field(init=False, repr=False, compare=False)  # None: the rate stays 1
    rule: Rule | None = field(init=False, repr=False, compare=False)  # None: steps are processed singly

    def __post_init__(self) -> None:
        """Precompute the values that every event needs."""
        units = self.units
        object.__setattr__(self, "offset_ms", 0 if units is None else units.offset_ms)
        object.__setattr__(self, "grid", Grid(self.step_ms) if units is None else units.grid)
        windows = windows_of(self.protection, self.epsilon_nano, units=units is not None)
        object.__setattr__(self, "windows", windows)
        object.__setattr__(self, "sampling", sampling_of(self.scheme))
        object.__setattr__(self, "rule", self._rule())

    def _rule(self) -> Rule | None:
        others = (one for one in fields(self) if one.init and one.name not in CARRIED)
        if any(getattr(self, one.name) != (None if one.default is MISSING else one.default) for one in others):
            return None
        if self.epsilon_nano > LARGEST_BUDGET_NANO:
            return None
        parts = (self.version, self.step_ms, self.protection, self.scheme, self.filter, self.kind, self.identity)
        return rule_for(*parts)

    def index_of(self, timestamp_ms: int) -> int:
        """Return the index of the step that contains a time; -1 before the first step."""
        return (timestamp_ms - self.offset_ms) // self.step_ms

    def start_of(self, index: int) -> int:
        """Return the start of a step, in ms."""
        return index * self.step_ms + self.offset_ms

    @property
    def level(self) -> str:
        """The name of the level in records."""
        return self.protection.name

    @property
    def window(self) -> int:
        """The number of consecutive steps, or units, that are jointly protected; 1 if the level has no window."""
        if self.units is not None:
            return self.units.window
        return 1 if self.windows is None else self.windows.steps

    @property
    def takes_several(self) -> bool:
        """Whether a step accepts several records: contributors' items, readings, or readings of its units."""
        return self._filling is not None

    @property
    def open_steps(self) -> int:
        """The number of steps that accept records at the same time; 0 if one record completes a step."""
        return 0 if self._filling is None else self._filling.open_steps

    @property
    def _filling(self) -> Collect | Within | Units | None:
        return self.collect or self.within or self.units

    def first_open_after(self, index: int) -> int:
        """Return the first step that may be open after a record of step ``index``, which closes earlier steps."""
        return max(0, index - self.open_steps + 1)

    @property
    def landmarks(self) -> LandmarkSet:
        """Return the policy's initial landmarks."""
        return self.protection.landmarks if isinstance(self.protection, LandmarkLevel) else NO_LANDMARKS

    @property
    def spare(self) -> int:
        """Return how many landmarks may be added without additional shares."""
        return self.protection.spare if isinstance(self.protection, LandmarkLevel) else 0

    @property
    def fixed(self) -> bool:
        """Return whether the landmarks include dummies, so that none can be added."""
        return isinstance(self.protection, LandmarkLevel) and self.protection.fixed

    def reaches_before(self, end_ms: int) -> bool:
        """Return whether a landmark step, or the range of the dummies, begins before ``end_ms``."""
        if self.dummies is not None:
            return self.grid.start_of(self.dummies.first) < end_ms
        return end_ms > 0 and self.landmarks.count_before(self.grid.ceiling_of(end_ms)) > 0

    def ruling(self, landmarks: LandmarkSet) -> "Policy":
        """Return the policy with the landmarks drawn for it, as rows and the ledger store it."""
        parameters = drawn(self.parameters, landmarks, self.grid)
        assert isinstance(self.protection, LandmarkLevel), "dummies are refused elsewhere"
        protection = replace(self.protection, landmarks=landmarks)
        return replace(self, protection=protection, parameters=parameters, dummies=None)

    def with_fixed_landmarks(self) -> "Policy":
        """Return the policy with landmarks fixed, as if they had been drawn; other levels' policies are unchanged."""
        if not isinstance(self.protection, LandmarkLevel):
            return self
        return replace(self, protection=replace(self.protection, spare=0, fixed=True))


def policy_of(parameters: Mapping[str, object], version: int) -> Policy:
    """Return the policy described by a new version's parameters; raise `PolicyError` with every fault."""
    return _compiled(parameters, version, stored=False)


def stored_policy_of(parameters: Mapping[str, object], version: int) -> Policy:
    """Return the policy stored in a row or the ledger, which stays valid even if it would be refused today."""
    return _compiled(parameters, version, stored=True)


def _compiled(parameters: Mapping[str, object], version: int, *, stored: bool) -> Policy:
    try:
        form = ParametersForm.model_validate(parameters)
    except ValidationError as error:
        raise PolicyError(tuple([Fault(*fault) for fault in form_faults(error)])) from None
    kind: Kind | KindFault = kind_of(form.value)
    faults = [Fault(*fault) for fault in _member_faults(form, kind, stored=stored)]
    if form.collect is not None and not isinstance(kind, KindFault):
        kind = collected_kind(kind, form.collect)
    epsilon_nano = nano(form.epsilon)
    if epsilon_nano < 1:
        faults.append(Fault("epsilon", f"found {form.epsilon}, less than one nano-epsilon; use at least 1e-9"))
    lifetime_nano = None if form.lifetime is None else nano(form.lifetime)
    if lifetime_nano == 0:
        faults.append(Fault("lifetime", f"found {form.lifetime}, less than one nano-epsilon; use at least epsilon"))
    dummies = None if form.dummies is None else dummies_of(form.dummies, form.protection, epsilon_nano)
    if isinstance(dummies, tuple):
        faults += [Fault(*fault) for fault in dummies]
    if faults or isinstance(kind, KindFault) or isinstance(dummies, tuple):
        raise PolicyError(tuple(faults))
    units, kind = units_of(form.protection), unit_kind(kind, form)
    if form.filter == "level" and not takes_filter(kind):
        raise PolicyError((Fault("filter", "level does not apply to values that are published as measured; use none"),))
    protection = protection_of(form, epsilon_nano, kind)
    if dummies is not None and isinstance(protection, LandmarkLevel):
        protection = replace(protection, landmarks=NO_LANDMARKS, fixed=True)
    return Policy(
        version=version,
        epsilon_nano=epsilon_nano,
        step_ms=form.protection.step,
        protection=protection,
        scheme=scheme_of(form.scheme),
        filter=form.filter or ("level" if form.scheme.name == "balanced" and takes_filter(kind) else "none"),
        kind=kind,
        correlation=form.correlation,
        collect=collect_of(form.collect, kind),
        parameters=undrawn(parameters),
        identity=_identity(
            (str(version), str(form.protection.step), *(units.identity if units else ()), *kind.identity)
        ),
        dummies=dummies,
        renew=form.renew or (),
        lifetime_nano=lifetime_nano,
        within=within_of(form, kind),
        units=units,
    )


def _member_faults(form: ParametersForm, kind: Kind | KindFault, *, stored: bool) -> Iterator[tuple[str, str]]:
    """Yield each conflicting member with the reason; ``kind`` is derived from `value` alone."""
    made = None if isinstance(kind, KindFault) else kind
    yield from protection_faults(form.protection)
    yield from scheme_faults(form)
    yield from collect_faults(form, made)
    yield from _renewal_faults(form)
    if isinstance(kind, KindFault):
        yield f"value.{kind.member}", kind.message
    elif not stored and form.collect is None and (hidden := substitute_fault(kind)):
        yield f"value.{hidden.member}", hidden.message
    yield from within_faults(form, made)
    yield from unit_faults(form, made)


def _identity(parts: tuple[str, ...]) -> bytes:
    digest = blake2b(digest_size=32, person=b"landmark-policy1")
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.digest()


def _renewal_faults(form: ParametersForm) -> Iterator[tuple[str, str]]:
    if form.renew is None:
        return
    level = form.protection.level
    if level not in {"landmark", "user"}:
        message = f"at level {level} no budget is used up permanently, so there is nothing to renew; remove it"
        yield "renew", message
    if form.collect is not None:
        message = (
            "collected steps stay open across a bound, and would count under two versions; send a new version instead"
        )
        yield "renew", message
