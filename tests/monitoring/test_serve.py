"""The HTTP endpoint of a real worker: its page agrees with its metrics and reveals nobody in its data."""

import asyncio
import logging
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from http import HTTPStatus

import pytest

from stream_app.localbroker.broker import LocalBroker
from stream_app.monitoring.loggable import REQUESTS
from stream_app.monitoring.metrics import Metrics
from stream_app.monitoring.scrape import scrape_of
from stream_app.monitoring.serve import Server
from stream_app.monitoring.statuspage.document import View
from tests.kafka.installation import Installation, readings
from tests.kafka.workerprocess import WorkerProcess
from tests.monitoring.statuspage.read import Page

RAW = 7.319
"""A value that no figure of the run has; the tests search for its digits."""


@pytest.fixture(scope="module")
def worker(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[WorkerProcess]:
    """A worker that decided some readings and rejected some."""
    installation = Installation(broker, tmp_path_factory.mktemp("serve"), f"serve-{worker_id}")
    events = [dict(event, value=RAW) for event in readings(300)]
    refused = [{"series": "nobody-31", "timestamp": 5, "value": RAW}, {"series": "home-1", "timestamp": 1}]
    total = installation.send([*events, *refused])
    with installation.worker() as running:
        running.await_committed(total)
        yield running


def test_the_page_says_what_the_metrics_say(worker: WorkerProcess) -> None:
    """Each figure of the page equals the sum in /metrics."""
    scrape = scrape_of(worker.ask("/metrics")[1], 0.0)
    page = Page(worker.ask("/")[1])
    assert page.data["events"] == scrape.total("landmark_events_total") == 302
    assert page.data["spent-nano"] == scrape.total("landmark_spend_nano_epsilon_total") > 0
    spent = {name: nano for name, nano in page.data.items() if name.startswith("spent-") and name != "spent-nano"}
    by = scrape.sums("landmark_spend_nano_epsilon_total", "policy", "scheme")
    assert spent == {f"spent-{policy}-{scheme}": nano for (policy, scheme), nano in by.items()}
    assert page.data["lag-records"] == scrape.total("landmark_event_lag_records")
    assert page.data["lag-seconds"] in {scrape.largest("landmark_event_lag_seconds"), 0}, "0 once nothing has waited"
    assert page.data["rejects"] == scrape.total("landmark_rejects_total") == 2
    assert page.data["state-bytes"] == scrape.total("landmark_state_bytes")
    rejected = {name.removeprefix("rejected-"): met for name, met in page.data.items() if name.startswith("rejected-")}
    assert rejected == scrape.by("landmark_rejects_total", "reason") == {"malformed": 1, "no-policy": 1}
    decided = {tuple(name.split("-")[1:]): met for name, met in page.data.items() if name.startswith("decided-")}
    assert decided == scrape.sums("landmark_decisions_total", "decision", "scheme")
    assert sum(decided.values()) == 300
    assert "Serves 2 partitions" in page.text


def test_nobody_is_on_the_page(worker: WorkerProcess) -> None:
    """No series and no value of the run appears in any answer."""
    for path in ("/", "/metrics", "/healthz", "/readyz", "/home-1", "/?series=home-1"):
        text = worker.ask(path)[1]
        assert not re.search(r"home-\d|nobody|(?<![\d.])7\.?319(?!\d)", text), path


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/readyz", "/nothing"])
def test_every_answer_is_closed(worker: WorkerProcess, path: str) -> None:
    """Nothing is loaded from anywhere, framed, cached or sniffed, and only GET and HEAD are answered."""
    answer, text = worker.ask(path)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert "script" not in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Server"] == "landmark-stream"
    assert answer.status == (HTTPStatus.NOT_FOUND if path == "/nothing" else HTTPStatus.OK)
    head, body = worker.ask(path, "HEAD")
    assert (head.status, body) == (answer.status, "")
    assert text
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert worker.ask(path, method)[0].status in {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_FOUND}


def test_the_style_is_the_one_that_is_allowed(worker: WorkerProcess) -> None:
    """The hash in the policy is that of the style on the page, as a browser computes it."""
    answer, text = worker.ask("/")
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "sent",
    [
        b'{"series":"home-7","value":7.319}\r\n\r\n',
        b'GET / HTTP/1.1\r\nHost: a\r\n{"series":"home-7","value":7.319}\r\n\r\n',
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 7.319\r\n\r\n",
        b"GET /?series=home-7&value=7.319 HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
async def test_no_byte_of_a_request_is_logged(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """For a producer on the wrong port, a bad header or a failing page, only the kind of fault is logged."""

    def fail(_: View) -> str:
        """Fail as a page that cannot be made from the request."""
        raise ValueError(sent)

    caplog.set_level(logging.DEBUG)
    server = Server(Metrics(), lambda: (True, ""), lambda: (True, ""), lambda: None, fail)
    await server.start("127.0.0.1", 0)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
    finally:
        await server.stop()
    failed = b" 500 " in answer
    assert failed or b" 400 " in answer
    assert not failed or b"nosniff" in answer
    told = [record.getMessage() for record in caplog.records if record.name == REQUESTS.name]
    assert [each.partition(" from")[0] for each in told] == ["Error handling request"]
    assert ("ValueError at test_serve.py" if failed else "Bad") in told[0]
    assert not re.search(r"home-7|7\.319", caplog.text)
