"""``check``: the configuration that is in force, or a policy file; every error at once."""

import argparse
import json
from pathlib import Path
from typing import Any

from stream_app.cli.shared.arguments import add_config
from stream_app.cli.shared.policyfile import documents_in, hindrances_of, policy_in, problems_of, weaker_of
from stream_app.cli.shared.together import limits_in, together
from stream_app.heads.signing import SigningKey
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup import keyfile
from stream_app.setup.configuration import NO_LIFETIME, context_of
from stream_app.setup.keyfile import KeyFileError
from stream_app.setup.settings import InvalidSettingsError, Problem, Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "file", type=Path, nargs="?", help="settings (.toml) or policies (JSON or JSON Lines; default: the settings)"
    )
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Check; 0 when all is well, 2 with every error otherwise."""
    file: Path | None = arguments.file
    shown: dict[str, Any] = {}
    notes: list[str] = []
    if file is not None and file.suffix != ".toml":
        problems, shown, notes = _policies(file, arguments.config)
    else:
        problems, shown = _settings(file or arguments.config)
    if arguments.json:
        listed = [problem._asdict() for problem in problems]
        print(json.dumps({"holds": not problems, "problems": listed, "notes": notes, "in_force": shown}))
    else:
        for name, value in shown.items():
            print(f"{name} = {json.dumps(value)}")
        if "defaults_only" in shown:
            print("these are for `policies_file`: `policy` sends none with a glob, or without type or version")
        for note in notes:
            print(f"note: {note}")
        for problem in problems:
            print(f"error: {problem.field}: {problem.message}")
    return 2 if problems else 0


def _settings(file: Path | None) -> tuple[list[Problem], dict[str, Any]]:
    try:
        settings = Settings.load(file)
    except InvalidSettingsError as error:
        return list(error.problems), {}
    problems: list[Problem] = []
    try:
        keys = keyfile.load(settings.key_file, settings.key_epoch_ms)
    except KeyFileError as error:
        problems.append(Problem("key_file", str(error)))
        keys = KeyRing("", 0, b"", settings.key_epoch_ms)  # the policies can be checked without a key
    signing = None
    if settings.signing_key_file is not None:
        try:
            signing = SigningKey.load(settings.signing_key_file).fingerprint
        except KeyFileError as error:
            problems.append(Problem("signing_key_file", str(error)))
    try:
        fingerprint = context_of(settings, keys).fingerprint
    except InvalidSettingsError as error:
        problems += error.problems
        return problems, settings.shown()
    shown = settings.shown()
    shown |= {"key_fingerprint": keys.fingerprint, "signing_key_fingerprint": signing}
    return problems, {**shown, "configuration_fingerprint": fingerprint}


def _policies(file: Path, config: Path | None) -> tuple[list[Problem], dict[str, Any], list[str]]:
    try:
        documents = documents_in(file)
    except OSError as error:
        return [Problem(str(file), f"cannot be read ({error.strerror})")], {}, []
    problems = [problem for document in documents for problem in problems_of(document)]
    if limits_in(config).lifetime_nano is None:
        renewed = [each.place for each in documents if isinstance(each.content, dict) and each.content.get("renew")]
        problems += [Problem(f"{place}.renew", NO_LIFETIME) for place in renewed]
    notes = []
    for weaker in weaker_of(documents):
        if weaker.certain and not weaker.marked:
            problems.append(Problem(f"{weaker.place}.version", weaker.sentence))
        else:
            when = "" if weaker.certain else ", unless that has passed when it comes"
            notes.append(f"{weaker.place}: version {weaker.version} {weaker.sentence}{when}")
    if not problems:
        policies = [(each.content["series"], policy_in(each.content)) for each in documents]
        for found in together(policies, limits_in(config)):
            if found.exceeding and not found.of_globs:
                problems.append(Problem(str(file), found.sentence))
            else:
                notes.append(found.sentence)
    defaults = sum(any(hindrances_of(document.content)) for document in documents)
    shown = {"policies": len(documents)} | ({"defaults_only": defaults} if defaults and not problems else {})
    return problems, shown, notes
