"""Contributions counted without an object each: outputs, rows and counters match one by one, also recalled."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from stream_app.deciding import checks
from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.counting import Counting
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decision import recall
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from tests.collected import STEP, collected, contribution, intrusion, watermark
from tests.deciding.columns.test_same_bytes import Way
from tests.run import KEYS, default, observation
from tests.suite.speeds import scaled

NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}
ADDED: dict[str, object] = {"neighbours": "replace", "open_steps": 3, "statistic": "sum", "intrusion_nano": 10**9}
HIDDEN: dict[str, object] = {"neighbours": "replace", "open_steps": 2, "intrusion_nano": 10**9}
POLICIES: dict[str, list[dict[str, Any]]] = {
    "ward-3": [{}, {"collect": HIDDEN}, {"collect": {"neighbours": "add-remove", "open_steps": 1}}],
    "feeder": [{"value": NUMBER, "collect": ADDED}],
    "a-größe": [{}, {"value": {"kind": "choice", "items": ["walk", "ride"]}}],
}
ITEMS: list[object] = ["walk", "ride", "swim", 3, 99.75, -1, True, None, ["walk"], "contribution"]
MEMBERS: list[Any] = ["ada", "bob", "cy", "dee", "é" * 100, "é" * 101, "", 7]
ODD = [
    b'["contribution"]',
    b'{"type":"contribution"',
    b'{"type":"contribution","series":["ward-3"],"member":"ada","timestamp":1,"value":"walk"}',
    b'{"type":"contribution","series":"ward-3","member":"ada","value":"walk"}',
    b'{"type":"contribution","series":"ward-3","member":"ada","timestamp":1}',
    b'{"type":["contribution"],"series":"ward-3","member":"ada","timestamp":1,"value":"walk"}',
    b'{"type":"contribution","series":"' + b"x" * 201 + b'","member":"ada","timestamp":1,"value":"walk"}',
    b'{"type":"contribution","series":"ward-3","member":"ada","timestamp":1,"value":"' + b"x" * 2**18 + b'"}',
    b'{"type":"contributio\\u006e","series":"ward-3","member":"ada","timestamp":9,"value":"walk"}',
]


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any] | bytes | None]:
    """Return records of three collected series, mostly contributions, and of one series with observations."""
    versions = dict.fromkeys(POLICIES, 1)
    log: list[dict[str, Any] | bytes | None] = []
    now = draw(st.sampled_from([0, 0, LAST_TIMESTAMP_MS - 5 * STEP]))
    for series in POLICIES:
        log += [collected(series=series, **POLICIES[series][0]), watermark(now, series=series)]
    for _ in range(draw(st.integers(10, 80))):
        series = draw(st.sampled_from(list(POLICIES)))
        match draw(st.integers(0, 60)):
            case 20:
                log.append(draw(st.sampled_from([*ODD, None])))
            case 21 | 22 | 23:
                now += draw(st.sampled_from([0, STEP, STEP, 4 * STEP]))
                log.append(watermark(now, series=series))
            case 24:
                log.append(intrusion(series=series))
            case 25:
                versions[series] += 1
                chosen = draw(st.sampled_from(POLICIES[series]))
                log.append(collected(versions[series], series=series, **chosen))
            case 26:
                log.append({"type": "close", "series": series})
            case 27 | 28:
                log.append(observation("home", now, 3))
            case 29:
                time = draw(st.sampled_from([True, 1.0, -1, "1", LAST_TIMESTAMP_MS, LAST_TIMESTAMP_MS + 1]))
                log.append(contribution(now, "eve", "walk", series) | {"timestamp": time})
            case _:
                time = now + draw(st.integers(-3, 3 * STEP))
                member = draw(st.sampled_from(MEMBERS[:4] if draw(st.booleans()) else MEMBERS))
                item = draw(st.sampled_from(ITEMS[:4] if draw(st.booleans()) else ITEMS))
                log.append(contribution(time, member, item, series))
    return log


@given(
    log=logs(),
    cuts=st.lists(st.integers(1, 70), max_size=4),
    wrong=st.sets(st.integers(6, 80), max_size=9),
    separator=st.sampled_from([None, None, "-"]),
    routed=st.booleans(),
)
@settings(max_examples=scaled(150))
def test_contributions_count_as_they_do_one_by_one(
    log: list[Any], cuts: list[int], wrong: set[int], separator: str | None, *, routed: bool
) -> None:
    """Rejects with offsets, rows, decisions and every counter are the same for any batches, also when recalled."""
    limits = Limits(lifetime_nano=10**17, member_separator=separator, accept_weaker_policies=True)
    context = Context(KEYS, (default("home"),), limits, (lambda _: 0) if routed else None)
    records = []
    for offset, document in enumerate(log):
        value = document if isinstance(document, bytes | None) else json.dumps(document).encode()
        series = document["series"] if isinstance(document, dict) else "ward-3"
        key = b"wrong" if offset in wrong else context.key_of(series)
        records.append(InputRecord("events", 0, offset, offset, key, value))
    one, all_ = (Way(together=together, fewest=3, cached=100) for together in (False, True))
    for start, end in pairwise(sorted({0, len(records), *(min(cut, len(records)) for cut in cuts)})):
        assert one.decide(context, records[start:end]) == all_.decide(context, records[start:end])
        assert one.out == all_.out
        assert one.collection == all_.collection
        again, floor = Collection(bytes(32)), one.collection.floor()
        lost = records[end if floor is None else floor : end]
        counting = Counting(context, one.rows.get, again)
        for nth in counting.others([record.key for record in lost], wire.parsed_all([record.value for record in lost])):
            recall(context, one.rows.get, again, lost[nth])
        assert again == one.collection
    event(f"steps are open: {len(one.collection) > 0}")


def test_most_contributions_are_counted_without_being_decided() -> None:
    """The remaining records are other kinds, those of other steps, and a member's second contribution."""
    context = Context(KEYS, limits=Limits(lifetime_nano=10**17))
    sent = [collected(), watermark(0), contribution(1, "ada", "walk"), contribution(2, "bob", "ride")]
    sent += [contribution(3, "ada", "ride"), contribution(99, "cy", "ride"), contribution(4, "dee", "walk")]
    values = [json.dumps(one).encode() for one in sent]
    way = Way(together=True, fewest=3, cached=100)
    way.decide(context, [InputRecord("events", 0, nth, 0, None, value) for nth, value in enumerate(values[:2])])
    counting = Counting(context, way.reader.find, way.collection)
    assert list(counting.others([None] * 5, wire.parsed_all(values[2:]))) == [2, 3]
    (counters,) = [found for step, found in way.collection.counted("ward-3").items() if step == 0]
    assert list(counters.cells) == [2, 1]


