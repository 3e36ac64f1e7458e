"""The command line: one module per command, in the package that ``COMMANDS`` names.

Each command module has ``add_arguments(parser)`` and ``run(arguments) -> int``, which returns the exit code (see
``exits``). A module is imported only if its command is named, because Kafka, numpy and matplotlib take seconds to load.
"""

import argparse
import errno
import importlib
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from stream_app import __version__
from stream_app.cli.exits import INTERRUPTED, exit_codes_of
from stream_app.cli.shared.terminal import folded
from stream_app.plain import meant

UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
CHOICE = re.compile(
    r"(?:argument (?P<name>.*?): )?invalid choice: '?(?P<found>.*?)'? \(choose from (?P<known>.*)\)", re.DOTALL
)
MISSING = re.compile(r"the following arguments are required: (.*)", re.DOTALL)
NEEDS = re.compile(r"argument (?P<name>.*): expected (?P<number>.*) arguments?", re.DOTALL)
VALUE = re.compile(r"argument (?P<name>.*): invalid (?P<kind>int|float|Path) value: '(?P<found>.*)'", re.DOTALL)
EXCLUDED = re.compile(r"argument (?P<name>.*): not allowed with argument (?P<other>.*)", re.DOTALL)
KINDS = {"int": "a whole number", "float": "a number", "Path": "a path"}


