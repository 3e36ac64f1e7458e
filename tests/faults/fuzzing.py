"""Records that nobody should send: bytes, broken and deep JSON, huge numbers, wrong types, keys and places."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from tests.faults.topics import Sent, partition_of
from tests.faults.workload import START_MS, STEP_MS

SERIES = tuple(f"{family}-{nth}" for family in ("meter", "cell", "bus", "phone", "stray") for nth in range(8))
HUGE_BYTES = 5_000_000
HUGE_EVERY = 1_000

_NUMBERS = (
    b"1e999",
    b"-1e999",
    b"9" * 400,
    b"1e-400",
    b"-0.0",
    b"0." + b"3" * 300,
    b"NaN",
    b"Infinity",
    b"18446744073709551616",
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    "",
    "NaN",
    [],
    {},
    [1],
    {"walk": 1},
    {"walk": 1, "ride": 2, "fly": 3},
    {"walk": -1, "ride": 2**63 - 1},
    {"walk": 1.5, "ride": 0},
    {"latitude": 91, "longitude": 500},
    {"latitude": "0", "longitude": 0},
    {"latitude": 1e308, "longitude": -1e308},
    -(2**63),
    2**64 - 1,
    1.7976931348623157e308,
    5e-324,
    "home",
    "x" * 1_000,
)
_MEMBERS: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    2**63 - 1,
    10**18,
    "",
    "\0",
    "text",
    "é" * 150,
    [],
    [[]],
    {},
    {"a": []},
)
_TYPES: tuple[Any, ...] = (
    "observation",
    "policy",
    "landmarks",
    "close",
    "contribution",
    "watermark",
    "intrusion",
    "",
    None,
    7,
    [],
)


class Fuzz:
    """Fuzzed records, the same for the same seed."""

    def __init__(self, seed: int, partitions: int) -> None:
        """Take the number of partitions, to miss the right one on purpose."""
        self._draw = np.random.default_rng(seed)
        self._partitions = partitions
        self._step = 0
        self._makers = (
            self._bytes,
            self._truncated,
            self._flipped,
            self._deep,
            self._number,
            self._typed,
            self._value,
            self._control,
            self._text,
            self._empty,
            self._plain,
            self._plain,
        )

    def records(self, count: int) -> Iterator[Sent]:
        """Yield records; one in `HUGE_EVERY` is of five megabytes."""
        for number in range(count):
            series = str(self._one(SERIES))
            value = self._huge(series, number) if number % HUGE_EVERY == HUGE_EVERY // 2 else self._any(series)
            yield self._placed(series, value)

    def _any(self, series: str) -> bytes | None:
        self._step += 1
        made: bytes | None = self._one(self._makers)(series)
        return made

    def _placed(self, series: str, value: bytes | None) -> Sent:
        """Return the record, now and then with another key, none, or in another place; with headers of any kind."""
        key: bytes | None = series.encode()
        chance = float(self._draw.random())
        partition = partition_of(key, self._partitions)
        if chance < 0.03:
            key = None if value is not None else b""  # aiokafka sends no record that is nothing at all
        elif chance < 0.06:
            key = self._draw.bytes(int(self._draw.integers(0, 40)))
        elif chance < 0.09:
            partition = int(self._draw.integers(self._partitions))
        headers = (("input", b"999999999"), ("", self._draw.bytes(8))) if chance > 0.95 else ()
        return Sent(key, value, partition, headers)

    def _event(self, series: str, /, **other: Any) -> dict[str, Any]:
        return {
            "type": "observation",
            "series": series,
            "timestamp": START_MS + self._step * STEP_MS,
            "value": 1,
        } | other

    def _plain(self, series: str) -> bytes:
        kinds = {"cell": {"walk": 3, "ride": 1}, "bus": {"latitude": -10.9, "longitude": -37.1}, "phone": "home"}
        return orjson.dumps(self._event(series, value=kinds.get(series.split("-", maxsplit=1)[0], 42.42)))

    def _bytes(self, _: str) -> bytes:
        return self._draw.bytes(int(self._draw.integers(1, 300)))

    def _truncated(self, series: str) -> bytes:
        whole = self._plain(series)
        return whole[: int(self._draw.integers(1, len(whole)))]

    def _flipped(self, series: str) -> bytes:
        whole = bytearray(self._plain(series))
        for place in self._draw.integers(len(whole), size=int(self._draw.integers(1, 4))):
            whole[place] = int(self._draw.integers(256))
        return bytes(whole)

    def _deep(self, series: str) -> bytes:
        depth = int(self._one((10, 250, 260, 1_000, 1_030, 3_000)))
        if self._draw.random() < 0.01:
            depth = 100_000
        opening, closing = self._one(((b"[", b"]"), (b'{"a":', b"}")))
        closed = closing * (depth if self._draw.random() < 0.7 else 0)
        return b'{"series":"%b","timestamp":%d,"value":%b1%b}' % (series.encode(), START_MS, opening * depth, closed)

    def _number(self, series: str) -> bytes:
        number, timestamp = bytes(self._one(_NUMBERS)), b"%d" % (START_MS + self._step * STEP_MS)
        chance = self._draw.random()
        if chance < 0.25:
            return b'{"series":"%b","timestamp":%b,"value":1}' % (series.encode(), number)
        if chance < 0.5:
            return b'{"series":"%b","timestamp":%b,"value":{"walk":%b,"ride":1}}' % (series.encode(), timestamp, number)
        return b'{"series":"%b","timestamp":%b,"value":%b}' % (series.encode(), timestamp, number)

    def _typed(self, series: str) -> bytes:
        member = str(self._one(("type", "series", "timestamp", "value", "unknown")))
        return orjson.dumps(self._event(series, **{member: self._one(_MEMBERS)}))

    def _value(self, series: str) -> bytes:
        return orjson.dumps(self._event(series, value=self._one(_VALUES)))

    def _control(self, series: str) -> bytes:
        """Return control records that are wrong; a right one would end a series for all that come after it."""
        member = str(self._one(("add", "version", "epsilon", "protection", "scheme", "value", "filter", "step")))
        record = {"type": self._one(_TYPES), "version": 10**6, "timestamp": 1}
        if record["type"] == "close":
            series = "stray-0"
        return orjson.dumps({**record, "series": series, member: self._one((*_MEMBERS, *_VALUES))})

    def _text(self, series: str) -> bytes:
        whole = self._plain(series)
        return bytes(
            self._one(
                (
                    b"\xef\xbb\xbf" + whole,
                    whole.replace(b"meter", b"m\xc3\x28er"),
                    whole.replace(b'"series":"', b'"series":"\\ud800'),
                    whole.replace(b'"series":"', b'"series":"\\u0000'),
                    whole.replace(b'"value":', b'"value":"\\udc00",\n"value":'),
                    whole + whole,
                    b" \n\t" + whole + b"\r\n",
                    whole.decode().encode("utf-16"),
                )
            )
        )

    def _empty(self, _: str) -> bytes | None:
        found: bytes | None = self._one((None, b"", b" ", b"null", b"[]", b"{}", b'""', b"0", b"\0"))
        return found

    def _huge(self, series: str, number: int) -> bytes:
        if number % (2 * HUGE_EVERY) < HUGE_EVERY:
            return self._draw.bytes(HUGE_BYTES)
        return orjson.dumps(self._event(series, note="x" * HUGE_BYTES))

    def _one(self, choices: tuple[Any, ...]) -> Any:
        return choices[int(self._draw.integers(len(choices)))]
