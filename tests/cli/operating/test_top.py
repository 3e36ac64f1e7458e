"""``top``: frames of real endpoints, on a real terminal and without one."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.monitoring.metrics import AUDIT_TABLE, AuditMetric, Metrics, WorkerMetric
from stream_app.monitoring.serve import Server
from tests.command import Cli
from tests.monitoring.test_snapshot import busy
from tests.terminal import CONTROL, terminal


@contextmanager
def serving(*measures: Metrics) -> Iterator[list[str]]:
    """Serve measures as a worker does, on free ports; yield the URLs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start(metrics: Metrics) -> Server:
        """Listen."""
        server = Server(metrics, lambda: (True, ""), lambda: (True, ""), lambda: None, lambda _: "")
        return await server.start("127.0.0.1", 0)

    servers = [asyncio.run_coroutine_threadsafe(start(metrics), loop).result() for metrics in measures]
    try:
        yield [f"http://127.0.0.1:{server.port}" for server in servers]
    finally:
        for server in servers:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def audit() -> Metrics:
    """Return the measures of an audit that has findings."""
    metrics = Metrics(AUDIT_TABLE)
    metrics.count(AuditMetric.FINDINGS, 2, "share")
    metrics.set(AuditMetric.ENTRIES, 1234)
    return metrics


def test_one_frame(cli: Cli) -> None:
    """Worker and audit appear with an endpoint that does not answer: figures as text, without control codes."""
    with serving(busy(), audit()) as urls:
        options = [word for url in (*urls, "http://127.0.0.1:9") for word in ("--url", url)]
        assert main(["top", "--once", "--interval", "0", *options]) == 0
    output = cli.said().out
    assert CONTROL not in output
    lines = {line.strip().rpartition("  ")[0].strip(): line.split()[-1] for line in output.splitlines() if line.strip()}
    assert lines["events"] == "100"
    assert lines["decided: perturbed"] == "80"
    assert lines["rejected: late"] == "5"
    assert lines["sum over all steps"] == "2.000000"
    assert " 0.7 of 1.0 " in output
    assert lines["partitions stopped: fenced"] == "1"
    assert lines["entries audited"] == "1,234"
    assert lines["found: share"] == "2"
    assert "http://127.0.0.1:9: does not answer: Connection refused" in output


def test_a_worker_outside_its_group(cli: Cli) -> None:
    """Its number of waiting records is unknown; nothing is said about workers of an older version."""
    inside, outside = busy(), busy()
    inside.set(WorkerMetric.IN_GROUP, 1)
    outside.set(WorkerMetric.IN_GROUP, 0)
    with serving(inside, outside) as urls:
        options = [word for url in urls for word in ("--url", url)]
        rows = [line.split() for line in cli("top", "--once", "--interval", "0", *options).out.splitlines()]
        assert main(["top", "--once", "--interval", "0", "--url", urls[0]]) == 0
    assert ["outside", "the", "consumer", "group", "0", "1", "1"] in rows
    assert ["not", "processed", "yet", "7", "unknown", "unknown"] in rows
    assert "outside" not in cli.said().out


def test_workers_are_summed(cli: Cli) -> None:
    """Several workers each have a column, and one column is for all."""
    with serving(busy(), busy()) as urls:
        assert main(["top", "--once", "--interval", "0", "--url", urls[0], "--url", urls[1]]) == 0
    rows = [line.split() for line in cli.said().out.splitlines()]
    assert ["events", "100", "100", "200"] in rows
    assert ["decided:", "perturbed", "80", "80", "160"] in rows


def test_the_document(cli: Cli) -> None:
    """The document has an instance for each URL, in the given order."""
    with serving(busy(), audit()) as urls:
        assert main(["top", "--json", "--interval", "0.05", "--url", urls[0], "--url", f"{urls[1]}/metrics"]) == 0
    first, second = cli.said().document["instances"]
    assert first["budget_left"] == {"counts": dict.fromkeys(first["budget_left"]["counts"], 0), "total": 0.0}
    assert (first["kind"], first["events"], first["events_per_second"]) == ("worker", 100, 0.0)
    assert (second["kind"], second["findings"]) == ("audit", {"share": 2})


def test_the_settings_say_where(tmp_path: Path, cli: Cli) -> None:
    """Without a URL, the worker's own settings are used; a worker that listens everywhere is asked on loopback."""
    with serving(busy()) as (url,):
        config = tmp_path / "settings.toml"
        config.write_text(f'http_host = "0.0.0.0"\nhttp_port = {url.rpartition(":")[2]}\n')
        assert cli("top", "--json", "--interval", "0", "--config", config).document["instances"][0]["url"] == url
        config.write_text("http_port = 0\n")
        assert main(["top", "--once", "--config", str(config)]) == 2
    assert "specify it with --url" in cli.said().err


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:9464", "http://", "http://a:b", "http://a:1/\x1b[2J"])
def test_urls_that_name_no_endpoint(url: str, cli: Cli) -> None:
    """Only HTTP is opened; the error shows the right form."""
    error = cli("top", "--once", "--url", url, code=2).err
    assert "is not an endpoint; use http://HOST:PORT" in error
    assert CONTROL not in error


def test_nothing_to_see(cli: Cli) -> None:
    """The exit code is 2, and each endpoint's reason is shown."""
    assert main(["top", "--once", "--interval", "0", "--url", "http://127.0.0.1:9"]) == 2
    assert "127.0.0.1:9: does not answer" in cli.said().err


def test_a_live_view_on_a_terminal() -> None:
    """It shows frame after frame on an alternate screen; Ctrl-C ends it cleanly and restores the terminal."""
    metrics = busy()
    with serving(metrics) as (url,):
        with terminal("top", "--interval", "0.1", "--url", url) as shown:
            shown.until("100")
            metrics.count(WorkerMetric.EVENTS, 23, "0")
            shown.until("123")
            shown.type("\x03")
            assert shown.end() == 0
        assert "\x1b[?1049h" in shown.text
        assert shown.text.rindex("\x1b[?1049l") > shown.text.rindex("123")