class HelpLines(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks in descriptions, and wraps lines wider than the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(folded(indent + line, width, 2 * line.startswith(" ")) for line in text.splitlines())


class Parser(argparse.ArgumentParser):
    """A parser that reports each error in one sentence, without the usage text; exit code 2."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Create the parser like `argparse.ArgumentParser`, but with wrapped help."""
        super().__init__(*arguments, **{"formatter_class": HelpLines} | named)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments and exit with code 2."""
        said = self._sentence(message)
        more = "" if said.endswith("?") else f"; see `{self.prog} --help`"
        self.exit(2, f"{self.prog}: {said}{more}\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments; the command's own parser reports unknown arguments."""
        found, left = self.parse_known_args(args, namespace)
        if left:
            self._of(getattr(found, "command", None)).error(f"unrecognized arguments: {' '.join(left)}")
        return found

    def _of(self, command: str | None) -> "Parser":
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and command in action.choices:  # noqa: SLF001
                return action.choices[command]  # type: ignore[no-any-return]
        return self

    def _sentence(self, message: str) -> str:
        if found := UNKNOWN.fullmatch(message):
            return self._unknown(found[1])
        if found := CHOICE.fullmatch(message):
            known = re.findall(r"'([^']*)'", found["known"]) or found["known"].split(", ")
            name = found["name"] or "argument"
            near = meant(found["found"], known)
            return f'{name} "{found["found"]}" is not known' + (near or f"; choose from {', '.join(known)}")
        if found := MISSING.fullmatch(message):
            return f"{found[1]} is missing"
        if found := NEEDS.fullmatch(message):
            if found["number"] != "one":
                return f"{found['name']} needs {found['number']} values"
            return f"{found['name']} needs one value; write a value that begins with a dash as {found['name']}=VALUE"
        if found := VALUE.fullmatch(message):
            return f'{found["name"]}: "{found["found"]}" is not {KINDS[found["kind"]]}'
        if found := EXCLUDED.fullmatch(message):
            return f"{found['name']} and {found['other']} exclude each other; use only one"
        return message.removeprefix("argument ")

    def _unknown(self, words: str) -> str:
        word = words.split(maxsplit=1)[0]
        if word.startswith("-"):
            option = word.partition("=")[0]
            return f"unknown option {option}{meant(option, self._options())}"
        return (
            f'unexpected argument "{word}"; quote arguments that contain spaces, and join lists with commas but '
            "no spaces"
        )

    def _options(self) -> Iterable[str]:
        return (option for action in self._actions for option in action.option_strings if option.startswith("--"))


class Command(NamedTuple):
    """A command: the package in ``cli`` that contains its module, and a one-line description."""

    room: str
    summary: str


COMMANDS = {
    "demo": Command("operating", "run the whole system on a local Kafka with real data"),
    "kafka": Command("operating", "start, stop or show a local single-node Kafka broker without Docker"),
    "topics": Command("operating", "create and check the topics"),
    "worker": Command("operating", "run a worker, which reads events and writes releases and the ledger"),
    "policy": Command("records", "send policies to the events topic"),
    "landmarks": Command("records", "register landmarks late, and wait for the worker's answer"),
    "send": Command("records", "send events from a file to the events topic"),
    "watermark": Command(
        "records", ("close the steps of collected series, once or at an interval, or announce an intrusion")
    ),
    "top": Command("operating", "watch running workers and audits through their metrics"),
    "read": Command("records", "read events, releases, the ledger, rejected records or signed checkpoints"),
    "inspect": Command("records", "describe a file, and list what its mapping still needs"),
    "convert": Command("records", "print the events that a mapping makes from a file, without processing them"),
    "replay": Command("records", "process a file of events without Kafka"),
    "audit": Command("ledger", "check a ledger: its chain of hashes, its arithmetic and the guarantee"),
    "explain": Command("ledger", "explain the decision on a step, from the ledger"),
    "standing": Command(
        "ledger", ("report the budget of a series or a person from the ledger: guaranteed, used, remaining")
    ),
    "loss": Command("planning", "compute the temporal privacy loss of given matrices and budgets"),
    "correlate": Command("planning", "create transition matrices from data, or for a given strength"),
    "dummies": Command(
        "planning", ("show the dummy landmarks of a set of landmarks: the options, their probabilities, and one draw")
    ),
    "plan": Command("planning", "predict what a policy costs under each scheme, before you have data"),
    "verify": Command(
        "planning", "run the worker's own code on neighbouring histories, for a lower bound on the privacy loss"
    ),
    "recover": Command("operating", "rebuild lost state rows from the ledger and the releases"),
    "resend": Command("records", "resend a backup of the events, without the rejected events"),
    "left": Command("ledger", "print each series' remaining budget as records from which new workers start over"),
    "keys": Command("operating", "create, list and erase noise keys, and create and export signing keys"),
    "check": Command("operating", "check the configuration or a policy file"),
    "files": Command(
        "operating", ("print where this installation keeps its schemas, examples, dashboards, rules and docs")
    ),
    "completion": Command("operating", "print a shell script that completes commands and options"),
}


class UsageError(Exception):
    """Input that the user can correct: the message names the field and the remedy; exit code 2."""


@contextmanager
def mendable(*errors: type[Exception], by: str = "") -> Iterator[None]:
    """Turn the given errors, whose text names the remedy, into `UsageError`, and put ``by`` before that text."""
    try:
        yield
    except errors as error:
        raise UsageError(f"{by}{error}") from None


def printable(text: str) -> str:
    """Return a message with control characters other than line ends escaped, so it cannot affect terminals."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def module_of(command: str) -> ModuleType:
    """Import the module of a command."""
    return importlib.import_module(f"stream_app.cli.{COMMANDS[command].room}.{command}")


def parser_of(named: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands; arguments are added, and modules loaded, only for the named commands."""
    parser = Parser(prog="landmark-stream", description="Landmark-private time series over Kafka.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in named:
            module_of(name).add_arguments(command)
        command.epilog = "\n".join(filter(None, (command.epilog, exit_codes_of(name))))
    return parser


def _terminated(_number: int, _frame: object) -> None:
    """Exit on SIGTERM in the same way as on an error, so that no half-written files remain."""
    raise SystemExit(128 + signal.SIGTERM)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # Importing numpy would start a linear-algebra thread for each core, which is half of what the import costs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 (a setting of numpy's library, not ours)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot encode must not hide a verdict
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    parser = parser_of(words[:1])
    if any("\0" in word for word in words):
        parser.error("an argument contains a NUL character, which no path can contain; remove it")
    arguments = parser.parse_args(words)
    alone = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if alone and arguments.command in INTERRUPTED:
        signal.signal(signal.SIGTERM, _terminated)  # removes unfinished output, as Ctrl-C does
    try:
        code = int(module_of(arguments.command).run(arguments))
        sys.stdout.flush()
    except UsageError as error:
        print(f"landmark-stream {arguments.command}: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if told := INTERRUPTED.get(arguments.command):
            print(f"landmark-stream {arguments.command}: interrupted: {told}", file=sys.stderr)
        return 130
    except OSError as error:
        return _unprinted(arguments.command, error)
    return code


def _unprinted(command: str, error: OSError) -> int:
    """Return the exit code after output failed because its reader (such as `head`) closed it or the disk is full."""
    is_full = error.errno in {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
    if not is_full and not isinstance(error, BrokenPipeError):
        raise error
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushing at exit would fail
    if not is_full:
        return 0
    said = (error.strerror or "no room").lower()
    print(
        f"landmark-stream {command}: cannot write output: {said}; free up space, and run the same command again",
        file=sys.stderr,
    )
    return 2
