"""The data of a FILE for `evaluate`: its series under the default policies that fit them."""

import argparse
from dataclasses import replace

from stream_app.cli import UsageError
from stream_app.cli.shared.eventfile import events
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.evaluation.dataset import SHARE_WRONG, DataSet
from stream_app.evaluation.trial import key_of
from stream_app.formats import wire
from stream_app.formats.records import Observation
from stream_app.privacy.values import NANO
from stream_app.setup.configuration import policies_in
from stream_app.setup.settings import InvalidSettingsError

UNITS = {"location": "m", "category": SHARE_WRONG, "counts": "items a key", "number": "units"}


def data_in(arguments: argparse.Namespace) -> list[DataSet]:
    """Return a data set for each policy that rules a series; raises `UsageError` when there is nothing to evaluate."""
    if arguments.policies is None:
        raise UsageError("--policies: FILE needs one, which says of which kind its values are and how long a step is")
    try:
        context = Context(key_of(0), policies_in(arguments.policies, Limits()), Limits())
    except InvalidSettingsError as error:
        raise UsageError(str(error)) from None
    ruled: dict[str, DefaultPolicy | None] = {}
    found: dict[str, list[Observation]] = {default.glob: [] for default in context.defaults}
    for event in events(arguments):
        record = wire.decode(event)
        if not isinstance(record, Observation):
            continue
        if record.series not in ruled:
            ruled[record.series] = context.default_for(record.series)
        default = ruled[record.series]
        # PRIVACY: raw values decide what is evaluated; all that comes of it is for the publisher alone.
        # A substitute would have no error: what is not valid is left out.
        if default is not None and replace(default.policy.kind, substitute=None).quantise(record.value) is not None:
            found[default.glob].append(record)
    defaults = {default.glob: default for default in reversed(context.defaults)}
    sets = [_set(defaults[glob], each).first(arguments.steps) for glob, each in found.items() if each]
    if not sets:
        raise UsageError(f"{arguments.file}: no valid value of a series that a policy fits; check globs and kinds")
    return sets


def _set(default: DefaultPolicy, observations: list[Observation]) -> DataSet:
    policy = default.policy
    value = policy.parameters["value"]
    if not isinstance(value, dict):
        raise TypeError("a policy's value is an object")
    epsilon = policy.epsilon_nano / NANO
    declared = DataSet(default.glob, UNITS[value["kind"]], epsilon, policy.step_ms, value, {})
    return DataSet.of(observations, declared)
