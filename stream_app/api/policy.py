"""`Policy`: the guarantee for a series, as an immutable form of the policy record."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, Required, TypedDict, Unpack, overload

from stream_app.api.given import Error, length_of, path_of, told
from stream_app.api.parts import (
    Balanced,
    Collect,
    Drawn,
    Kind,
    Padding,
    Part,
    Scheme,
    Time,
    Uniform,
    Within,
    plain,
)
from stream_app.api.units import Statistic, value_of, warn_of_days, with_units
from stream_app.api.views import Html, Page, paragraph
from stream_app.calendar.policy import in_integers
from stream_app.deciding.context import DefaultPolicy, Limits
from stream_app.formats import documents, wire
from stream_app.privacy import policy as core
from stream_app.privacy.policy import Fault, policy_of
from stream_app.setup.configuration import WrittenPolicy, policies_from, policies_in
from stream_app.words.promise import in_words

Landmark = Time | tuple[Time, Time] | Mapping[str, Any]
"""A moment, a [start, end) pair, or a landmark form from policy files, such as ``{"weekly": ..}``."""


class Others(TypedDict, total=False):
    """Members allowed in policies at every level."""

    scheme: Scheme
    series: str
    step: int | str | timedelta
    unit: int | str | timedelta
    offset: int | str | timedelta
    open_steps: int
    statistic: Statistic
    by: Literal["hour", "weekday", "hour-of-week"]
    local_zone: str
    local_from: Time
    filter: str
    collect: Collect
    within: Within | Literal["last", "max", "sum", "mean"]
    correlation: str
    lifetime: float
    renew: Sequence[Time] | Mapping[str, Any]


class Members(Others, total=False):
    """The members of a landmark-level policy."""

    epsilon: Required[float]
    value: Required[Kind]
    landmarks: Iterable[Landmark]
    spare: int
    window: int | None
    zone: str | None
    dummies: Drawn | Padding | None


class Policy(Page):
    """The guarantee for each series that a glob matches, with the same checks as `landmark-stream check`.

    ``Policy(epsilon=.., value=..)`` has level `landmark`; `event`, `user` and `w_event` create policies at the other
    levels. ``step`` is the time between two readings, in milliseconds, as a timedelta or as a text such as "5min". You
    may omit ``step`` (it is then 1 ms) only if the step's length makes no difference: if landmarks are single moments,
    and at level `event`.

    With ``unit``, a step contains many readings, and ``statistic`` is what is released about it. For example,
    ``unit="1h", step="1d", statistic="mean"`` publishes daily means and protects any one hour, omitting hours that a
    landmark touches. ``statistic`` is "mean", "sum", `Share`, `Histogram`, or "histogram" for categories. ``by``
    divides means and sums by "hour", "weekday" or "hour-of-week" in UTC or in ``local_zone``, using the offsets of the
    20 years from ``local_from`` on. ``within`` determines the value of a unit with several readings, ``window`` is the
    number of consecutive units protected together, and ``offset`` is the time at which steps begin. The scheme is then
    `Uniform` by default. This scheme has no filter, so each release is the statistic with noise and contains no earlier
    release. Two policies are equal if their records are equal.
    """

    __slots__ = ("_core", "_record")

    @overload
    def __init__(self, record: Mapping[str, Any], folder: Path = ...) -> None: ...
    @overload
    def __init__(self, **members: Unpack[Members]) -> None: ...

    def __init__(self, record: Any = None, folder: Path | None = None, **members: Any) -> None:
        """Create a policy from the members of a landmark-level policy, or from a policy record.

        ``folder`` contains the calendar files that the landmarks of a record name. Raises `Error` with every fault.
        """
        if members:
            if record is not None or folder is not None:
                raise Error.of(next(iter(members)), "conflicts with a whole record or its folder; use only one of them")
            if missing := [name for name in ("epsilon", "value") if name not in members]:
                raise Error(Fault(name, "is missing") for name in missing)
            record = self.landmark(**members).record
        if not isinstance(record, Mapping):
            raise Error.of("policy", f"is of type {type(record).__name__}; use a dict of policy members")
        record = {str(name): plain(member, str(name)) for name, member in record.items()}
        with told():
            found, wrongs = in_integers(record, lambda name: ((folder or Path()) / name).read_bytes())
        parameters = {name: value for name, value in found.items() if name not in wire.POLICY_ENVELOPE}
        faults = [Fault(wrong.member, wrong.message) for wrong in wrongs]
        faults += _envelope_faults(found)
        try:
            compiled = policy_of(parameters, found.get("version", 1) if not faults else 1)
        except core.PolicyError as error:
            raise Error([*faults, *error.faults]) from None
        if faults:
            raise Error(faults)
        warn_of_days(record, compiled)
        self._core: Final = compiled
        self._record: Final = wire.dump({"type": "policy", "series": "*", "version": 1} | dict(found))

    @classmethod
    def landmark(
        cls,
        *,
        epsilon: float,
        value: Kind,
        landmarks: Iterable[Landmark] = (),
        spare: int = 0,
        window: int | None = None,
        zone: str | None = None,
        dummies: Drawn | Padding | None = None,
        **others: Unpack[Others],
    ) -> "Policy":
        """Return a policy that jointly protects all landmarks and any one (or ``window`` consecutive) other steps."""
        moments = [plain(each, f"landmarks.{nth}") for nth, each in enumerate(_listed(landmarks))]
        protection = {"landmarks": moments, "spare": spare or None, "window": window, "zone": zone}
        return cls(_record("landmark", epsilon, value, protection, _usual(others), {"dummies": dummies, **others}))

    @classmethod
    def event(cls, *, epsilon: float, value: Kind, **others: Unpack[Others]) -> "Policy":
        """Return a policy that protects any one step."""
        return cls(_record("event", epsilon, value, {}, _usual(others), others))

    @classmethod
    def user(cls, *, epsilon: float, value: Kind, length: int, **others: Unpack[Others]) -> "Policy":
        """Return a policy that jointly protects ``length`` steps from the first event on, and then ends."""
        return cls(_record("user", epsilon, value, {"length": length}, Uniform(), others))

    @classmethod
    def w_event(cls, *, epsilon: float, value: Kind, window: int, **others: Unpack[Others]) -> "Policy":
        """Return a policy that jointly protects any ``window`` consecutive steps."""
        return cls(_record("w-event", epsilon, value, {"window": window}, Uniform(), others))

    @classmethod
    def load(cls, file: str | Path) -> tuple["Policy", ...]:
        """Return the policies in a file (one record, or one per line); raise `Error` with every fault."""
        path = path_of(file, "file", "a policy file with one record per line")
        with told():
            policies_in(path)  # reports all faults of the file
            found: list[Any] = [line.document for line in documents.lines(path.read_bytes())]
        return tuple(cls(document, path.parent) for document in found)

    @property
    def record(self) -> dict[str, Any]:
        """The policy record, as in the events topic and policy files; under dummies it has the true landmarks."""
        found: Any = wire.load(self._record)
        return dict(found)

    @property
    def series(self) -> str:
        """The series, or the glob that matches them."""
        return str(self.record["series"])

    @property
    def epsilon(self) -> float:
        """The budget."""
        return float(self.record["epsilon"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._record == other._record

    def __hash__(self) -> int:
        return hash(self._record)

    def __repr__(self) -> str:
        # PRIVACY: no landmark is shown here, because landmarks may be a secret that dummies hide.
        level, scheme = self.record["protection"]["level"], self.record["scheme"]["name"]
        return f"Policy({self.series!r}, {level}, epsilon {self.epsilon:g}, {scheme}, {self.record['value']['kind']})"

    def __str__(self) -> str:
        # PRIVACY: with dummies, the text reveals neither the true landmarks nor how many there are.
        return in_words(self.record, self.series if self.series.isprintable() and self.series != "*" else "")

    def html(self) -> Html:
        """Return the guarantee in words, as HTML."""
        return paragraph(repr(self), str(self))


def compiled(policy: Policy) -> core.Policy:
    """Return a policy in its compiled core form; raise `Error` for anything else."""
    return _checked(policy)._core  # noqa: SLF001 - the library's own


def _checked(found: object) -> Policy:
    if not isinstance(found, Policy):
        remedy = "create one with Policy(epsilon=1, landmarks=[...], value=Number(0, 10, 0.001))"
        if isinstance(found, tuple):
            remedy = "Policy.load returns all policies in the file: use one of them, as in Policy.load(FILE)[0]"
        raise Error.of("policy", f"is of type {type(found).__name__}, not a Policy; {remedy}")
    return found


def as_defaults(policies: Policy | Sequence[Policy] | Mapping[str, Policy]) -> tuple[DefaultPolicy, ...]:
    """Return a run's default policies; each series uses the first match. Raise `Error` if the policies are invalid."""
    if isinstance(policies, Policy) or not isinstance(policies, Iterable):
        policies = [_checked(policies)]
    if isinstance(policies, Mapping):
        records = [_checked(policy).record | {"series": series} for series, policy in policies.items()]
    else:
        records = [_checked(policy).record for policy in policies]
    with told():
        return policies_from([WrittenPolicy(f"policy.{nth}", record) for nth, record in enumerate(records)], Limits())


