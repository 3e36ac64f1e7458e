"""Builds the context for processing (keys, default policies and limits), and reports all faults at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from stream_app.calendar.policy import in_integers
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.files import unread
from stream_app.formats import documents, wire
from stream_app.loss.envelope import Envelope
from stream_app.plain import shown
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.state import claim_of
from stream_app.privacy.values import NANO, nano
from stream_app.setup import correlationfile
from stream_app.setup.correlationfile import CorrelationFileError
from stream_app.setup.settings import InvalidSettingsError, Problem, Settings
from stream_app.setup.views import joint_faults, name_fault, view_faults

DEFAULT_VERSION = 1
NO_LIFETIME = (
    "no version would ever be renewed, because without lifetime_epsilon the first policy's epsilon is the limit; set "
    "it to at most epsilon times the number of versions that you want"
)
"""The fault reported for a policy with `renew` if the configuration has no lifetime."""


def context_of(settings: Settings, keys: KeyRing, partition_of: Callable[[bytes], int] | None = None) -> Context:
    """Return the context for settings and keys; raise an `InvalidSettingsError` that lists every fault in them."""
    problems: list[Problem] = []
    defaults: tuple[DefaultPolicy, ...] = ()
    correlations: Mapping[str, Envelope] = {}
    try:
        defaults = default_policies(settings)
    except InvalidSettingsError as error:
        problems += error.problems
    try:
        correlations = backward_envelopes(settings)
    except InvalidSettingsError as error:
        problems += error.problems
    problems += _unknown_correlations(settings, defaults)
    renewed = [default.glob for default in defaults if default.policy.renew and settings.lifetime_epsilon is None]
    problems += [Problem("lifetime_epsilon", f"default policy {glob!r} has renew: {NO_LIFETIME}") for glob in renewed]
    if problems:
        raise InvalidSettingsError(tuple(problems))
    return Context(keys, defaults, limits_of(settings), partition_of, correlations)


def backward_envelopes(settings: Settings) -> dict[str, Envelope]:
    """Return the backward loss functions of the configured correlations; raise `InvalidSettingsError` on failure."""
    problems: list[Problem] = []
    found: dict[str, Envelope] = {}
    for name, path in settings.correlations.items():
        try:
            found[name] = Envelope.of(correlationfile.load(path).backward)
        except CorrelationFileError as error:
            problems.append(Problem(f"correlations.{name}", str(error)))
    if problems:
        raise InvalidSettingsError(tuple(problems))
    return found


def _unknown_correlations(settings: Settings, defaults: Sequence[DefaultPolicy]) -> Iterator[Problem]:
    known = ", ".join(settings.correlations) or "none"
    for default in defaults:
        name = default.policy.correlation
        if name is not None and name not in settings.correlations:
            message = f"default policy {default.glob!r} names correlation {name!r}, but found {known}; add its file"
            yield Problem("correlations", message)


def limits_of(settings: Settings) -> Limits:
    """Return the operator's limits in nano-epsilon.

    Raises `InvalidSettingsError` if there is a limit per person but no separator.
    """
    if settings.member_epsilon is not None and settings.member_separator is None:
        raise InvalidSettingsError(
            (Problem("member_epsilon", "no setting says where a person's name ends: set member_separator"),)
        )
    return Limits(
        lifetime_nano=None if settings.lifetime_epsilon is None else nano(settings.lifetime_epsilon),
        max_epsilon_nano=None if settings.max_epsilon is None else nano(settings.max_epsilon),
        accept_policies=settings.accept_policies,
        accept_weaker_policies=settings.accept_weaker_policies,
        max_future_ms=settings.max_future_ms,
        member_separator=settings.member_separator,
        member_nano=None if settings.member_epsilon is None else nano(settings.member_epsilon),
    )


def default_policies(settings: Settings) -> tuple[DefaultPolicy, ...]:
    """Return the default policies in the settings, then those in ``policies_file``, in order."""
    found = [WrittenPolicy(f"policies.{nth}.", table) for nth, table in enumerate(settings.policies)]
    if settings.policies_file is not None:
        found += _lines(settings.policies_file)
    return policies_from(found, limits_of(settings))


def policies_in(path: Path, limits: Limits = Limits()) -> tuple[DefaultPolicy, ...]:  # noqa: B008 - frozen
    """Return the default policies in a JSON Lines file; each ``series`` is a glob."""
    return policies_from(_lines(path), limits)


class WrittenPolicy(NamedTuple):
    """A default policy as written, with its place in settings or a file, and the folder of the files that it names."""

    place: str  # prefix of field names in messages: a table of the settings or a line of a file
    document: Any
    folder: Path = Path()
    fault: str = ""  # why it is invalid JSON, or ""


def policies_from(found: Iterable[WrittenPolicy], limits: Limits) -> tuple[DefaultPolicy, ...]:
    """Return the default policies from their written form; raise an `InvalidSettingsError` listing every fault."""
    problems: list[Problem] = []
    policies: list[DefaultPolicy] = []
    places: list[str] = []
    for place, written, folder, fault in found:
        document = written
        if fault:
            problems.append(Problem(place.removesuffix(": "), fault))
            continue
        if isinstance(written, Mapping):
            document, wrongs = in_integers(written, partial(_named, folder))
            problems += [Problem(f"{place}{wrong.member}", wrong.message) for wrong in wrongs]
        try:
            policies.append(_default_policy(document))
        except PolicyError as error:
            problems += [Problem(f"{place}{each.member}", each.message) for each in error.faults]
        except ValueError as error:
            problems.append(Problem(place.removesuffix(": ").removesuffix("."), str(error)))
        else:
            places.append(place)
            problems += [Problem(f"{place}epsilon", each) for each in _over(policies[-1], limits)]
            if policies[-1].view:
                faults = view_faults(policies[-1], limits)
                problems += [Problem(f"{place}{member}", message) for member, message in faults]
    problems += [Problem(f"{places[nth]}{member}", message) for nth, member, message in joint_faults(policies)]
    if problems:
        raise InvalidSettingsError(tuple(problems))
    return tuple(policies)


def _named(folder: Path, name: str) -> bytes:
    return (folder / name).read_bytes()


def _over(default: DefaultPolicy, limits: Limits) -> Iterator[str]:
    policy, epsilon_nano = default.policy, default.policy.epsilon_nano
    if limits.max_epsilon_nano is not None and epsilon_nano > limits.max_epsilon_nano:
        yield "exceeds max_epsilon, so every series under it would be rejected; lower it"
    if limits.lifetime_nano is not None and epsilon_nano > limits.lifetime_nano:
        yield "exceeds lifetime_epsilon, so every series under it would be rejected; lower it"
    if policy.lifetime_nano is not None and epsilon_nano > policy.lifetime_nano:
        yield "exceeds the policy's own lifetime, so every series under it would be rejected; lower it"
    yield from above_cap(policy, limits)


def above_cap(policy: Policy, limits: Limits) -> Iterator[str]:
    """Yield a fault if a series under this policy may use more than the limit for a new person."""
    if limits.member_nano is None:
        return
    cap = f"the limit of a new person, which is {limits.member_nano / NANO:g} (member_epsilon)"
    claim_nano = claim_of(policy, limits.lifetime_nano, claims=True)
    if claim_nano is not None and claim_nano > limits.member_nano:
        claim = (
            f"a series reserves {claim_nano / NANO:g}, more than {cap}, so every series would be rejected (member-cap)"
        )
        yield f"{claim}; set `lifetime` to at most that limit"
    elif policy.lifetime_nano is not None and policy.lifetime_nano > limits.member_nano:
        yield f"`lifetime` is {policy.lifetime_nano / NANO:g}, more than {cap}; lower it to at most that limit"


def _default_policy(document: object) -> DefaultPolicy:
    if not isinstance(document, Mapping):
        raise ValueError(f"is {shown(document)}, {NO_RECORD}, whose series is a name or a glob")  # noqa: TRY004
    glob = document.get("series")
    if not isinstance(glob, str) or not glob:
        raise ValueError('needs "series", a glob such as "home-*"')
    if document.get("type", "policy") != "policy":
        raise ValueError('"type" must be "policy" or absent')
    if document.get("version", DEFAULT_VERSION) != DEFAULT_VERSION:
        raise ValueError("a default policy has version 1; omit it (a series' own versions come after it)")
    if type(document.get("weaker", False)) is not bool:
        raise ValueError('"weaker" is neither true nor false; omit it (a default policy is the first of a series)')
    view = document.get("view", "")
    if "view" in document and (fault := name_fault(view)):
        raise ValueError(f'"view" {fault}')
    parameters = {name: document[name] for name in document if name not in wire.POLICY_ENVELOPE and name != "view"}
    return DefaultPolicy(glob, policy_of(parameters, DEFAULT_VERSION), view)


def _lines(path: Path) -> list[WrittenPolicy]:
    """Return the documents of a policy file, one per file or per line, with their places."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidSettingsError((Problem(str(path), f"{unread(error)}; specify a policy file"),)) from None
    found = documents.lines(content)
    if not found:
        raise InvalidSettingsError((Problem(str(path), NO_POLICY),))
    return [WrittenPolicy(f"{path}:{each.number}: ", each.document, path.parent, each.fault) for each in found]


NO_POLICY = "contains no policy; write one policy record per line"
NO_RECORD = "not an object; write one policy record per line"
