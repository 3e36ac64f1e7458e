"""``docs``: serve the docs of this version as web pages on this machine, or print a page as text."""

import argparse
import asyncio
import re
import signal
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from aiohttp import web
from markdown_it import MarkdownIt

from stream_app import __version__
from stream_app.cli import UsageError
from stream_app.cli.operating.files import folder_of
from stream_app.cli.shared.arguments import port
from stream_app.manual import BASE, PORT
from stream_app.monitoring.loggable import REQUESTS

FIRST: Final = "docs/README.md"
_KINDS: Final[Mapping[str, str]] = {
    ".md": "text/html",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_STYLE: Final = """
:root { color-scheme: light dark; --ground: #fff; --text: #17212b; --muted: #55626f; --line: #d9e0e6; --code: #f1f4f7;
  --accent: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --ground: #10161c; --text: #e6ebf0; --muted: #9dabb8; --line: #2c3843;
  --code: #182129; --accent: #74b0f4; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem 1.25rem 3rem; background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
nav { color: var(--muted); font-size: .875rem; border-bottom: 1px solid var(--line); padding-bottom: .6rem; }
h1 { font-size: clamp(1.2rem, 6vw, 1.7rem); }
h2 { font-size: 1.3rem; margin-top: 2rem; } h3 { font-size: 1.1rem; margin-top: 1.6rem; }
:target { scroll-margin-top: 1rem; outline: 2px solid var(--accent); outline-offset: .3rem; }
a { color: var(--accent); text-underline-offset: .15em; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; background: var(--code);
  padding: .1em .25em; border-radius: .25rem; }
pre { background: var(--code); padding: .8rem 1rem; border-radius: .4rem; overflow-x: auto; line-height: 1.4; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .925rem; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top;
  min-width: 5.5rem; }
img { max-width: 100%; height: auto; }
"""
_DIGEST: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Server": "landmark-stream",
}
"""Headers of every answer: they allow only this style sheet and the docs' own pictures."""


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading in the spelling of Markdown renderers."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def page_of(markdown: str, name: str) -> str:
    """Return a page as HTML, with an anchor at each heading."""
    renderer = MarkdownIt("commonmark").enable("table")
    tokens = renderer.parse(markdown)
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", anchor_of(content.content))
    return _whole(name, renderer.renderer.render(tokens, renderer.options, {}))


class DocsPages:
    """Serves files below one folder and nothing outside it; the content is the same for everybody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    async def serve(self, host: str, port: int, told: Callable[[str], None]) -> None:
        """Answer GET and HEAD of ``/docs/...`` until SIGTERM or SIGINT; pass the address to ``told``.

        Raises `OSError`.
        """
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        served = web.Application()
        served.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(served, access_log=None, logger=REQUESTS)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
            told(f"http://{host}:{runner.addresses[0][1]}/{FIRST}")
            await stop.wait()
        finally:
            await runner.cleanup()

    def file_of(self, path: str) -> Path | None:
        """Return the file of an address such as ``docs/operating.md``, or None if the docs do not contain it."""
        try:
            found = (self._folder / path.removeprefix("docs/")).resolve()
            inside = path.startswith("docs/") and found.is_relative_to(self._folder)
            return found if inside and found.suffix in _KINDS and found.is_file() else None
        except (ValueError, OSError):  # not a possible file name
            return None

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if path in {"", "docs", "docs/"}:
            return web.Response(status=302, headers={**HEADERS, "Location": f"/{FIRST}"})
        file = self.file_of(path)
        if file is None:
            text = "<p>The installed docs have no such page. Files outside of <code>docs/</code> are in the sources."
            return web.Response(
                text=_whole("not here", text), status=404, content_type="text/html", charset="utf-8", headers=HEADERS
            )
        if file.suffix == ".md":
            text = page_of(file.read_text(encoding="utf-8"), path)
            return web.Response(text=text, content_type="text/html", charset="utf-8", headers=HEADERS)
        return web.Response(body=file.read_bytes(), content_type=_KINDS[file.suffix], headers=HEADERS)


def _whole(name: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(name)} · Landmark Stream</title><style>{_STYLE}</style></head>"
        f'<body><nav><a href="/{FIRST}">Landmark Stream {__version__}</a> · {escape(name)}</nav>{body}</body></html>\n'
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    page_help = "print this page, such as operating.md or an address from a message, and serve nothing"
    parser.add_argument("page", nargs="?", help=page_help)
    http_host_help = "address to listen on (default: %(default)s)"
    parser.add_argument("--http-host", default="127.0.0.1", metavar="HOST", help=http_host_help)
    http_port_help = f"port to listen on (default: {PORT}, which messages and alerts link to)"
    parser.add_argument("--http-port", type=port, default=PORT, metavar="PORT", help=http_port_help)
    parser.epilog = (
        "Messages and alerts link to pages at this address. The server needs no broker, configuration or network."
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a page, or serve all pages until a signal; return 0."""
    pages = DocsPages(folder_of("docs"))
    if arguments.page is not None:
        print(_text(pages, arguments.page), end="")
        return 0
    host, port = arguments.http_host, arguments.http_port
    try:
        asyncio.run(pages.serve(host, port, lambda address: print(f"docs at {address}", flush=True)))
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port} ({error.strerror}). Use another --http-port") from None
    return 0


def _text(pages: DocsPages, asked: str) -> str:
    file = pages.file_of(f"docs/{asked.removeprefix(BASE).partition('#')[0].removeprefix('docs/')}")
    if file is None or file.suffix != ".md":
        raise UsageError(f"{asked}: the docs have no such page. `docs README.md` lists the pages")
    return file.read_text(encoding="utf-8")
