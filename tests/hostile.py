"""Records with arbitrary content: random bytes; broken, deep, huge and mistyped JSON; absurd policies."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stream_app.deciding.context import Context, Limits
from tests.run import ADAPTIVE, COUNTS, KEYS, KINDS, LOCATION, SCHEMES, default, observation, policy

SERIES = ["home-1", "home-2", "bus-1", "cell-1", "phone-1", "stray", ""]
NUMBERS = [
    b"1e400",
    b"-1e400",
    b"1" * 500,
    b"1" * 5000,
    b"NaN",
    *(b"Infinity", b"-Infinity", b"0." + b"3" * 300, b"-0.0"),
    b"1e-400",
    b"18446744073709551616",
    b"-0",
]
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 2**53, 2**64 - 1, -(2**63), 1e308, 5e-324, "", "x", "\x00", "\u2028", "ü" * 300),
    *([], {}, [[]], {"a": {}}, [1, 2], {"latitude": 1, "longitude": "x"}, {"latitude": 1e308, "longitude": -1e308}),
    *({"walk": 1}, {"walk": -1}, {"walk": 1e20}, {"walk": 2**63}, "ill", "none", {"kind": "number"}),
]
HOMES = 30
NAMES = (
    "{}",
    "{} ",
    " {}",
    "{}\t",
    "{}\n",
    "{}\u00a0",
    "{}/",
    "{}é",
    "{}e\u0301",
    "{}𝒳",
    "{}%",
    "{}\x00",
    "{}" + "n" * 150,
)
"""Forms of a home's name; only the last one is long enough to be measured in bytes."""
HOMES_CONTEXT = Context(
    KEYS,
    (
        default("*home-*", filter="level"),
        default("bus-*", value=LOCATION),
        default("cell-*", value=COUNTS, scheme=ADAPTIVE),
    ),
    Limits(lifetime_nano=10**18, accept_weaker_policies=True),
)
"""The configuration under which the records of `hostile_homes` are processed."""
COLLECTING = ["contribution", "watermark", "intrusion"]
Hostile = tuple[bytes | None, bytes | None]
"""A record, and those of its bytes that no reject may hold."""


def hostile(of: np.random.Generator, number: int) -> Iterator[Hostile]:
    """Yield this many records; a good share of them are valid, so states change."""
    makers = [_right, _right, _right, _random, _cut, _deep, _numbers, _mistyped, _mistyped, _utf8, _twice, _absurd]
    makers += [_landmarks, _right, _right, _flipped, _framed, _empty]
    for nth in range(number):
        if nth % 1000 == 999:
            yield _large(of)
        else:
            yield makers[of.integers(0, len(makers))](of, nth)


def hostile_homes(of: np.random.Generator, number: int) -> Iterator[bytes | None]:
    """Yield hostile records: those of two series and of one without a policy, distributed over homes.

    Every thousand records, the homes are new: absurd records close a home, or move it too far ahead.
    """
    for nth, (value, _) in enumerate(hostile(of, number)):
        which = int(of.integers(0, HOMES))
        name = NAMES[which % len(NAMES)].format(f"home-{nth // 1000}-{which}")
        home = json.dumps(name).encode().replace(b"\\", b"\\\\")  # as `re.sub` reads it
        yield None if value is None else re.sub(b'"(home-1|home-2|stray)"', home, value)


def _pick(of: np.random.Generator, values: list[Any]) -> Any:
    return values[of.integers(0, len(values))]


def _observation(of: np.random.Generator, nth: int) -> dict[str, Any]:
    series = _pick(of, SERIES)
    raw: dict[str, object] = {
        "home": round(float(of.uniform(-1, 11)), 3),
        "bus-": {"latitude": float(of.uniform(-12, -10)), "longitude": float(of.uniform(-38, -36))},
        "cell": {"walk": int(of.integers(0, 9))},
        "phon": _pick(of, ["ill", "none", True, "contact"]),
    }
    return observation(series, nth * 1000 + int(of.integers(-2000, 1000)), raw.get(series[:4], 5))


def _policy(of: np.random.Generator, nth: int) -> dict[str, Any]:
    protection = _pick(of, [{"level": "landmark"}, {"level": "event"}, {"level": "user", "length": 10**6}])
    value, scheme = KINDS[_pick(of, list(KINDS))], SCHEMES[_pick(of, ["uniform", "adaptive"])]
    members = {"protection": protection, "value": value, "scheme": scheme, "weaker": nth % 8 > 0}
    return policy(_pick(of, SERIES), nth + 1, epsilon=0.001, **members)


def _right(of: np.random.Generator, nth: int) -> Hostile:
    record = _policy(of, nth) if of.random() < 0.01 else _observation(of, nth)
    return json.dumps(record).encode(), None


def _canary(of: np.random.Generator) -> bytes:
    return b"canary%d" % of.integers(10**9, 10**10)


def _random(of: np.random.Generator, nth: int) -> Hostile:
    found = of.bytes(int(of.integers(1, 80)))
    return (None if nth % 50 == 0 else found), (found if len(found) > 8 else None)


def _cut(of: np.random.Generator, nth: int) -> Hostile:
    canary = _canary(of)
    found = json.dumps(_observation(of, nth) | {"value": canary.decode()}).encode()
    return found[: of.integers(0, len(found))], canary


