"""Demonstrates what the guarantee says is not protected: a page that promised more would be wrong."""

import json
from hashlib import blake2b
from typing import Any

import pytest

from stream_app.audit.answers.asked import for_the_person
from stream_app.deciding.collection import Collection, Counters
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Decider, Headers, Outlets
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from stream_app.words.promise import Circumstances, in_words
from tests.audit.books.test_members import person
from tests.audit.ways import audit
from tests.collected import SERIES, STEP, collected
from tests.deploy import ROOT
from tests.readings import within
from tests.run import CATEGORY, KEYS, Run, observation, policy

HIDING = (
    "docs/guarantee.md",
    "docs/collected.md",
    "docs/policies.md",
    "docs/audit.md",
    "docs/how-to/publish-the-hour-of-a-meter.md",
    "docs/how-to/answer-a-person.md",
    "docs/how-to/read-releases.md",
    "docs/tutorials/ward.md",
    "docs/reference/records.md",
    "SECURITY.md",
)
"""Pages that promise that presence is hidden, or about which a reader may ask whether it is."""


def test_a_ledger_alone_tells_a_release_of_few_possible_values() -> None:
    """The hash is unsalted: of four categories, the measured one is the one whose release has that hash."""
    run = Run()
    run.feed_all([policy("p", value=CATEGORY), observation("p", 1000, "ill")])
    entry = json.loads(run.ledger[-1])
    published = json.loads(run.releases[0])
    found = []
    for category in ("none", "contact", "ill", True):
        # The scale is 1 in units of 1 / epsilon: all that stands in a release but the measurement stands in the ledger.
        guess = published | {"value": category, "measurement": category}
        if blake2b(json.dumps(guess, separators=(",", ":")).encode(), digest_size=32).hexdigest() == entry["release"]:
            found.append(category)
    assert found == [published["measurement"]]


@pytest.mark.parametrize(
    ("scheme", "landmarks", "shown"),
    [
        ({"name": "balanced"}, 3, True),
        ({"name": "skip", "accept_risk": True}, 3, True),
        ({"name": "uniform"}, 3, False),  # a quarter of epsilon each
        ({"name": "uniform"}, 2, True),  # a third each: the other step has what is rounded
    ],
)
def test_releases_alone_show_where_landmarks_are(scheme: dict[str, Any], landmarks: int, *, shown: bool) -> None:
    """A release states what was spent on it, so withholding the ledger does not hide the landmarks."""
    end = 3000 + landmarks * 1000
    protection = {"level": "landmark", "step": 1000, "landmarks": [[3000, end]]}
    events = [observation("p", 1000 * nth, 1.0) for nth in range(9)]
    run = Run().feed_all([policy("p", protection=protection, scheme=scheme), *events])
    spends: dict[bool, set[int]] = {True: set(), False: set()}
    for release in map(json.loads, run.releases):
        spends[3000 <= release["timestamp"] < end].add(release.get("epsilon_nano", 0))
    assert spends[True].isdisjoint(spends[False]) == shown


def test_a_series_gone_whole_is_not_seen_in_a_ledger_alone() -> None:
    """No chain has a gap then; the report of a ledger without heads says that it could not detect this."""
    report = audit([line for line in person() if b'"p/place"' not in line])
    assert report.holds
    assert any(
        "a ledger alone cannot show that the end of a series, or a whole series, is missing" in line
        for line in report.summary()
    )


def test_a_lifetime_bounds_no_sum_over_events() -> None:
    """At level event each of ten events spends the whole epsilon, which is the lifetime as well."""
    events = [observation("p", 1000 * nth, 1.0) for nth in range(1, 11)]
    run = Run().feed_all([policy("p", protection={"level": "event", "step": 1000}), *events])
    spent = [json.loads(entry).get("epsilon_nano", 0) for entry in run.ledger]
    assert sum(spent) == 10 * 10**9


def test_memory_shows_when_a_member_contributed() -> None:
    """Memory holds more than noisy counters: its digests reveal whether a member contributed before a look."""
    collect = {"neighbours": "replace", "open_steps": 1, "intrusion_nano": 500_000_000}
    counts = {"kind": "counts", "keys": ["walk", "ride"]}
    protection = {"level": "event", "step": 1000}
    run = Run(Context(KEYS)).feed_all(
        [
            policy("w", protection=protection, value=counts, collect=collect),
            {"type": "watermark", "series": "w", "timestamp": 0, "seed": "00" * 32},
        ]
    )

    def seen(collection: Collection, member: str) -> bool:
        (counters,) = collection.counted("w").values()
        assert isinstance(counters, Counters)
        return counters.hidden(member.encode()) in counters.members

    assert not seen(run.collection, "m-1")
    run.feed({"type": "contribution", "series": "w", "timestamp": 500, "member": "m-1", "value": "walk"})
    assert seen(run.collection, "m-1")
    assert not seen(run.collection, "m-2")


@pytest.mark.parametrize(
    ("rules", "opens", "reads"),
    [
        (within(open_steps=1, protection={"absent": 2.5}), {}, {"value": 2.5}),
        (
            collected(collect={"neighbours": "add-remove", "open_steps": 1}),
            {"seed": "5e" * 32},
            {"type": "contribution", "member": "ada", "value": "walk"},
        ),
    ],
    ids=["absent", "add-remove"],
)
def test_headers_show_what_the_bytes_of_outputs_hide(
    rules: dict[str, Any], opens: dict[str, Any], reads: dict[str, Any]
) -> None:
    """The `input` header shows whether a record came between two watermarks; each place that hides it says so."""

    def decided(*records: dict[str, Any]) -> list[tuple[int, bytes]]:
        rows: dict[str, SeriesRow] = {}
        found: list[tuple[int, bytes]] = []

        def put(_key: bytes | None, value: bytes, _timestamp_ms: int, headers: Headers) -> None:
            found.append((int(headers[0][1]), value))

        decider = Decider(Context(KEYS), rows.get, Outlets(_drop, put, _drop, None), Collection(bytes(32)))
        decider.decide(
            InputRecord("events", 0, offset, 0, None, json.dumps({"series": SERIES[0]} | record).encode())
            for offset, record in enumerate(records)
        )
        return found

    marks = [{"type": "watermark", "timestamp": step * STEP, **opens} for step in range(4)]
    with_one, without = decided(rules, *marks[:2], {"timestamp": STEP} | reads, *marks[2:]), decided(rules, *marks)
    assert [offset for offset, _ in without] == [2, 3, 4]
    assert [offset for offset, _ in with_one] == [2, 4, 5]
    if "absent" in rules["protection"]:
        assert [value for _, value in with_one] == [value for _, value in without], "the releases themselves hide it"
    for text in (in_words(rules, "p"), for_the_person(rules, "p", Circumstances(), 0, "Never.")):
        assert "for readers of Kafka's releases or ledger, whose `input` header counts records" in text
    for page in HIDING:
        assert "`input` header" in (ROOT / page).read_text(), page


def _drop(*_: object) -> None:
    """Let an output go."""
