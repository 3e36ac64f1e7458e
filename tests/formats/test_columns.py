"""Reading and writing many records in bulk, compared with `wire` and `encoding` for single records."""

import json
from math import isnan
from typing import Any

import numpy as np
import orjson
from hypothesis import given
from hypothesis import strategies as st

from stream_app.formats import wire
from stream_app.formats.columns import lists, observations, texts
from stream_app.formats.records import InputRecord, Observation, Records
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.values import is_number
from tests.formats.test_wire import JSON

DOUBLES = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e16, 1e-7, -0.0, 5e-324, 2.0**53, 1e22])
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SERIES = st.sampled_from(["a", "b", 'a"\\é\u2028', "ü" * 100, "", 5, None])
TIMES = st.sampled_from([0, 5, LAST_TIMESTAMP_MS, LAST_TIMESTAMP_MS + 1, -1, 5.0, True, 2**64, None])
RECORDS = st.one_of(
    st.fixed_dictionaries(
        {"series": SERIES, "timestamp": TIMES, "value": JSON},
        optional={"type": st.sampled_from(["observation", "close", "member", None, []]), "more": JSON},
    ).map(lambda record: json.dumps(record).encode()),
    st.sampled_from([None, b"", b"[]", b'{"series":"a"}', b'{"series":"b","timestamp":5}', b'{"series":"a"}{}']),
    st.just(b'{"series":"b","timestamp":5,"value":1}'.ljust(256 * 1024 + 1)),
    st.just(b'{"value":2,"timestamp":1,"series":"b","series":"a","value":1}'),
)


@given(st.lists(DOUBLES, min_size=1), st.lists(INTEGERS, min_size=1))
def test_numbers_are_written_as_single_ones_are(doubles: list[float], integers: list[int]) -> None:
    """Doubles have their shortest decimal, and whole numbers are right too; alone and beside each other."""
    assert texts(np.array(doubles)) == [orjson.dumps(one).decode() for one in doubles]
    assert texts(np.array(integers, np.int64)) == [orjson.dumps(one).decode() for one in integers]
    assert texts(np.array([*doubles, 0.0, -0.0])[-2:]) == ["0.0", "-0.0"]
    assert texts(np.array(3 * integers[:1], np.int64)) == 3 * [str(integers[0])]
    truths = [one > 0 for one in integers]
    assert texts(np.array(truths)) == [orjson.dumps(one).decode() for one in truths]
    for column in (np.array(doubles), np.array(integers, np.int64)):
        assert lists(np.stack([column, column[::-1]], 1)) == [
            orjson.dumps(pair)[1:-1].decode() for pair in zip(column.tolist(), column[::-1].tolist(), strict=True)
        ]


@given(st.lists(st.tuples(RECORDS, st.sampled_from([b"a", b"b", None, 'a"\\é\u2028'.encode()])), max_size=12))
def test_observations_are_those_of_single_records(given: list[tuple[bytes | None, bytes | None]]) -> None:
    """Each is what `wire` reads, under its series' key; any other record that names a series sets it apart."""
    records = Records.of(InputRecord("e", 0, nth, 0, key, value) for nth, (value, key) in enumerate(given))
    found = observations(records, str.encode)
    seen: dict[int, tuple[str, int, Any]] = {}
    others: set[str] = set()
    for nth, (value, key) in enumerate(given):
        one = wire.decode(value)
        if isinstance(one, Observation) and key == one.series.encode():
            seen[nth] = one.series, one.timestamp_ms, one.value
        elif (series := getattr(one, "series", None)) is not None:
            others.add(series)
    assert others <= found.apart
    taken = dict(zip(found.at, zip(found.series, found.times_ms, found.numbers, strict=True), strict=True))
    assert {nth for nth, (series, _, _) in taken.items() if series} == set(seen)
    for nth, (series, time_ms, raw) in seen.items():
        assert taken[nth][:2] == (series, time_ms)
        assert taken[nth][2] == raw if is_number(raw) else isnan(taken[nth][2])


def test_no_value_is_shown() -> None:
    """The repr of observations, as in a traceback, holds no raw value."""
    value = b'{"series":"a","timestamp":5,"value":98765}'
    found = observations(Records.of([InputRecord("e", 0, 0, 0, None, value)]), None)
    assert found.numbers == [98765]
    assert "98765" not in repr(found)