def _listed(landmarks: Any) -> list[Any]:
    """Return landmarks as a list; raise `Error` for a single landmark, or for a pair that may be an interval."""
    is_list = isinstance(landmarks, Iterable) and not isinstance(landmarks, str | bytes | Mapping | AbstractSet)
    if not is_list or hasattr(landmarks, "columns"):
        raise Error.of("landmarks", "is not a list; use a list, as in landmarks=[datetime(2026, 1, 31, 8, tzinfo=UTC)]")
    is_pair = isinstance(landmarks, tuple) and len(landmarks) == 2
    if is_pair and not any(isinstance(each, tuple | list) for each in landmarks):
        raise Error.of("landmarks", "is ambiguous; use [(start, end)] for an interval, [first, second] for two times")
    return list(landmarks)


def _check_stepless(protection: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Refuse a policy without a step if the guarantee or the budget split depends on the step's length."""
    # PRIVACY: 24 steps of 1 ms do not protect a day, and an hour of them splits epsilon over 3,600,000 landmarks.
    spans = any(not isinstance(each, int) for each in protection.get("landmarks", ()))
    counts = [name for name in ("window", "length") if protection.get(name) not in (None, 1)]
    parts = [name for name in ("within", "collect", "dummies", "unit") if others.get(name) is not None]
    because = [*counts, *parts, *(["landmarks"] if spans else [])]
    if because:
        remedy = "use the time from one reading to the next, as in step=timedelta(hours=1), or step=1 for 1 ms"
        raise Error.of("step", f"is missing (1 ms), but these depend on the step: {', '.join(because)}; {remedy}")


def _record(
    level: str, epsilon: float, value: Kind, protection: Mapping[str, Any], usual: Scheme, others: Mapping[str, Any]
) -> dict[str, Any]:
    within = others.get("within")
    if within is not None and not isinstance(within, Within) and "unit" not in others:
        raise Error.of("within", 'is not a Within; use one such as Within("mean", open_steps=2)')
    named = {"epsilon": epsilon, "value": value, "scheme": others.get("scheme", usual)}
    wrong = [name for name in ("value", "scheme") if not isinstance(named[name], Part)]
    if wrong:
        raise Error(Fault(name, f"is of the wrong type; use, for example, ls.{_SUCH[name]}") for name in wrong)
    step = None if others.get("step") is None else length_of(others["step"], "step")
    members = {"level": level, **protection, "step": step, **with_units(others)}
    members |= within.record() if isinstance(within, Within) else {}
    record = {
        "type": "policy",
        "series": others.get("series", "*"),
        "version": 1,
        "epsilon": plain(epsilon, "epsilon"),
        "protection": {name: member for name, member in members.items() if member is not None},
        "scheme": plain(named["scheme"], "scheme"),
        "value": value_of(plain(value, "value"), others),
    }
    rest = ("filter", "collect", "correlation", "dummies", "lifetime", "renew")
    unknown = others.keys() - Others.__annotations__.keys() - {"dummies"}
    if unknown:
        raise Error(Fault(name, "is not a member of a policy; omit it") for name in sorted(unknown))
    record |= {name: plain(others[name], name) for name in rest if others.get(name) is not None}
    if step is None:
        Policy(record)  # its faults come first
        _check_stepless(protection, others)
    return record


def _usual(others: Mapping[str, Any]) -> Scheme:
    """Return the default scheme; with units, this scheme has no filter that would change releases."""
    return Balanced() if others.get("unit") is None else Uniform()


_SUCH: Final = {"value": "Number(0, 10, 0.001)", "scheme": "Balanced(regular_share=0.5)"}


def _envelope_faults(record: Mapping[str, Any]) -> list[Fault]:
    series = record.get("series", "*")
    named = isinstance(series, str) and series
    faults = [] if named else [Fault("series", 'is empty or not text; use a series id, or a glob such as "home-*"')]
    if record.get("type", "policy") != "policy":
        faults.append(Fault("type", 'is not "policy"; use "policy", or omit it'))
    if record.get("version", 1) != 1:
        faults.append(Fault("version", "policies created with the library have version 1; omit it"))
    return faults
