"""``--wait``: `policy` and `watermark` print a worker's answer to each record and the rule that refused it."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli.shared.answers import outcome_told, told
from stream_app.formats import wire
from stream_app.kafka.client.sending import Place
from stream_app.kafka.outcome import Outcome, WorkersAnswer
from stream_app.localbroker.broker import LocalBroker
from stream_app.privacy.reason import REASONS
from tests.command import Cli, saved
from tests.kafka.installation import START_MS, Installation
from tests.kafka.wards import contribution, ward_policy, watermark
from tests.run import ACCEPTING, policy


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test."""
    return Installation(broker, tmp_path, request.node.name.replace("test_", "").replace("_", "-"))


def sent(installation: Installation, cli: Cli, *records: Any, seconds: int = 60, code: int) -> dict[str, Any]:
    """Send records and wait up to ``seconds``; return what became of them."""
    file = saved(installation.folder / "own.jsonl", *records)
    assert installation.command("send", *ACCEPTING, file, "--wait", str(seconds)) == code
    found: dict[str, Any] = cli.said().document
    return found


def test_policies_and_watermarks_are_answered(installation: Installation, cli: Cli) -> None:
    """On a real broker, the code is 0 if accepted, 1 with the rule if refused, and 3 if no worker answers."""
    file = saved(installation.folder / "own.jsonl", policy("lone-1"))

    def asked(*words: str, code: int) -> Any:
        assert installation.command(*words) == code
        said = cli.said()
        assert not said.err, said.err
        return said.document

    answer = asked("policy", file, "--wait", "1", code=3)
    assert (answer["entry"], answer["reject"]) == (None, None)
    with installation.worker() as worker:
        worker.await_committed(1)
        saved(installation.folder / "own.jsonl", policy("lone-1", 2))
        answer = asked("policy", file, "--wait", "60", code=0)
        assert (answer["entry"]["policy"], answer["reject"]) == (2, None)
        assert asked("policy", file, "--wait", "60", code=1)["reject"]["reason"] == "invalid-policy"
        refused = asked("watermark", "lone-1", "--at", "5", "--wait", "60", code=1)["reject"]
        assert refused["reason"] == "wrong-type"
        assert cli("watermark", "lone-1", "--at", "6", "--config", installation.config()).out == (
            "1 sent; a worker rejects such a record for a series whose steps take neither contributions nor several "
            "readings; --wait SECONDS shows this\n"
        )


def test_a_file_of_events_is_answered(installation: Installation, cli: Cli) -> None:
    """Decisions and rejects of policies, events and contributions are counted; 3 means no worker, 1 a refusal."""
    hour = 3_600_000
    reading: dict[str, object] = {"series": "lone-1", "timestamp": START_MS, "value": 1.0}
    found = sent(installation, cli, policy("lone-1"), reading, seconds=1, code=3)
    assert (found["sent"], found["answered"], found["decisions"]) == (2, 0, {})
    with installation.worker() as worker:
        worker.await_committed(2)
        later = [{**reading, "timestamp": START_MS + nth * hour} for nth in (1, 2)]
        found = sent(installation, cli, *later, code=0)
        assert (found["sent"], found["answered"], found["rejects"], found["kept"]) == (2, 2, {}, 0)
        assert sum(found["decisions"].values()) == 2
        found = sent(installation, cli, *later, policy("lone-2"), {**reading, "series": "elsewhere"}, code=1)
        assert (found["sent"], found["answered"], found["decisions"], found["kept"]) == (4, 4, {"policy": 1}, 0)
        assert found["rejects"] == {"late": 1, "duplicate": 1, "no-policy": 1}


def test_who_sends_need_not_know_how_many_partitions_there_are(broker: LocalBroker, tmp_path: Path, cli: Cli) -> None:
    """What became of records is looked for in all partitions of the topics, whatever `partitions` says there."""
    installation = Installation(broker, tmp_path, "who-sends", partitions=4)
    file = saved(tmp_path / "own.jsonl", *(policy(f"lone-{nth}") for nth in range(12)))
    config = Path(installation.config())
    settings = config.read_text()
    with installation.worker() as worker:
        for said, count in ((1, 12), (9, 24)):
            config.write_text(settings.replace("partitions = 4", f"partitions = {said}"))
            words = [*ACCEPTING, file, "--wait", "60", "--json", "--config", str(config)]
            found = cli("send", *words, code=0 if said == 1 else 1).document
            worker.await_committed(count)
            assert (found["answered"], found["kept"]) == (12, 0)
            assert (found["decisions"] or found["rejects"]) == {"policy" if said == 1 else "invalid-policy": 12}


def test_an_outcome_is_told_with_its_remedies() -> None:
    """The text has entries by decision, rejects by reason with the rule, and waiting and unanswered records."""
    found = Outcome(9, 7, Counter(perturbed=3), Counter({"duplicate": 2}), 2)
    answered, kept, refused, away = outcome_told(found, 5)
    assert answered == "7 of 9 records answered; ledger entries: 3 perturbed"
    assert kept.startswith("2 of them share a ledger entry")
    assert refused.startswith(f"2 rejected (duplicate): {REASONS['duplicate'].meaning}; what to do: ")
    waits = "contributions, readings and the watermark before them wait for the end of their step"
    assert away.startswith(f"no answer to 2 records within 5 s: {waits};")


def test_a_watermark_that_nothing_waits_for_says_so() -> None:
    """The message replaces the general meaning of `wrong-type`."""
    record = wire.dump({"type": "watermark", "series": "home-7", "timestamp": 5, "seed": "0" * 64})
    assert told(WorkersAnswer(Place(0, 1), reject={"reason": "wrong-type"}), 1, record) == (
        "refused (wrong-type): the series has one observation per step, so no step waits for a watermark; "
        "watermarks are for policies with `collect` or `protection.within`"
    )


def test_contributions_are_answered(installation: Installation, cli: Cli) -> None:
    """A contribution that waits for its step's end is reported so at once; the ending watermark has an entry."""
    ward = "ward-1"
    with installation.worker():
        found = sent(installation, cli, ward_policy(ward), watermark(ward, 0, "1" * 64), code=0)
        assert (found["sent"], found["answered"], found["decisions"], found["kept"]) == (2, 2, {"policy": 1}, 1)
        items = [contribution(ward, 0, member, "walk") for member in ("anna", "bea", "anna")]
        found = sent(installation, cli, *items, code=1)
        assert (found["answered"], found["kept"], found["rejects"], found["decisions"]) == (3, 2, {"duplicate": 1}, {})
        found = sent(installation, cli, watermark(ward, 1, "2" * 64), code=0)
        assert (found["answered"], found["kept"], found["rejects"]) == (1, 0, {})
        assert sum(found["decisions"].values()) == 1
