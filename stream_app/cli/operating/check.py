"""``check``: check the configuration in force or a policy file, and report every error at once."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from stream_app.cli import UsageError
from stream_app.cli.planning.plantable import noise_notes
from stream_app.cli.planning.unitplan import add_data, data_of, memory_notes
from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.policyfile import documents_in, hindrances_of, policy_in, problems_of, weaker_of
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.cli.shared.terminal import say
from stream_app.cli.shared.together import JointClaims, caps_exceeded, limits_in, together
from stream_app.deciding.context import DefaultPolicy, Limits
from stream_app.heads.signing import SigningKey
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup import keyfile
from stream_app.setup.configuration import NO_LIFETIME, NO_POLICY, context_of
from stream_app.setup.keyfile import KeyFileError
from stream_app.setup.settings import InvalidSettingsError, Problem, Settings
from stream_app.setup.views import joint_faults, view_faults
from stream_app.words.odds import in_odds, odds_document
from stream_app.words.promise import wrapped

_AS_DEFAULT: Final = "accepted by `policy`, which starts from today, but not by `policies_file` or `replay --policies`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    file_help = "configuration (.toml) or policies (JSON or JSON Lines); default: the configuration"
    parser.add_argument("file", type=Path, nargs="?", help=file_help)
    add_config(parser)
    add_data(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run the check; return 0 if there are no errors, or 2 after printing every error."""
    file: Path | None = arguments.file
    if file is not None and file.suffix != ".toml":
        found = _policies(file, arguments.config)
    else:
        found = _settings(file or arguments.config)
    problems, shown = found.problems, found.shown
    data = data_of(arguments)
    notes = [*found.notes, *(warning for times in found.times for warning in times.warnings())]
    notes += dict.fromkeys(note for times in found.times for note in noise_notes(times))  # versions may repeat notes
    if data is not None and not problems:
        notes += [f"{times.whose}: {each}" for times in found.times for each in memory_notes(times, data)]
    if arguments.json:
        listed = [problem._asdict() for problem in problems]
        document = {"holds": not problems, "problems": listed, "notes": notes, "in_force": dict(shown)}
        promised = [
            each.document() | {"promise": each.promise(found.limits), "odds": odds_document(each.policy.epsilon_nano)}
            for each in found.times
        ]
        print(json.dumps({**document, "times": promised}))
    else:
        for name, value in shown.items():
            print(f"{name} = {json.dumps(value)}")
        for times in found.times:
            say(times.sentence)
            print(wrapped(times.promise(found.limits)))
            print(wrapped(in_odds(times.policy.epsilon_nano)))
        if "defaults_only" in shown:
            print("defaults_only: policies with a glob, or without type or version; use the file in")
            print("`policies_file` or `replay --policies`, because `policy` cannot send these policies")
        for note in notes:
            say(f"note: {note}")
        for problem in problems:
            say(f"error: {problem}")
    return 2 if problems else 0


class _CheckResult(NamedTuple):
    """The result of a check: errors, values in force, notes, and the times that each policy protects."""

    problems: Sequence[Problem]
    shown: Mapping[str, Any] = MappingProxyType({})
    notes: Sequence[str] = ()
    times: Sequence[PolicyTimes] = ()
    limits: Limits = Limits()  # limits from the settings


def _settings(file: Path | None) -> _CheckResult:
    try:
        settings = Settings.load(file)
    except InvalidSettingsError as error:
        return _CheckResult(list(error.problems))
    problems: list[Problem] = []
    try:
        keys = keyfile.load(settings.key_file, settings.key_epoch_ms)
    except KeyFileError as error:
        problems.append(Problem("key_file", str(error)))
        keys = KeyRing("", 0, b"", settings.key_epoch_ms)  # policies can be checked without a key
    signing = None
    if settings.signing_key_file is not None:
        try:
            signing = SigningKey.load(settings.signing_key_file).fingerprint
        except KeyFileError as error:
            problems.append(Problem("signing_key_file", str(error)))
    try:
        context = context_of(settings, keys)
    except InvalidSettingsError as error:
        problems += error.problems
        return _CheckResult(problems, settings.shown())
    shown = settings.shown()
    shown |= {"key_fingerprint": keys.fingerprint, "signing_key_fingerprint": signing}
    shown["configuration_fingerprint"] = context.fingerprint
    times = [PolicyTimes(_named(each, context.limits), each.policy) for each in context.defaults]
    notes = [found.sentence for found in _claimed(context.defaults, context.limits)] if context.views else []
    return _CheckResult(problems, shown, notes, times, context.limits)


def _named(default: DefaultPolicy, limits: Limits) -> str:
    """Return the glob that matches the series or views to which a default policy applies."""
    return f"{default.glob}{limits.member_separator or '/'}{default.view}" if default.view else default.glob


def _claimed(defaults: Iterable[DefaultPolicy], limits: Limits) -> Iterator[JointClaims]:
    """Yield the total that a series and its views, or all series of one person, reserve together."""
    return together([(_named(each, limits), each.policy) for each in defaults], limits)


def _view_problems(file: Path, defaults: Sequence[DefaultPolicy], limits: Limits) -> Iterator[Problem]:
    """Yield the errors in the views that a file of default policies defines."""
    for default in defaults:
        for member, message in view_faults(default, limits) if default.view else ():
            yield Problem(f"{file}: {_named(default, limits)}: {member}", message)
    for nth, member, message in joint_faults(defaults):
        yield Problem(f"{file}: {_named(defaults[nth], limits)}: {member}", message)


def _policies(file: Path, config: Path | None) -> _CheckResult:
    try:
        documents = documents_in(file)
    except UsageError as error:
        return _CheckResult([Problem(str(file), str(error).removeprefix(f"{file}: "))])
    if not documents:
        return _CheckResult([Problem(str(file), NO_POLICY)])
    problems = [problem for document in documents for problem in problems_of(document)]
    limits = limits_in(config)
    problems += caps_exceeded(documents, limits)
    if limits.lifetime_nano is None:
        renewed = [each.place for each in documents if isinstance(each.content, dict) and each.content.get("renew")]
        problems += [Problem(f"{place}: renew", NO_LIFETIME) for place in renewed]
    notes = [
        f"{each.place}: {wrong.member}: {_AS_DEFAULT}: {wrong.message}" for each in documents for wrong in each.clocked
    ]
    for weaker in weaker_of(documents):
        if weaker.certain and not weaker.marked:
            problems.append(Problem(f"{weaker.place}: version", weaker.sentence))
        else:
            when = "" if weaker.certain else ", unless those landmarks or steps have passed when this version arrives"
            notes.append(f"{weaker.place}: version {weaker.version} {weaker.sentence}{when}")
    if not problems:
        contents = [each.content for each in documents]
        defaults = [DefaultPolicy(each["series"], policy_in(each), each.get("view", "")) for each in contents]
        problems += _view_problems(file, defaults, limits)
        for found in _claimed(defaults, limits):
            if found.exceeding and not found.of_globs:
                problems.append(Problem(str(file), found.sentence))
            else:
                notes.append(found.sentence)
    for_defaults = sum(any(hindrances_of(document.content)) for document in documents)
    # Errors come first: a count of unusable policies would suggest that they are usable.
    shown = {"policies": len(documents)} | ({"defaults_only": for_defaults} if for_defaults else {})
    good = [document for document in documents if not any(problems_of(document))]
    return _CheckResult(problems, {} if problems else shown, notes, [document.times for document in good], limits)
