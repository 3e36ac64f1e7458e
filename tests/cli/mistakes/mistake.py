"""A mistake: what the user did, and the message it must produce."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

POLICY: dict[str, Any] = {
    "type": "policy",
    "series": "home-7",
    "version": 1,
    "epsilon": 1.0,
    "protection": {
        "level": "landmark",
        "landmarks": [[1338570000000, 1338580800000]],
        "step": 3600000,
        "spare": 2,
    },
    "scheme": {"name": "balanced"},
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001},
}
VALUES = ("1.011", "4.105", "3.870")
REPLAY = (
    "replay energy.csv --series home-7 --timestamp-column time --value-columns kwh --policies policies.jsonl "
    "--out private"
)
LINES = "replay events.jsonl --policies policies.jsonl --out private"
CHECK = "check policies.jsonl"


class Mistake(NamedTuple):
    """What was done, the command, what to do, and the files besides `FILES`."""

    done: str
    command: str
    remedy: str
    files: Mapping[str, str | bytes] = {}
    code: int = 2

    @property
    def said(self) -> tuple[str, ...]:
        """The lines of standard error, or of standard output for reports: each one whole, in this order."""
        return tuple(_SAID[self.done])


_SAID: dict[str, list[str]] = json.loads((Path(__file__).parent / "said.json").read_text())


def policy(**members: Any) -> str:
    """Return the policy of `FILES` with other members; ``a__b`` is `b` in `a`, and None removes a member."""
    made = json.loads(json.dumps(POLICY))
    for path, value in members.items():
        *outer, name = path.split("__")
        inner = made
        for each in outer:
            inner = inner[each]
        if value is None:
            del inner[name]
        else:
            inner[name] = value
    return json.dumps(made, separators=(",", ":")) + "\n"


def rows(*times: object, values: tuple[str, ...] = VALUES) -> str:
    """Return a CSV file with these times."""
    return "time,kwh\n" + "".join(f"{time},{value}\n" for time, value in zip(times, values, strict=False))


def records(*times: object, **members: object) -> str:
    """Return a file of records with these times."""
    made = (
        {"series": "home-7", "timestamp": time, "value": float(value)}
        for time, value in zip(times, VALUES, strict=False)
    )
    return "".join(json.dumps({**each, **members}) + "\n" for each in made)


ENERGY = rows("2012-06-01T16:00:00Z", "2012-06-01T17:00:00Z", "2012-06-01T18:00:00Z")
FILES: Mapping[str, str | bytes] = {"energy.csv": ENERGY, "policies.jsonl": policy()}
"""The files that every mistake starts from; its page shows them."""


def in_csv(done: str, remedy: str, content: str | bytes, code: int = 2) -> Mistake:
    """Return a mistake in the readings of a CSV file."""
    return Mistake(done, REPLAY, remedy, {"energy.csv": content}, code)


def in_records(done: str, remedy: str, content: str | bytes, code: int = 2) -> Mistake:
    """Return a mistake in a file of records."""
    return Mistake(done, LINES, remedy, {"events.jsonl": content}, code)


def in_policies(done: str, remedy: str, content: str | bytes, command: str = CHECK, code: int = 2) -> Mistake:
    """Return a mistake in the file of policies."""
    return Mistake(done, command, remedy, {"policies.jsonl": content}, code)


def in_settings(done: str, remedy: str, content: str) -> Mistake:
    """Return a mistake in the file of settings."""
    return Mistake(done, "check --config my.toml", remedy, {"my.toml": content})
