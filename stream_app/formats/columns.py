"""Many records at once: observations from bytes, and steps to bytes, the same as `wire` and `encoding` one by one."""

from collections.abc import Callable
from hashlib import blake2b
from math import nan
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from stream_app.formats.encoding import HASH_BYTES
from stream_app.formats.records import Records
from stream_app.formats.wire import LARGEST_RECORD_BYTES
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS

Column = npt.NDArray[np.float64] | npt.NDArray[np.int64]
_HEX = 2 * HASH_BYTES


class Observations(NamedTuple):
    """The observations among some records, a column a member, in their order."""

    at: list[int]
    """Their numbers among the records."""
    series: list[str]
    times_ms: list[int]
    numbers: list[float]
    """Raw values; NaN for what is no number."""
    apart: set[str]
    """Series that other records name, too."""

    def __repr__(self) -> str:
        # PRIVACY: what prints it, a traceback too, shows no value.
        return f"<{len(self.at)} observations>"


def observations(records: Records, key_of: Callable[[str], bytes] | None) -> Observations:
    """Return the observations whose key is that of their series by ``key_of``; None: no key is asked for.

    Whatever is none, or would be refused whatever is known of its series, is left out.
    """
    found = Observations([], [], [], [], set())
    at, names, times, numbers, apart = found
    loads = orjson.loads
    for number, (key, value) in enumerate(zip(records.keys, records.values, strict=True)):
        if value is None or len(value) > LARGEST_RECORD_BYTES:
            continue
        try:
            record = loads(value)
        except orjson.JSONDecodeError:
            continue
        if type(record) is not dict:
            continue
        get = record.get
        series, time_ms = get("series"), get("timestamp")
        if type(series) is not str:
            continue
        if (
            type(time_ms) is not int
            or not 0 <= time_ms <= LAST_TIMESTAMP_MS
            or get("type", "observation") != "observation"
            or "value" not in record
            or (key_of is not None and key != key_of(series))
        ):
            apart.add(series)
            continue
        # PRIVACY: what is no number takes as long as one, so that the time does not tell what a substitute hides.
        raw = record["value"]
        at.append(number)
        names.append(series)
        times.append(time_ms)
        numbers.append(raw if type(raw) is float or type(raw) is int else nan)
    return found


def texts(column: Column) -> list[bytes]:
    """Return the JSON of each number."""
    return orjson.dumps(column, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")


def lists(rows: Column) -> list[bytes]:
    """Return the JSON of the numbers of each row of a matrix, without brackets."""
    return orjson.dumps(np.ascontiguousarray(rows), option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].split(b"],[")


def hashes(digests: bytes) -> list[bytes]:
    """Return hashes that stand one after the other, each in hex."""
    whole = digests.hex().encode()
    return [whole[at : at + _HEX] for at in range(0, len(whole), _HEX)]


Step = tuple[str, int, int, bool, bytes, bytes, int, bytes, int, bool, int, int, int, int, int, int]
"""A decided step, as its release and its ledger entry say it: series, start in ms, version of the policy, whether it is
perturbed, value, measurement, spend, scale, source in ms (-1: none), whether it is a landmark, budget, spent on
landmarks, landmarks left, regular peak, sequence, epoch. Budgets are nano-epsilon; value, measurement and scale JSON.
"""

_PERTURBED = (
    b'{"series":%b,"timestamp":%d,"value":%b,"decision":"perturbed","measurement":%b,"epsilon_nano":%d,"scale":%b,'
    b'"policy":%d}'
)
_APPROXIMATED = b'{"series":%b,"timestamp":%d,"value":%b,"decision":"approximated","source":%d,"policy":%d}'
_WITHHELD = b'{"series":%b,"timestamp":%d,"decision":"withheld","policy":%d}'
_ENTRY = (
    b'{"series":%b,"sequence":%d,"entry":"release","timestamp":%d,"decision":"%b","landmark":%b,"policy":%d,'
    b'"budget_nano":%d,%b"landmark_spent_nano":%d,"landmarks_left":%d,"regular_peak_nano":%d,"release":"%b",'
    b'"key":"%b","epoch":%d,"previous":"%b"'
)
_EMPTY = blake2b(digest_size=HASH_BYTES)


def written(step: Step, key: bytes, previous: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the release of a step, its ledger entry and the hash of that, in hex.

    ``key`` is the fingerprint of the noise key, ``previous`` the hash of the entry before it in its series' chain.
    """
    (
        series, start_ms, version, perturbed, value, measurement, spend, scale, source_ms, landmark, budget, spent,
        left, peak, sequence, epoch,
    ) = step  # fmt: skip
    name = _quoted(series)
    paid = b""
    if perturbed:
        decision, paid = b"perturbed", b'"epsilon_nano":%d,' % spend
        release = _PERTURBED % (name, start_ms, value, measurement, spend, scale, version)
    elif source_ms >= 0:
        decision = b"approximated"
        release = _APPROXIMATED % (name, start_ms, value, source_ms, version)
    else:
        decision = b"withheld"
        release = _WITHHELD % (name, start_ms, version)
    entry = _ENTRY % (
        name,
        sequence,
        start_ms,
        decision,
        b"true" if landmark else b"false",
        version,
        budget,
        paid,
        spent,
        left,
        peak,
        _digest(release),
        key,
        epoch,
        previous,
    )
    link = _digest(entry)
    return release, b'%b,"hash":"%b"}' % (entry, link), link


def _quoted(series: str) -> bytes:
    """Return the JSON of a text: as it is, where nothing in it has to be escaped."""
    plain = series.isprintable() and '"' not in series and "\\" not in series
    return b'"%b"' % series.encode() if plain else orjson.dumps(series)


def _digest(value: bytes) -> bytes:
    """Return `encoding.digest` in ASCII."""
    state = _EMPTY.copy()
    state.update(value)
    return state.hexdigest().encode()
