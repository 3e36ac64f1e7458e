"""Encode releases, chained ledger entries and rejected records as bytes, without side effects.

Bytes are canonical: the order of fields is fixed, so the same release or entry has the same hash on every machine.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, NamedTuple, assert_never

import orjson

from stream_app.privacy.amounts import most, some
from stream_app.privacy.fold import StepResult
from stream_app.privacy.kinds import Kind
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import (
    CloseEntry,
    ControlEntry,
    Decision,
    DummiesEntry,
    IntrusionEntry,
    LandmarksEntry,
    MemberEntry,
    PolicyEntry,
)
from stream_app.privacy.reason import Reason

HASH_BYTES = 32
_fresh: Final = blake2b(digest_size=HASH_BYTES).copy  # faster than a new hash
NO_HASH = "0" * (2 * HASH_BYTES)
"""The ``previous`` hash of the first entry in a chain."""


class SealedEntry(NamedTuple):
    """A ledger entry as bytes, with its position in the chain of its series.

    ``hash`` is in hex and becomes ``previous`` in the next entry. ``timestamp_ms`` is the record's timestamp.
    """

    sequence: int
    timestamp_ms: int
    value: bytes
    hash: str


def digest(value: bytes) -> str:
    """Return the BLAKE2b-256 hash of ``value`` in hex."""
    state = _fresh()
    state.update(value)
    return state.hexdigest()


Output = tuple[bytes, int, bytes, bytes]
"""The output of a step: the record key, the timestamp, the ledger entry and the release."""


class TextForm(NamedTuple):
    """How the contents of steps are converted to texts: for one step, or for columns of many steps."""

    whole: Callable[[Any], Any]
    """Returns an integer as JSON, or in a form that is formatted as JSON."""
    json: Callable[[Any], Any]
    unused: Any
    """The text of contents that neither the release nor the entry shows."""


def written(  # noqa: PLR0913, PLR0917 (what stands in an entry and a release)
    policy: str,
    fingerprint: str,
    links: dict[int, str],
    chain: int,
    key: bytes,
    start_ms: int,
    series: str,
    sequence: str | int,
    epoch: str | int,
    decision: Decision,
    timestamp: str | int,
    value: str,
    measurement: str,
    spend: str | int,
    scale: str,
    source: str | int,
    landmark: str,
    budget: str | int,
    spent: str | int,
    left: str | int,
    peak: str | int,
    statistic: str,
) -> Output:
    """Return the output of a step.

    ``fingerprint`` identifies the noise key. ``links`` maps each chain to the hash of its last entry, in hex, and is
    updated. ``policy`` is the JSON field of that name. ``statistic`` contains further fields for releases of collected
    data or of units, each preceded by a comma. The other arguments are JSON, with budgets in nano-epsilon; the last
    ones are those of `contents`. An argument that a decision does not use may have any value: ``value`` if withheld,
    ``source`` unless approximated, and ``measurement``, ``spend`` and ``scale`` unless perturbed.
    """
    paid = ""
    if decision == "perturbed":
        paid = f'"epsilon_nano":{spend},'
        release = (
            f'{{"series":{series},"timestamp":{timestamp},"value":{value},"decision":"perturbed",'
            f'"measurement":{measurement},{paid}"scale":{scale},{policy}{statistic}}}'
        ).encode()
    elif decision == "approximated":
        release = (
            f'{{"series":{series},"timestamp":{timestamp},"value":{value},"decision":"approximated",'
            f'"source":{source},{policy}{statistic}}}'
        ).encode()
    else:
        release = f'{{"series":{series},"timestamp":{timestamp},"decision":"withheld",{policy}{statistic}}}'.encode()
    entry, links[chain] = sealed(
        f'{{"series":{series},"sequence":{sequence},"entry":"release","timestamp":{timestamp},"decision":"{decision}",'
        f'"landmark":{landmark},{policy},"budget_nano":{budget},{paid}"landmark_spent_nano":{spent},'
        f'"landmarks_left":{left},"regular_peak_nano":{peak},"release":"{digest(release)}"',
        fingerprint,
        epoch,
        links[chain],
    )
    return key, start_ms, entry, release


def contents(kind: Kind, step: StepResult, form: TextForm) -> tuple[Any, ...]:
    """Return the texts of what a step decided: the arguments of `written` after ``decision``.

    ``step`` is the result of one step, or holds columns of the results of many; in columns, a text that all of them
    share may be an endless iterator.
    """
    guard, latest, spend_nano = step.state.guard, step.state.latest, step.spend_nano
    value = measurement = scale = statistic = form.unused
    if some(step.state.released):
        value = form.json(kind.publish(latest.estimate))
    if kind.statistic is not None:
        statistic = f',"statistic":"{kind.statistic}"'
    if some(spend_nano > 0):
        spend_nano, count = most(spend_nano, 1), kind.count(latest.measurement)  # columns include steps that cost 0
        measurement, scale = form.json(kind.measured(latest.measurement)), form.json(kind.stated(spend_nano, count))
        if count is not None:
            statistic += f',"count":{json_of(count)}'
    return (
        form.whole(step.state.clock.decided_ms),
        value,
        measurement,
        form.whole(spend_nano),
        scale,
        form.whole(latest.source_ms),
        form.json(step.landmark),
        form.whole(guard.budget_nano),
        form.whole(guard.landmark_spent_nano),
        form.whole(step.landmarks_left),
        form.whole(guard.regular_peak_nano),
        statistic,
    )


def written_one(  # noqa: PLR0913, PLR0917 (what they are made from)
    series: str,
    key: bytes,
    policy: Policy,
    step: StepResult,
    decision: Decision,
    sequence: int,
    epoch: int,
    fingerprint: str,
    link: str,
) -> tuple[Output, str]:
    """Return the output of a single step of a series, and the hash of its entry.

    ``decision`` is that of ``step``, ``link`` is the previous hash, and ``fingerprint`` identifies the noise key.
    """
    links, start_ms, version = {0: link}, step.state.clock.decided_ms, f'"policy":{policy.version}'
    found = contents(policy.kind, step, _ONE)
    output = written(version, fingerprint, links, 0, key, start_ms, json_of(series), sequence, epoch, decision, *found)
    return output, links[0]


def json_of(found: object) -> str:
    """Return a value as JSON."""
    return orjson.dumps(found).decode()


_ONE: Final = TextForm(whole=lambda number: number, json=json_of, unused="")


def control_entry(series: str, sequence: int, entry: ControlEntry) -> str:
    """Return the text of an entry that is not a release, in the form that `sealed` expects."""
    record: dict[str, object] = {"series": series, "sequence": sequence}
    match entry:
        case PolicyEntry():
            record["entry"] = "policy"
            record["policy"] = entry.version
            record["budget_nano"] = entry.budget_nano
            record["charged_nano"] = entry.charged_nano
            if entry.lifetime_nano is not None:
                record["lifetime_nano"] = entry.lifetime_nano
            record |= {"view": True} if entry.view else {}
            if entry.weaker:
                record["weaker"] = True
            record["parameters"] = entry.parameters
        case DummiesEntry():
            record["entry"] = "dummies"
            record["policy"] = entry.version
            record["method"] = entry.method
            record["charged_nano"] = entry.charged_nano
        case LandmarksEntry():
            record["entry"] = "landmarks"
            record["policy"] = entry.version
            record["add"] = entry.add_ms
            record["charged_nano"] = entry.charged_nano
            record["budget_nano"] = entry.figures.budget_nano
            record["landmark_spent_nano"] = entry.figures.landmark_spent_nano
            record["landmarks_left"] = entry.figures.landmarks_left
            record["regular_peak_nano"] = entry.figures.regular_peak_nano
        case IntrusionEntry():
            record["entry"] = "intrusion"
            record["policy"] = entry.version
            record["intrusion_nano"] = entry.intrusion_nano
            record["exposed"] = entry.exposed_ms
        case CloseEntry():
            record["entry"] = "close"
            record["policy"] = entry.version
        case MemberEntry():
            record["entry"] = "member"
            record["cap_nano"] = entry.cap_nano
        case _:
            assert_never(entry)
    return orjson.dumps(record)[:-1].decode()


def sealed(text: str, fingerprint: str, epoch: int | str, previous: str) -> tuple[bytes, str]:
    """Return an entry that is linked to the previous one and ends in its own hash, together with that hash.

    ``fingerprint`` identifies the noise key.
    """
    state = _fresh()  # avoids one call of `digest` per event
    state.update(body := f'{text},"key":"{fingerprint}","epoch":{epoch},"previous":"{previous}"'.encode())
    found = state.hexdigest()
    return body + f',"hash":"{found}"}}'.encode(), found


def encode_reject(
    series: str | None, timestamp_ms: int | None, reason: Reason, topic: str, partition: int, offset: int
) -> bytes:
    """Return the bytes for a rejected record: its identity and the reason, never a value or payload."""
    return orjson.dumps(
        {
            "series": series,
            "timestamp": timestamp_ms,
            "reason": reason,
            "topic": topic,
            "partition": partition,
            "offset": offset,
        }
    )
