"""`Policy`: what is promised to a series, as a frozen value that is the policy record of the wire format."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from stream_app.api.errors import Error, told
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
from stream_app.api.views import Html, Page, paragraph
from stream_app.calendar.policy import in_integers
from stream_app.deciding.context import DefaultPolicy, Limits
from stream_app.formats import wire
from stream_app.privacy import policy as core
from stream_app.privacy.policy import Fault, policy_of
from stream_app.setup.configuration import Written, policies_from, policies_in
from stream_app.words.promise import in_words

Landmark = Time | tuple[Time, Time] | Mapping[str, Any]
"""A moment, [start, end), or one of the forms in which policy files say landmarks, such as ``{"weekly": ..}``."""


class Others(TypedDict, total=False):
    """Members that policies of every level may have."""

    scheme: Scheme
    series: str
    step: int | timedelta
    filter: str
    collect: Collect
    within: Within
    correlation: str
    lifetime: float
    renew: Sequence[Time] | Mapping[str, Any]


class Policy(Page):
    """What is promised to each series that a glob matches, checked as `landmark-stream check` does.

    Make one by its level: `landmark`, `event`, `user` or `w_event`; ``step`` is in milliseconds or a timedelta, 1 ms
    unless said otherwise. Two policies are equal if their records are.
    """

    __slots__ = ("_core", "_record")

    def __init__(self, record: Mapping[str, Any], folder: Path = Path()) -> None:
        """Take a policy record as a policy file has it; raises `Error` with every fault.

        ``folder`` is where the calendar files are that its landmarks name.
        """
        with told():
            found, wrongs = in_integers(record, lambda name: (folder / name).read_bytes())
        parameters = {name: value for name, value in found.items() if name not in wire.POLICY_ENVELOPE}
        faults = [Fault(wrong.member, wrong.message) for wrong in wrongs]
        faults += _envelope_faults(found)
        try:
            compiled = policy_of(parameters, found.get("version", 1) if not faults else 1)
        except core.PolicyError as error:
            raise Error([*faults, *error.faults]) from None
        if faults:
            raise Error(faults)
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
        """Return a policy that protects all landmarks and any one other step, or any ``window`` of them, together."""
        protection = {
            "landmarks": [plain(each, f"landmarks.{nth}") for nth, each in enumerate(landmarks)],
            "spare": spare or None,
            "window": window,
            "zone": zone,
        }
        return cls(_record("landmark", epsilon, value, protection, Balanced(), {"dummies": dummies, **others}))

    @classmethod
    def event(cls, *, epsilon: float, value: Kind, **others: Unpack[Others]) -> "Policy":
        """Return a policy that protects any one step."""
        return cls(_record("event", epsilon, value, {}, Balanced(), others))

    @classmethod
    def user(cls, *, epsilon: float, value: Kind, length: int, **others: Unpack[Others]) -> "Policy":
        """Return a policy that protects ``length`` steps together, from the first event on; then it ends."""
        return cls(_record("user", epsilon, value, {"length": length}, Uniform(), others))

    @classmethod
    def w_event(cls, *, epsilon: float, value: Kind, window: int, **others: Unpack[Others]) -> "Policy":
        """Return a policy that protects any ``window`` steps in a row together."""
        return cls(_record("w-event", epsilon, value, {"window": window}, Uniform(), others))

    @classmethod
    def load(cls, file: str | Path) -> tuple["Policy", ...]:
        """Return the policies of a file of one record a line; raises `Error` with every fault."""
        path = Path(file)
        with told():
            policies_in(path)  # every fault of the file at once
            lines = path.read_bytes().splitlines()
        documents: list[Any] = [wire.load(line) for line in lines if line.strip()]
        return tuple(cls(document, path.parent) for document in documents)

    @property
    def record(self) -> dict[str, Any]:
        """The policy record, as the events topic and policy files have it; under dummies with the true landmarks."""
        found: Any = wire.load(self._record)
        return dict(found)

    @property
    def series(self) -> str:
        """The series, or the glob that series match."""
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
        # PRIVACY: no landmark shows here, since they may be a secret that dummies hide.
        level, scheme = self.record["protection"]["level"], self.record["scheme"]["name"]
        return f"Policy({self.series!r}, {level}, epsilon {self.epsilon:g}, {scheme}, {self.record['value']['kind']})"

    def __str__(self) -> str:
        # PRIVACY: under dummies the words say neither the true landmarks nor how many there are.
        return in_words(self.record, self._whose)

    def html(self) -> Html:
        """Return what it promises, in words, as HTML."""
        return paragraph(repr(self), str(self))

    @property
    def _whose(self) -> str:
        return self.series if self.series.isprintable() and self.series != "*" else ""


def compiled(policy: Policy) -> core.Policy:
    """Return the policy as the core has it; raises `Error` for what is none."""
    return _checked(policy)._core  # noqa: SLF001 - the library's own


def _checked(found: object) -> Policy:
    """Return what was given as a policy; raises `Error` for anything else."""
    if not isinstance(found, Policy):
        remedy = "make one by Policy.landmark(epsilon=1, landmarks=[...], value=Number(0, 10, 0.001))"
        raise Error.of("policy", f"is no Policy but of type {type(found).__name__}; {remedy}")
    return found


def as_defaults(policies: Policy | Sequence[Policy] | Mapping[str, Policy]) -> tuple[DefaultPolicy, ...]:
    """Return policies as the default policies of a run, the first that matches a series rules it; raises `Error`."""
    if isinstance(policies, Policy):
        policies = [policies]
    records = (
        [_checked(policy).record | {"series": series} for series, policy in policies.items()]
        if isinstance(policies, Mapping)
        else [_checked(policy).record for policy in policies]
    )
    with told():
        return policies_from([Written(f"policy.{nth}", record) for nth, record in enumerate(records)], Limits())


def _record(
    level: str,
    epsilon: float,
    value: Kind,
    protection: Mapping[str, Any],
    usual: Scheme,
    others: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a record of typed parts; members that are None are left out."""
    within = others.get("within")
    if within is not None and not isinstance(within, Within):
        raise Error.of("within", 'is no Within; write Within("mean", open_steps=2)')
    named = {"epsilon": epsilon, "value": value, "scheme": others.get("scheme", usual)}
    wrong = [name for name in ("value", "scheme") if not isinstance(named[name], Part)]
    if wrong:
        raise Error(Fault(name, f"is no typed part; write one such as ls.{_SUCH[name]}") for name in wrong)
    step = others.get("step")
    members = {"level": level, **protection, "step": None if step is None else plain(step, "step")}
    members |= within.record() if within is not None else {}
    record = {
        "type": "policy",
        "series": others.get("series", "*"),
        "version": 1,
        "epsilon": plain(epsilon, "epsilon"),
        "protection": {name: member for name, member in members.items() if member is not None},
        "scheme": plain(named["scheme"], "scheme"),
        "value": plain(value, "value"),
    }
    rest = ("filter", "collect", "correlation", "dummies", "lifetime", "renew")
    unknown = others.keys() - Others.__annotations__.keys() - {"dummies"}
    if unknown:
        raise Error(Fault(name, "is no member of a policy; leave it out") for name in sorted(unknown))
    return record | {name: plain(others[name], name) for name in rest if others.get(name) is not None}


_SUCH: Final = {"value": "Number(0, 10, 0.001)", "scheme": "Balanced(regular_share=0.5)"}


def _envelope_faults(record: Mapping[str, Any]) -> list[Fault]:
    series = record.get("series", "*")
    named = isinstance(series, str) and series
    faults = [] if named else [Fault("series", 'names no series; write one, or a glob such as "home-*"')]
    if record.get("version", 1) != 1:
        faults.append(Fault("version", "a policy of the library has version 1; leave it out"))
    return faults
