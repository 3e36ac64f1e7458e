"""Scrapes a metrics endpoint over HTTP."""

import time
from http.client import HTTPException
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from stream_app.monitoring.scrape import Scrape, ScrapeError, scrape_of
from stream_app.monitoring.snapshot import Snapshot, Unreachable, snapshot_of

TIMEOUT_SECONDS: Final = 3.0
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of an answer; a worker's is under 100 KB."""


class EndpointError(ValueError):
    """A URL that names no endpoint; `url` is the one that was given."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url!r} names no endpoint; write http://HOST:PORT, or https")
        self.url = url


class Endpoint:
    """One endpoint, scraped again and again."""

    def __init__(self, url: str) -> None:
        """Take a URL, with or without the path /metrics; raises `EndpointError` for one that is none."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise EndpointError(url) from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not url.isprintable():
            raise EndpointError(url)
        self.url = url
        self._asked = url if parts.path not in {"", "/"} else f"{parts.scheme}://{parts.netloc}/metrics"
        # A proxy of the environment is for the world outside, and would be asked for 127.0.0.1 too.
        self._opener = build_opener(ProxyHandler({}))
        self._before: Scrape | None = None

    def snapshot(self) -> Snapshot:
        """Scrape, and return what the endpoint shows; rates are those since the last call."""
        try:
            with self._opener.open(self._asked, timeout=TIMEOUT_SECONDS) as answer:
                scrape = scrape_of(answer.read(MOST_BYTES).decode(), time.monotonic())
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            return Unreachable(self.url, f"does not answer: {getattr(reason, 'strerror', None) or reason}")
        except ScrapeError as error:
            return Unreachable(self.url, str(error))
        before, self._before = self._before, scrape
        return snapshot_of(self.url, before, scrape)