def _deep(of: np.random.Generator, nth: int) -> Hostile:
    depth = int(_pick(of, [10, 300, 1100, 5000]))
    opening, closing = _pick(of, [(b"[", b"]"), (b'{"a":', b"}")])
    value = opening * depth + b"1" + closing * (depth if of.random() < 0.7 else 0)
    return b'{"series":"home-1","timestamp":%d,"value":%b}' % (nth * 1000, value), opening * 10


def _numbers(of: np.random.Generator, nth: int) -> Hostile:
    parts = [b"%d" % (nth * 1000), b"3"]
    number = _pick(of, NUMBERS)
    parts[of.integers(0, 2)] = number
    parts[1] = _pick(of, [parts[1], parts[1], b'{"walk":%b,"ride":1}' % parts[1]])
    found = b'{"series":"home-1","timestamp":%b,"value":%b}' % tuple(parts)
    return found, number if len(number) > 20 else None


def _mistyped(of: np.random.Generator, nth: int) -> Hostile:
    record = _policy(of, nth) if of.random() < 0.5 else _observation(of, nth)
    if of.random() < 0.3:
        record["type"] = _pick(of, [*ODD, "policy", "landmarks", "close", "observation", *COLLECTING])
    place: Any = record
    for _ in range(int(of.integers(1, 4))):
        name = _pick(of, [*place, "odd"])
        if isinstance(place.get(name), dict) and of.random() < 0.7:
            place[name] = dict(place[name])
            place = place[name]
            continue
        if of.random() < 0.2:
            place.pop(name, None)
        else:
            place[name] = _pick(of, ODD)
        break
    return json.dumps(record).encode(), None


def _utf8(of: np.random.Generator, nth: int) -> Hostile:
    canary = _canary(of)
    odd = _pick(
        of, [b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\\ud800", b"\\udc00\\ud800", b"\x00", b"\\u0000", b"\xf4\x90"]
    )
    where = _pick(
        of, [b'{"series":"%b%b","timestamp":%d,"value":1}', b'{"series":"home-1%b","value":"%b","timestamp":%d}']
    )
    return where % (canary if where[11:13] == b"%b" else b"", odd + canary, nth), None


def _twice(of: np.random.Generator, nth: int) -> Hostile:
    canary = _canary(of)
    value = json.dumps(_pick(of, ODD)).encode()
    members = [b'"series":"home-1"', b'"timestamp":%d' % (nth * 1000), b'"value":%b' % value, b'"value":"%b"' % canary]
    members += [b'"series":"home-2"', b'"timestamp":-1', b'"type":"policy"', b'"unknown":"%b"' % canary]
    of.shuffle(members)
    return b"{" + b",".join(members[: of.integers(3, 9)]) + b"}", canary


def _absurd(of: np.random.Generator, nth: int) -> Hostile:
    sizes = [0, 1, -1, 1e-9, 5e-324, 1e-300, 1e300, 1.7e308, 2**53, 2**63, 1e16, 0.1, 253402300799999]
    value = dict(KINDS[_pick(of, list(KINDS))])
    for name in ("lower", "upper", "resolution", "sensitivity", "radius", "invalid"):
        if name in value or of.random() < 0.1:
            value[name] = _pick(of, sizes)
    protection = {"level": _pick(of, ["landmark", "user", "event", "w-event"]), "step": _pick(of, sizes)}
    protection |= {name: _pick(of, sizes) for name in ("spare", "length", "window") if of.random() < 0.3}
    members = {"value": value, "protection": protection, "epsilon": _pick(of, [*sizes, 0.5]), "filter": "level"}
    record = policy("phone-1", nth + 1, **members)
    record |= {name: {} for name in ("dummies", "collect", "odd") if of.random() < 0.05}
    return json.dumps(record).encode(), None


def _flipped(of: np.random.Generator, nth: int) -> Hostile:
    found = bytearray(json.dumps(_observation(of, nth)).encode())
    for place in of.integers(len(found), size=int(of.integers(1, 4))):
        found[place] = int(of.integers(256))
    return bytes(found), None


def _framed(of: np.random.Generator, nth: int) -> Hostile:
    whole = json.dumps(_observation(of, nth))
    text = whole.encode()
    forms = [b"\xef\xbb\xbf" + text, text + text, b" \n\t" + text + b"\r\n", whole.encode("utf-16")]
    return _pick(of, forms), None


def _empty(of: np.random.Generator, nth: int) -> Hostile:  # noqa: ARG001 (as all others)
    return _pick(of, [None, b"", b" ", b"null", b"[]", b"{}", b'""', b"0", b"\0"]), None


def _landmarks(of: np.random.Generator, nth: int) -> Hostile:
    spans = [
        0,
        -1,
        1.5,
        "x",
        nth * 1000,
        [1, 2],
        [2, 1],
        [1],
        [nth * 1000, 253402300799999],
        253402300800000,
        None,
        True,
    ]
    add = _pick(of, [[], None, "x", {}, [[]], [_pick(of, spans) for _ in range(int(of.integers(1, 4)))]])
    return json.dumps({"type": "landmarks", "series": _pick(of, SERIES), "add": add}).encode(), None


def _large(of: np.random.Generator) -> Hostile:
    makers: list[Callable[[], bytes]] = [
        lambda: b'{"series":"home-1","timestamp":1,"value":"%b"}' % (b"canary" * 900_000),
        lambda: b"[" * 5_000_000,
        lambda: b'{"series":"%b","timestamp":1,"value":1}' % (b"canary" * 40),
        lambda: b'{"series":"home-1","add":[%b0],"type":"landmarks"}' % (b"0," * 120_000),
    ]
    return makers[of.integers(0, len(makers))](), b"canarycanary"
