"""``explain``: its text, its JSON, its exit codes, from files and from topics."""

import asyncio
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.audit.test_topic import producing, send, topics
from tests.audit.written import LEDGERS, Written, write
from tests.command import Cli

TEXT = """\
home-7 at 1970-01-01T00:00:04.000+00:00 (4000): perturbed, spent epsilon 0.000000016
entry 5, under policy 1 (entry 1): uniform, level landmark, steps of 1000 ms

Before the step, in nano-epsilon
  E  100  budget
  S   14  spent on landmarks
  M   16  largest cost of another step
  R    5  landmarks from this step on, including unused spare landmarks

The share according to uniform
  a = min((E - S) // (R + 1), (E - S - M) // R)
    = min((100 - 14) // (5 + 1), (100 - 14 - 16) // 5) = 14  for a landmark
  g = E - S - R*a
    = 100 - 14 - 5*14 = 16  for another step

The decision
  The step is not a landmark: uniform proposes 16; the guard allows 86.
  Uniform publishes whenever there is a share.
  16 nano-epsilon was spent on noise of scale 6.25e+08.

After the step, in nano-epsilon
  14 spent on landmarks, at most 16 on another step: 70 of 100 left
  landmarks left: 5, with 70 reserved for them; the next landmark would get 14, another step 16
"""


def save(folder: Path, written: Written) -> list[str]:
    """Write ledger and releases; return the options that name them."""
    (folder / "ledger.jsonl").write_bytes(b"".join(line + b"\n" for line in written.lines()))
    (folder / "releases.jsonl").write_bytes(b"".join(line + b"\n" for line in written.release_lines()))
    return ["--ledger", f"{folder}/ledger.jsonl", "--releases", f"{folder}/releases.jsonl"]


def test_the_text(tmp_path: Path, cli: Cli) -> None:
    """Every figure was checked by hand; a time within the step and its ISO form name the same step."""
    options = save(tmp_path, write(LEDGERS["uniform"]))
    for moment in ("4000", "4999", "1970-01-01T01:00:04.5+01:00"):
        assert cli("explain", "home-7", moment, *options).out == TEXT


def test_the_document(tmp_path: Path, cli: Cli) -> None:
    """For Adaptive, the rate is derived from the releases and is null without them."""
    options = save(tmp_path, write(LEDGERS["adaptive"]))
    for given, rate in ((options, 500_000_000), (options[:2], None)):
        found = cli("explain", "home-7", "2000", "--json", *given).document
        assert (found["decision"], found["coin"], found["rate_nano"]) == ("approximated", True, rate)
        assert found["before"] == {
            "budget_nano": 100,
            "landmark_spent_nano": 0,
            "regular_peak_nano": 34,
            "landmarks_left": 2,
            "left_nano": 66,
        }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("home-8", "4000"), "home-8 at 4000: the series is not in the ledger"),
        (("home-7", "7000"), "the step was not processed and cost nothing"),
        (("home-7", "noon"), "'noon' is not a time; use integer ms, or ISO 8601 with offset"),
        (("home-7", "2026-01-31T08:00:00"), "a timestamp without a UTC offset"),
    ],
)
def test_unusable_questions(tmp_path: Path, cli: Cli, words: tuple[str, str], sentence: str) -> None:
    """An unusable question gives exit code 2 and no standard output."""
    output = cli("explain", *words, *save(tmp_path, write(LEDGERS["uniform"])), code=2)
    assert output.out == ""
    assert sentence in output.err


def test_findings_and_files(tmp_path: Path, cli: Cli) -> None:
    """The exit code is 1 if the ledger does not hold up to the step, and 2 if it cannot be read."""
    written = write(LEDGERS["uniform"])
    written.entries[2]["landmarks_left"] = 7
    assert main(["explain", "home-7", "4000", *save(tmp_path, written)]) == 1
    assert "THE LEDGER HAS FAULTS up to here" in cli.said().out
    assert main(["explain", "home-7", "4000", "--ledger", f"{tmp_path}/nothing"]) == 2
    assert "specify a readable file" in cli.said().err


async def test_from_topics(broker: LocalBroker, tmp_path: Path, cli: Cli) -> None:
    """Both topics come from a real broker; the releases are read if a coin was tossed."""
    names = await topics(broker, "explained")
    async with producing(broker, "explained") as producer, producer.transaction():
        await send(producer, names, write(LEDGERS["adaptive"]), 1)
    config = tmp_path / "settings.toml"
    config.write_text(f'bootstrap_servers = "{broker.bootstrap_servers}"\nprefix = "explained"\npartitions = 2\n')
    assert await asyncio.to_thread(main, ["explain", "home-7", "2000", "--json", "--config", str(config)]) == 0
    assert cli.said().document["rate_nano"] == 500_000_000
