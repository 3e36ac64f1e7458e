"""Bytes to records and back: decoding answers anything, encoding is canonical, entries form a hash chain."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.formats import wire
from stream_app.formats.records import CloseRecord, LandmarksRecord, MalformedRecord, Observation, PolicyRecord

LAST = 253_402_300_799_999


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"type":"close","series":"a","x":[]}', CloseRecord("a")),
        (b'{"type":"landmarks","series":"a","add":[5,[6,9]]}', LandmarksRecord("a", (5, (6, 9)))),
        (b'{"type":"policy","series":"a","version":1,"b":2}', PolicyRecord("a", 1, {"b": 2})),
    ],
)
def test_control_records(value: bytes, expected: object) -> None:
    """Each record type is read; unknown members are ignored except in policies."""
    assert wire.decode(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"series":"a","timestamp":5,"value":1}', ("a", 5, 1)),
        (b' {"value":null,"series":"a","timestamp":5} ', ("a", 5, None)),
        (b'{"type":"observation","series":"a","timestamp":%d,"value":{},"x":1}' % LAST, ("a", LAST, {})),
    ],
)
def test_observations(value: bytes, expected: tuple[str, int, object]) -> None:
    """An observation is read, unknown members are ignored, and its printed form shows no value."""
    found = wire.decode(value)
    assert isinstance(found, Observation)
    assert (found.series, found.timestamp_ms, found.value) == expected
    assert repr(found) == f"Observation('a', {expected[1]})"


MALFORMED: list[tuple[bytes | None, tuple[str | None, int | None]]] = [
    (None, (None, None)),
    (b"", (None, None)),
    (b"{", (None, None)),
    (b"[]", (None, None)),
    (b"1", (None, None)),
    (b'"a"', (None, None)),
    (b"null", (None, None)),
    (b"{}", (None, None)),
    (b'{"series":1,"timestamp":5,"value":1}', (None, 5)),
    (b'{"series":"","timestamp":5,"value":1}', (None, 5)),
    (b'{"series":"a","timestamp":5}', ("a", 5)),
    (b'{"series":"a","value":5}', ("a", None)),
    (b'{"series":"a","timestamp":-1,"value":5}', ("a", None)),
    (b'{"series":"a","timestamp":%d,"value":5}' % (LAST + 1), ("a", None)),
    (b'{"series":"a","timestamp":5.0,"value":5}', ("a", None)),
    (b'{"series":"a","timestamp":true,"value":5}', ("a", None)),
    (b'{"series":"a","timestamp":"5","value":5}', ("a", None)),
    (b'{"series":"a","timestamp":5,"value":1,"type":"odd"}', ("a", 5)),
    (b'{"series":"a","timestamp":5,"value":1,"type":null}', ("a", 5)),
    (b'{"series":"a","timestamp":5,"value":1,"type":["policy"]}', ("a", 5)),
    (b'{"series":"a","timestamp":5,"value":1}x', (None, None)),
    (b'{"series":"a","timestamp":5,"value":NaN}', (None, None)),
    (b'{"series":"a","timestamp":5,"value":1e999}', (None, None)),
    (b'{"series":"\\ud800","timestamp":5,"value":1}', (None, None)),
    (b'{"series":"a\xff","timestamp":5,"value":1}', (None, None)),
    (b'{"type":"policy","series":"a"}', ("a", None)),
    (b'{"type":"policy","series":"a","version":0}', ("a", None)),
    (b'{"type":"policy","series":"a","version":1.0}', ("a", None)),
    (b'{"type":"policy","series":"a","version":true}', ("a", None)),
    (b'{"type":"policy","series":"a","version":9007199254740992}', ("a", None)),
    *(
        (b'{"type":"landmarks","series":"a","add":%b}' % add, ("a", None))
        for add in (b"[]", b"5", b"[true]", b"[1.5]", b"[-1]", b"[[1]]", b"[[2,2]]", b"[[3,2]]", b"[[1,2,3]]", b'["5"]')
    ),
    (b'{"type":"landmarks","series":"a","add":[%d]}' % (LAST + 1), ("a", None)),
    (b'{"type":"landmarks","series":"a","add":[5,null]}', ("a", None)),
]


@pytest.mark.parametrize(("value", "named"), MALFORMED)
def test_malformed_records(value: bytes | None, named: tuple[str | None, int | None]) -> None:
    """Anything that is not a record is malformed; series and timestamp are named if they could be read."""
    assert wire.decode(value) == MalformedRecord("malformed", *named)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"series":"%b","timestamp":5,"value":1}' % (b"a" * 200), None),
        (b'{"series":"%b","timestamp":5,"value":1}' % (b"a" * 201), "too-large"),
        (b'{"series":"%b","timestamp":5,"value":1}' % ("ü" * 100).encode(), None),
        (b'{"series":"%b","timestamp":5,"value":1}' % ("ü" * 101).encode(), "too-large"),
        (b'{"series":"a","timestamp":5,"value":1}'.ljust(256 * 1024), None),
        (b'{"series":"a","timestamp":5,"value":1}'.ljust(256 * 1024 + 1), "too-large"),
        (b"[" * 5_000_000, "too-large"),
    ],
)
def test_sizes(value: bytes, reason: str | None) -> None:
    """A record may hold 256 KiB and a series id 200 bytes of UTF-8, but not one byte more."""
    found = wire.decode(value)
    assert (found.reason if isinstance(found, MalformedRecord) else None) == reason


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(value: bytes) -> None:
    """Random bytes always get an answer and never raise an error."""
    wire.decode(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["type", "series", "timestamp", "value", "version", "add", "epsilon"])
LIKELY = JSON | st.sampled_from(["policy", "landmarks", "close", "observation", "a", 5, [5], [[5, 6]]])


@given(st.dictionaries(NAMES, LIKELY, max_size=6))
def test_any_object_is_answered(record: dict[str, Any]) -> None:
    """Objects of the right members with any values are records or malformed, and never raise an error."""
    wire.decode(json.dumps(record).encode())


def test_a_value_is_not_shown() -> None:
    """The repr of a decoded observation, as in a traceback, holds no raw value."""
    assert "98765" not in repr(wire.decode(b'{"series":"a","timestamp":5,"value":98765}'))


def test_documents_are_read_and_written() -> None:
    """Plain documents survive conversion to bytes and back; bytes that are not a document raise an error."""
    document = {"a": [1, 2.5, "ü", None, True]}
    assert wire.load(wire.dump(document)) == document
    with pytest.raises(ValueError, match="expected"):
        wire.load(b"{")
