"""``docs``: the docs of this version as web pages on this machine, or one of them as text."""

import argparse
import asyncio
from pathlib import Path

from stream_app.cli import UsageError
from stream_app.cli.operating.files import folder_of
from stream_app.cli.shared.arguments import port
from stream_app.manual import BASE, PORT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "page", nargs="?", help="print this page, as operating.md or as a message names it, and serve nothing"
    )
    parser.add_argument(
        "--http-host", default="127.0.0.1", metavar="HOST", help="where to listen (default %(default)s)"
    )
    parser.add_argument(
        "--http-port", type=port, default=PORT, metavar="PORT", help=f"(default {PORT}, which messages and alerts name)"
    )
    parser.epilog = "Messages and alerts name pages at this address. It needs no broker, no settings and no network."


def run(arguments: argparse.Namespace) -> int:
    """Print a page, or serve all of them until a signal; 0."""
    from stream_app.monitoring.docspages import DocsPages  # noqa: PLC0415 - for `completion`, which loads all parsers

    pages = DocsPages(folder_of("docs"))
    if arguments.page is not None:
        print(_text(pages.file_of(_path(arguments.page)), arguments.page), end="")
        return 0
    host, port = arguments.http_host, arguments.http_port
    try:
        asyncio.run(pages.serve(host, port, lambda address: print(f"docs at {address}", flush=True)))
    except OSError as error:
        raise UsageError(f"{host}:{port} cannot be listened on ({error.strerror}). Give another --http-port") from None
    return 0


def _path(page: str) -> str:
    bare = page.removeprefix(BASE).partition("#")[0]
    return f"docs/{bare.removeprefix('docs/')}"


def _text(file: Path | None, asked: str) -> str:
    if file is None or file.suffix != ".md":
        raise UsageError(f"{asked}: the docs have no such page. `docs README.md` lists them")
    return file.read_text(encoding="utf-8")
