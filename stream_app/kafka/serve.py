"""Metrics and health over HTTP: /metrics, /healthz and /readyz, on loopback unless configured otherwise."""

from collections.abc import Awaitable, Callable
from typing import Self

from aiohttp import web

from stream_app.kafka.metrics import Metrics

Condition = Callable[[], tuple[bool, str]]


class Server:
    """A small HTTP server; what it says holds no series and no value."""

    def __init__(self, metrics: Metrics, healthy: Condition, ready: Condition, refresh: Callable[[], None]) -> None:
        """Ask ``healthy`` and ``ready`` at each request; call ``refresh`` before the measures are shown."""
        self._metrics = metrics
        self._refresh = refresh
        application = web.Application()
        application.router.add_get("/metrics", self._show_metrics)
        application.router.add_get("/healthz", _answer(healthy))
        application.router.add_get("/readyz", _answer(ready))
        self._runner = web.AppRunner(application, access_log=None)
        self.port = 0

    async def start(self, host: str, port: int) -> Self:
        """Listen; ``port`` 0 takes a free one, which ``self.port`` tells."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        """Close."""
        await self._runner.cleanup()

    async def _show_metrics(self, _: web.Request) -> web.Response:
        self._refresh()
        return web.Response(body=self._metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})


def _answer(condition: Condition) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_: web.Request) -> web.Response:
        holds, text = condition()
        return web.Response(text=f"{text}\n", status=200 if holds else 503)

    return handle
