"""``kafka start|stop|status``: run a local single-node Kafka broker without Docker."""

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console

from stream_app.cli import UsageError, mendable
from stream_app.cli.shared.arguments import port, writable
from stream_app.localbroker import LocalBrokerError
from stream_app.localbroker.broker import LocalBroker
from stream_app.localbroker.machine import HOST
from stream_app.setup.settings import InvalidSettingsError, Settings

DEFAULT_FOLDER = Path(".landmark-stream") / "kafka"
DEFAULT_PORT = 9092  # Kafka's default port, also that of the other commands


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("action", choices=("start", "stop", "status"), help="what to do with the broker")
    parser.add_argument(
        "--folder", type=Path, default=DEFAULT_FOLDER, help=("folder for its data and log (default: %(default)s)")
    )
    port_help = f"port on 127.0.0.1 (default: the last port used, or {DEFAULT_PORT}; 0: any free port)"
    parser.add_argument("--port", type=port, help=port_help)
    parser.add_argument(
        "--jars", type=Path, help="folder with Kafka's jars (default: a cache in your home directory, filled once)"
    )
    set_help = "a broker setting; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=set_help)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Perform the action; return 0 if the broker is in the requested state.

    ``status`` returns 0 if the broker answers, and 1 otherwise.
    """
    folder: Path = arguments.folder
    with mendable(LocalBrokerError), writable(f"--folder {folder}", "folder"):
        broker = LocalBroker.find(folder)
        stopped = arguments.action == "stop" and broker is not None
        if arguments.action == "start" and broker is None:
            broker = _start(arguments)
        elif arguments.action == "stop" and broker is not None:
            broker.stop()
            broker = None
    answers = broker is not None and broker.answers()
    if stopped and not arguments.json:
        print(f"stopped: the broker of {folder} has ended; its data are kept for the next `kafka start`")
    else:
        _show(folder, broker, answers=answers, as_json=arguments.json)
    return 1 if arguments.action == "status" and not answers else 0


def _start(arguments: argparse.Namespace) -> LocalBroker:
    overrides = dict(_setting(words) for words in arguments.set)
    console = Console(stderr=True)
    with console.status("starting") if console.is_terminal else nullcontext() as status:
        return LocalBroker.start(
            arguments.folder,
            arguments.port,
            preferred=DEFAULT_PORT,
            overrides=overrides,
            jars=arguments.jars,
            progress=_tell if status is None else status.update,
        )


def _tell(line: str) -> None:
    if not line.startswith("fetched "):
        print(line, file=sys.stderr, flush=True)


def _setting(words: str) -> tuple[str, str]:
    name, equals, value = words.partition("=")
    if not equals or not name:
        raise UsageError(f"--set {words}: expected NAME=VALUE, for example --set log.retention.hours=1")
    return name, value


def _show(folder: Path, broker: LocalBroker | None, *, answers: bool, as_json: bool) -> None:
    if as_json:
        facts = {
            "running": broker is not None,
            "answers": answers,
            "bootstrap_servers": None if broker is None else broker.bootstrap_servers,
            "pid": None if broker is None else broker.pid,
            "version": None if broker is None else broker.state.version,
            "folder": str(folder.absolute()),
        }
        print(json.dumps(facts))
    elif broker is None:
        print(f"no broker is running in {folder}")
    else:
        word = "answers" if answers else "does not answer"
        print(f"Apache Kafka {broker.state.version} {word} at {broker.bootstrap_servers} (process {broker.pid})")
        if answers and not _is_configured(broker.state.port):
            print("other commands use another address; to connect them to this broker:", file=sys.stderr)
            print(f"export LANDMARK_STREAM_BOOTSTRAP_SERVERS={broker.bootstrap_servers}", file=sys.stderr)


def _is_configured(port: int) -> bool:
    """Return whether the settings in force name this machine's port; return True if the settings are invalid."""
    try:
        servers = Settings.load(None).bootstrap_servers.split(",")
    except InvalidSettingsError:
        return True
    return any(server.strip() in {f"{HOST}:{port}", f"localhost:{port}"} for server in servers)
