"""Golden values: noise and filtered estimates that must never change, or replays of old logs would differ.

``python -m tests.privacy.golden`` writes them again. A difference means that earlier decisions can no longer be
recomputed. Noise may never differ. Estimates may differ only with a row in "Versions that decide otherwise" of the page
on upgrades.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from stream_app.privacy.noise.draws import coin_stream, noise_stream
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import RawCells
from tests.privacy import filtered
from tests.run import KINDS, SCHEMES

NOISE_FILE = Path(__file__).parent / "golden" / "noise.json"
LEVEL_FILE = NOISE_FILE.with_name("level.json")
SECRETS = {"counting": bytes(range(32)), "zeros": bytes(32)}
CELLS: dict[str, tuple[int, ...]] = {
    "number": (1234,),
    "location": (-41_230, -12_100),
    "counts": (3, 0, 2**53 - 1),
    "category": (2,),
    "vector": (97, 70),
}


def noise() -> Iterator[dict[str, object]]:
    """Yield noise of every kind: parameters, first bits, measurement, and the bits of the coin."""
    assert CELLS.keys() == KINDS.keys(), "add the kind to CELLS in tests/privacy/golden.py, and write the files again"
    for name, value in KINDS.items():
        for scheme in ("uniform", "adaptive"):
            for version, epoch, series, step_ms, spend_nano, secret in (
                (1, 0, "home-7", 1_338_534_000_000, 142_857_148, "counting"),
                (1, 0, "home-7", 1_338_537_600_000, 142_857_148, "counting"),
                (2, 15_492, "größe", 0, 1, "zeros"),
                (9_007_199_254_740_991, 1, "x" * 200, 253_402_300_799_999, 10**15, "counting"),
            ):
                parameters = {
                    "epsilon": 1.0,
                    "protection": {"level": "landmark", "step": 3_600_000},
                    "scheme": SCHEMES[scheme],
                    "value": value,
                }
                policy = policy_of(parameters, version)
                cells = RawCells(CELLS[name])
                arguments = (SECRETS[secret], epoch, policy, series, step_ms)
                yield {
                    "kind": name,
                    "scheme": scheme,
                    "version": version,
                    "epoch": epoch,
                    "series": series,
                    "step_ms": step_ms,
                    "spend_nano": spend_nano,
                    "secret": secret,
                    "noise": f"{noise_stream(*arguments, spend_nano, cells).take(256):064x}",
                    "coin": f"{coin_stream(*arguments).take(256):064x}",
                    "measurement": list(
                        policy.kind.perturb(noise_stream(*arguments, spend_nano, cells), cells, spend_nano)
                    ),
                }


def level(*, literal: bool = False) -> dict[str, object]:
    """Return estimates and the last running numbers of a short filtered run of every kind."""
    subjects = {
        "number": filtered.number(0, 10, "0.001"),
        "location": filtered.location(500, "10"),
        "counts": filtered.counts(3, 2),
        "category": filtered.category(4),
    }
    found: dict[str, object] = {}
    for name, subject in subjects.items():
        events = list(filtered.run(subject, 400, 7))
        last = events[-1].expected_state if literal else events[-1].state
        found[name] = {
            "estimates": [event.expected if literal else event.estimate for event in events],
            "numbers": [part.hex() for part in last],
        }
    return found


def write() -> None:
    """Write the golden files anew."""
    NOISE_FILE.parent.mkdir(exist_ok=True)
    LEVEL_FILE.write_text(json.dumps(level()) + "\n")
    NOISE_FILE.write_text(json.dumps(list(noise()), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write()