def test_a_check_that_says_nothing_of_contributions_has_each_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new check's author states whether it may refuse contributions; until then, each one is decided."""
    context = Context(KEYS, limits=Limits(lifetime_nano=10**17))
    way = Way(together=True, fewest=3, cached=100)
    first, *sent = (json.dumps(one).encode() for one in (collected(), watermark(0), contribution(1, "ada", "walk")))
    way.decide(context, [InputRecord("events", 0, nth, 0, None, value) for nth, value in enumerate((first, sent[0]))])
    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, checks.Check("malformed", lambda *_: False)))
    counting = Counting(context, way.reader.find, way.collection)
    assert list(counting.others([None], wire.parsed_all(sent[1:]))) == [0]
    monkeypatch.undo()
    counting = Counting(context, way.reader.find, way.collection)
    assert list(counting.others([None], wire.parsed_all(sent[1:]))) == []


@pytest.mark.parametrize("text", ["contribution", {"type": "contribution"}])
def test_no_raw_text_chooses_how_others_are_read(text: object) -> None:
    """Records are read before deciding if steps are open, whatever their content, and otherwise never."""
    context = Context(KEYS, limits=Limits(lifetime_nano=10**17))
    closed, opened = (Way(together=True, fewest=3, cached=100) for _ in range(2))
    first = [json.dumps(one).encode() for one in (collected(), watermark(0))]
    opened.decide(context, [InputRecord("events", 0, nth, 0, None, value) for nth, value in enumerate(first)])
    for way in (closed, opened):
        others = [
            Counting(context, way.reader.find, way.collection).others([None], [observed])
            for observed in (observation("home", 1, "another"), observation("home", 1, text))
        ]
        assert [isinstance(one, range) for one in others] == [way is closed] * 2
        assert [list(one) for one in others] == [[0], [0]]


def test_what_is_refused_before_its_step_is_asked_is_left_over() -> None:
    """These are a wrong key, a time after the last possible one in its step, and a record that is too large."""
    context = Context(KEYS, limits=Limits(lifetime_nano=10**17), partition_of=lambda _: 0)
    last, key = LAST_TIMESTAMP_MS, b"ward-3"
    first = [collected(protection={"level": "event", "step": 7}), watermark(last)]
    plain = contribution(last, "ada", "walk")
    large = plain | {"member": "dee", "more": "x" * 2**18}
    sent = [plain, plain | {"member": "bob"}, plain | {"member": "cy", "timestamp": last + 1}, large]
    assert (last + 1) // 7 == last // 7
    way = Way(together=True, fewest=3, cached=100)
    way.decide(
        context, [InputRecord("events", 0, nth, 0, key, json.dumps(one).encode()) for nth, one in enumerate(first)]
    )
    counting = Counting(context, way.reader.find, way.collection)
    values = [json.dumps(one).encode() for one in sent]
    assert list(counting.others([key, b"ward-4", key, key], wire.parsed_all(values))) == [1, 2, 3]
    (counters,) = way.collection.counted("ward-3").values()
    assert list(counters.cells) == [1, 0]
