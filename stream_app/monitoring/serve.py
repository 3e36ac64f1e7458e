"""The HTTP endpoint: a page at /, /metrics, /healthz and /readyz, on loopback unless configured otherwise."""

import asyncio
import errno
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Self

from aiohttp import web

from stream_app.monitoring.loggable import REQUESTS
from stream_app.monitoring.metrics import Metrics
from stream_app.monitoring.periodic import run_periodically
from stream_app.monitoring.scrape import gathered
from stream_app.monitoring.statuspage.document import View
from stream_app.monitoring.statuspage.history import EVERY_SECONDS, History
from stream_app.monitoring.statuspage.style import POLICY

Condition = Callable[[], tuple[bool, str]]

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "landmark-stream",
}
"""Headers of every answer to a readable request, including errors.

A request that is not HTTP gets no such answer: aiohttp quotes the invalid bytes to the sender in a plain-text 400, and
closes the connection.
"""


class ListenError(Exception):
    """The server cannot listen on the address."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        self.host = host
        self.port = port
        self.in_use = error.errno == errno.EADDRINUSE
        found = (
            "is in use, perhaps by another worker or audit." if self.in_use else f"cannot be used ({error.strerror})"
        )
        super().__init__(f"{f'[{host}]' if ':' in host else host}:{port} {found}")


class Server:
    """A small HTTP server that answers GET and HEAD requests. It has no access to raw values (metrics.py).

    At each request it asks ``healthy`` and ``ready``, and it calls ``refresh`` before it reads ``metrics``.
    """

    def __init__(
        self,
        metrics: Metrics,
        healthy: Condition,
        ready: Condition,
        refresh: Callable[[], None],
        page: Callable[[View], str],
    ) -> None:
        self._metrics = metrics
        self._refresh = refresh
        self._page = page
        self._history = History()
        self._sampling: asyncio.Task[None] | None = None
        application = web.Application()
        application.on_response_prepare.append(_harden)
        application.router.add_get("/", self._show_page)
        application.router.add_get("/metrics", self._show_metrics)
        application.router.add_get("/healthz", _answer(healthy))
        application.router.add_get("/readyz", _answer(ready))
        self._runner = web.AppRunner(application, access_log=None, logger=REQUESTS)
        self.port = 0

    async def start(self, host: str, port: int) -> Self:
        """Listen; ``port`` 0 selects a free port, stored in ``self.port``; raise `ListenError` on failure."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ListenError(host, port, error) from None
        self.port = self._runner.addresses[0][1]
        self._sampling = asyncio.create_task(
            run_periodically("sampling the page's figures", self._sample, EVERY_SECONDS)
        )
        return self

    async def stop(self) -> None:
        """Stop listening."""
        if self._sampling is not None:
            self._sampling.cancel()
            with suppress(asyncio.CancelledError):
                await self._sampling
        await self._runner.cleanup()

    async def _sample(self) -> None:
        self._refresh()
        self._history.add(gathered(self._metrics.registry.collect(), time.monotonic()))

    async def _show_page(self, request: web.Request) -> web.Response:
        self._refresh()
        scrape = gathered(self._metrics.registry.collect(), time.monotonic())
        view = View(self._history.snapshot(scrape), self._history, request.query.get("refresh") != "off")
        return web.Response(text=self._page(view), content_type="text/html", charset="utf-8")

    async def _show_metrics(self, _: web.Request) -> web.Response:
        self._refresh()
        return web.Response(body=self._metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})


async def _harden(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _answer(condition: Condition) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_: web.Request) -> web.Response:
        holds, text = condition()
        return web.Response(text=f"{text}\n", status=200 if holds else 503)

    return handle
