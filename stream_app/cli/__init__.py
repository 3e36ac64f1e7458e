"""The command line: one file a command, chosen by name.

Each command module offers ``HELP`` (one line), ``add_arguments(parser)`` and ``run(arguments) -> int`` (the exit code:
see ``exits``). Modules are imported only when their command is named.
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Collection, Sequence

from stream_app import __version__
from stream_app.cli.exits import exit_codes_of

COMMANDS = {
    "demo": "run the whole system on a local Kafka with real data",
    "kafka": "start, stop or show a local single-node Kafka broker without Docker",
    "topics": "create and check the topics",
    "worker": "run a worker: events in, releases and ledger out",
    "policy": "send policies to the events topic",
    "send": "send events from a file to the events topic",
    "watermark": "end the steps of collected series, once or at an interval; announce an intrusion",
    "top": "watch running workers and audits, from their metrics",
    "read": "read events, releases, ledger, rejects or heads",
    "replay": "decide a file of events without Kafka",
    "audit": "check a ledger: chain, arithmetic, theorem",
    "explain": "why a step was decided as it was, from the ledger",
    "loss": "temporal privacy loss of given matrices and budgets",
    "correlate": "transition matrices from data, or of a given strength",
    "dummies": "dummy landmarks for a set of landmarks: options, their chances, one drawn",
    "plan": "what a policy will cost under each scheme, before any data",
    "verify": "run the real decisions on neighbours, to bound from below what a policy's releases tell",
    "recover": "rebuild lost state rows from ledger and releases",
    "resend": "send a backup of the events again, without those that were refused",
    "left": "what each series has left of its budget, as records to begin anew with",
    "keys": "make, list and erase noise keys, make and export signing keys",
    "check": "check the configuration or a policy file",
    "evaluate": "the source papers' experiments: error, temporal loss and time of schemes",
    "files": "where the schemas, examples, dashboards and rules of this installation are",
    "completion": "print a script that completes commands and options in a shell",
    "bench": "measure the worker against bare clients, as ratios of one run",
}


class UsageError(Exception):
    """Input that the user can mend: the message names the field and the remedy; exit code 2."""


def printable(text: str) -> str:
    """Return a message whose line ends are its only control characters: what it quotes cannot drive the terminal."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def parser_of(named: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of the named ones alone: only their modules are loaded."""
    parser = argparse.ArgumentParser(prog="landmark-stream", description="Landmark-private time series over Kafka.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in named:
            importlib.import_module(f"stream_app.cli.{name}").add_arguments(command)
        command.epilog = "\n".join(filter(None, (command.epilog, exit_codes_of(name))))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a verdict must not be lost to a name that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    parser = parser_of(words[:1])
    if any("\0" in word for word in words):
        parser.error("an argument holds a NUL character, which no path can; leave it away")
    arguments = parser.parse_args(words)
    module = importlib.import_module(f"stream_app.cli.{arguments.command}")
    try:
        return int(module.run(arguments))
    except UsageError as error:
        print(f"landmark-stream {arguments.command}: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has enough: nothing more can be printed, nor flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
