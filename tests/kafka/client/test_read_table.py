"""``read releases --format``: the topics as a table, and the library's `read_releases` without a source."""

import asyncio
import csv
import io
import json
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiokafka import AIOKafkaProducer
from scipy.stats import dlaplace

import landmark_stream as ls
from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import HOUR_MS, START_MS, Installation

POLICIES = (
    ls.Policy.landmark(
        series="home-*",
        epsilon=2,
        landmarks=[START_MS + HOUR_MS],
        value=ls.Number(0, 10, 0.001),
        step=HOUR_MS,
    ),
    ls.Policy.event(series="cell-*", epsilon=1, value=ls.Counts(("walk", "ride")), step=HOUR_MS),
    ls.Policy.event(series="bus-*", epsilon=1, value=ls.Category((True, False)), step=HOUR_MS),
    ls.Policy.event(
        series="ward-*",
        epsilon=1,
        value=ls.Number(0, 10, 0.5),
        step=HOUR_MS,
        collect=ls.Collect("replace", 1, statistic="sum", intrusion_nano=500_000_000),
        scheme=ls.Uniform(),
    ),
)
VALUES: dict[str, object] = {"home-7": 2.5, "cell-1": {"walk": 3, "ride": 0}, "bus-3": True}


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> ls.Released:
    """Return releases of three kinds, and of counters that were observed."""
    rows: list[dict[str, Any]] = [
        {"series": series, "timestamp": START_MS + hour * HOUR_MS, "value": value}
        for hour in range(3)
        for series, value in VALUES.items()
    ]
    closing = {"type": "watermark", "timestamp": START_MS + HOUR_MS}
    seen: list[dict[str, Any]] = [{"type": "watermark", "timestamp": START_MS}, {"type": "intrusion"}, closing]
    rows += [row | {"series": "ward-1"} for row in seen]
    return ls.release(rows, POLICIES, out=tmp_path_factory.mktemp("decided"))


@pytest.fixture(scope="module")
def installation(
    broker: LocalBroker, decided: ls.Released, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Installation:
    """Return an installation whose topics hold these releases and their ledger."""
    found = Installation(broker, tmp_path_factory.mktemp("table"), f"table-{worker_id}")

    async def send() -> None:
        """Send both files."""
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for topic, name in ((found.names.ledger, "ledger"), (found.names.releases, "releases")):
                for line in (decided.folder / f"{name}.jsonl").read_bytes().splitlines():
                    await producer.send_and_wait(topic, line, key=json.loads(line)["series"].encode())

    asyncio.run(send())
    return found


def table(installation: Installation, capfdbinary: pytest.CaptureFixture[bytes], form: str) -> bytes:
    """Return what is printed."""
    capfdbinary.readouterr()
    assert main(["read", "releases", "--format", form, "--config", installation.config()]) == 0
    return capfdbinary.readouterr().out


def test_csv(installation: Installation, decided: ls.Released, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Each release is a line with the columns of all kinds: flags, intervals, empty cells if not applicable."""
    found = list(csv.DictReader(io.StringIO(table(installation, capfdbinary, "csv").decode())))
    homes = [row for row in found if row["series"] == "home-7"]
    assert [row["landmark"] for row in homes] == ["false", "true", "false"]
    assert homes[0]["timestamp"] == "2012-06-01T07:00:00Z"
    exact = {(row["series"], row["timestamp"].isoformat().replace("+00:00", "Z")): row for row in decided.releases}
    (ward,) = (row for row in found if row["series"] == "ward-1")
    noise = dlaplace(1 / 20).var() + 2 * dlaplace(0.5 / 20).var()  # closing, start, and once more after the look
    assert float(ward["standard_error"]) == pytest.approx(0.5 * sqrt(noise))
    for row in found:
        of = exact[row["series"], row["timestamp"]]
        assert {name for name, cell in row.items() if cell} == set(of)
        assert all(float(row[name]) == of[name] for name in ("low", "high", "low_walk", "scale") if name in of)
    assert {row["value_category"] for row in found if row["series"] == "bus-3"} <= {"true", "false"}


def test_parquet(installation: Installation, decided: ls.Released, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Columns have types of their own, and times have a zone."""
    found = pq.read_table(io.BytesIO(table(installation, capfdbinary, "parquet")))
    assert str(found.schema.field("timestamp").type) == "timestamp[us, tz=UTC]"
    assert str(found.schema.field("landmark").type) == "bool"
    assert by_place(found.to_pylist()) == by_place(decided.releases.rows())


def by_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows in order, without missing values."""
    full = [{name: cell for name, cell in row.items() if cell is not None} for row in rows]
    return sorted(full, key=lambda row: (row["series"], row["timestamp"]))


def test_the_library_reads_the_topics(installation: Installation, decided: ls.Released) -> None:
    """It finds what is in the folder, even within an event loop such as a notebook's."""

    async def within() -> ls.Releases:
        """Read while a loop runs."""
        return ls.read_releases(config=installation.config())

    found = asyncio.run(within())
    assert by_place(found.rows()) == by_place(decided.releases.rows())
    assert len(ls.read_releases(config=installation.config(), series="bus-3")) == 3


def test_no_table(
    installation: Installation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other topics and a topic without end give no table, and a missing package is reported in a sentence."""
    wrong = (
        (["ledger", "--format", "csv"], "only releases"),
        (["releases", "--format", "csv", "--follow"], "--follow"),
    )
    for words, told in wrong:
        assert main(["read", *words, "--config", installation.config()]) == 2
        assert told in capsys.readouterr().err
    monkeypatch.setattr("stream_app.cli.records.read.find_spec", lambda _: None)
    assert main(["read", "releases", "--format", "parquet", "--config", installation.config()]) == 2
    assert (
        "needs the package pyarrow, which is not installed; run pip install pyarrow, or use csv"
        in capsys.readouterr().err
    )


def test_an_empty_file_is_a_table(tmp_path: Path) -> None:
    """If nothing was released, the reader has made no error."""
    (tmp_path / "releases.jsonl").write_text("")
    assert len(ls.read_releases(tmp_path / "releases.jsonl")) == 0
