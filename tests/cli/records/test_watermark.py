"""``watermark``: what it sends, without a broker; tests/kafka covers real brokers."""

import argparse

import pytest

from stream_app.cli import UsageError
from stream_app.cli.records import watermark
from stream_app.formats import wire
from stream_app.formats.records import Intrusion, Watermark
from tests.command import Cli


def given(*words: str) -> argparse.Namespace:
    """Return parsed arguments."""
    parser = argparse.ArgumentParser()
    watermark.add_arguments(parser)
    return parser.parse_args(words)


def test_each_record_has_a_seed_of_its_own() -> None:
    """Seeds differ, whatever the series and the round."""
    arguments = given("ward-3", "ward-4")
    found = [wire.decode(watermark.record(series, 5, arguments)) for series in arguments.series * 50]
    seeds = {record.seed for record in found if isinstance(record, Watermark)}
    assert len(seeds) == len(found) == 100
    assert all(isinstance(record, Watermark) and record.timestamp_ms == 5 for record in found)


def test_an_intrusion() -> None:
    """A record without a time announces an intrusion."""
    found = wire.decode(watermark.record("ward-3", 5, given("ward-3", "--intrusion")))
    assert isinstance(found, Intrusion)
    assert found.series == "ward-3"


@pytest.mark.parametrize(("series", "timestamp_ms"), [("", 5), ("w" * 201, 5), ("ward-3", -1), ("ward-3", 10**15)])
def test_what_no_worker_takes_is_not_sent(series: str, timestamp_ms: int) -> None:
    """The remedy is named."""
    with pytest.raises(UsageError, match="1 to 200 bytes"):
        watermark.record(series, timestamp_ms, given("ward-3"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--every", "0"], "use a number of seconds above 0, up to 9223372036"),
        (["--every", "nan"], "use a number of seconds above 0, up to 9223372036"),
        (["--lag", "-1"], "use 0 to 253402300799 seconds"),
        (["--at", "noon"], "ISO 8601"),
        (["--at", "2026-01-31T08:00:00"], "without a UTC offset"),
        (["--at", "5", "--lag", "1"], "a time of 0"),
    ],
)
def test_unusable_options(words: list[str], told: str, cli: Cli) -> None:
    """The exit code is 2, with the remedy, before anything is sent."""
    assert told in cli("watermark", "ward-3", *words, code=2).err
