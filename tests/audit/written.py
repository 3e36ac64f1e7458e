"""Hand-written ledgers with budgets of about a hundred nano-epsilon: every figure can be checked by hand.

A line has a step in seconds, a decision, `L` for a landmark or `.`, the spend or `-`, and after the bar the figures
after it: spent on landmarks, landmarks left, regular peak. `policy` begins a version, `landmarks` adds steps (with the
charge before the figures), `dummies` gives the method that drew the landmarks and its cost, and `close` ends. Sums are
written beside the rows; E, R, a, g are as in the design, section 3.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from tests.audit.written_windows import WINDOWS
from tests.run import Run

KEY = "0123456789abcdef"
UPPER = 10.0
VALUE = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
SECOND = 1000
NANO = 10**9

Record = dict[str, Any]

UNIFORM = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "landmarks": [3500, [6000, 8001]], "spare": 2}
 1 perturbed    . 16 |  0 6 16      R=6 a=min(100//7, 100//6)=14 g=100-6*14
 2 perturbed    . 16 |  0 6 16      a=min(100//7, 84//6)=14
 3 perturbed    L 14 | 14 5 16
 4 perturbed    . 16 | 14 5 16      R=5 a=min(86//6, 70//5)=14
landmarks [[10, 12]] 0 | 14 5 16    6 7 8 10 11, both spares used
 6 perturbed    L 14 | 28 4 16
 8 perturbed    L 18 | 46 2 16      7 was absent: R=3 a=min(72//4, 56//3)
 9 perturbed    . 18 | 46 2 18      R=2 a=min(54//3, 38//2)=18 g=54-36
landmarks [[1, 2]] 18 | 64 2 18     decided: charged the peak, 46+2*18 <= 100
10 perturbed    L  9 | 73 1 18      R=2 a=min(36//3, 18//2)
11 perturbed    L  9 | 82 0 18      R=1 a=min(27//2, 9)
12 perturbed    . 18 | 82 0 18      R=0 g=100-82
close
"""

ADAPTIVE = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "adaptive"}, "landmarks": [[2000, 4000]]}
 0 perturbed    . 34 |  0 2 34      R=2 a=min(100//3, 100//2)=33 g=100-66
 1 perturbed    . 34 |  0 2 34      R=2 a=min(100//3, 66//2)=33: at rate 1 until there are two to compare
 2 approximated L  - |  0 1 34
 3 perturbed    L 50 | 50 0 34      R=1 a=min(100//2, 66)
policy 3 {"epsilon": 1.6e-8, "scheme": {"name": "uniform"}, "landmarks": [6000], "step": 2000}
 4 perturbed    .  8 |  0 1  8      84 of 100 are gone: E=16 R=1 a=min(16//2, 16)=8
 6 perturbed    L  8 |  8 0  8
 8 perturbed    .  8 |  8 0  8
"""

SKIP = """
policy 1 {"epsilon": 1e-7, "scheme": {"name":"skip","accept_risk":true}, "landmarks": [1000, [3000, 5000]], "spare": 1}
 1 withheld     L  - |  0 3   0
 2 perturbed    . 100 | 0 3 100
 3 approximated L  - |  0 2 100
landmarks [[6, 7]] 0 |  0 2 100
 5 perturbed    . 100 | 0 1 100
 6 approximated L  - |  0 0 100
"""

BALANCED = """
policy 1 {"epsilon": 1.01e-7, "scheme": {"name": "balanced", "regular_share": 0.3}, "landmarks": [[2000, 5000]]}
 0 perturbed    . 32 |  0 3 32      G=101*300000//10^6=30 R=3 a=(101-30)//3=23 g=101-69
 1 perturbed    . 32 |  0 3 32      a=(101-32)//3=23
 2 perturbed    L 23 | 23 2 32
 3 perturbed    L 23 | 46 1 32
 5 perturbed    . 55 | 46 0 55      R=0 g=101-46
"""

LEFT_OUT = """
policy 1 {"epsilon": 1e-7, "scheme": {"name":"balanced","regular_share":1}, "landmarks":[1000,[3000,5000]], "spare":1}
 1 withheld     L  - |  0 3   0     G=E=100 a=max(0, 100-100)//4=0
 2 perturbed    . 100 | 0 3 100
 3 approximated L  - |  0 2 100
landmarks [[6, 7]] 0 |  0 2 100
 5 perturbed    . 100 | 0 1 100
 6 approximated L  - |  0 0 100
"""

EVENT = """
policy 1 {"epsilon": 7e-9, "scheme": {"name": "adaptive"}, "level": "event"}
 0 perturbed    .  7 |  0 0 7
 1 perturbed    .  7 |  0 0 7
 3 approximated .  - |  0 0 7
 5 perturbed    .  7 |  0 0 7
"""

USER = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "level": "user", "length": 4}
 2 perturbed    L 25 | 25 3 0       r=4
 3 perturbed    L 25 | 50 2 0       r=3 75//3
 5 perturbed    L 50 | 100 0 0      r=1
 6 approximated L  - | 100 0 0      past the length
close
"""

DUMMIES = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "landmarks": [[2000, 4000]]}
dummies heuristic 1
 1 perturbed    . 33 |  1 2 33      S=1 R=2 a=min(99//3, 99//2)=33 g=99-66
 2 perturbed    L 33 | 34 1 33      R=2 a=min(99//3, 66//2)
 3 perturbed    L 33 | 67 0 33      R=1 a=min(66//2, 33)
 4 perturbed    . 33 | 67 0 33      g=33
"""

PADDING = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "balanced", "regular_share": 0.2}, "landmarks": [[1000, 2000]]}
dummies padding 0
 0 perturbed    . 20 |  0 1 20      a=80 g=20
 1 perturbed    L 80 | 80 0 20
close
"""

LEDGERS = {
    "uniform": UNIFORM,
    "adaptive": ADAPTIVE,
    "skip": SKIP,
    "balanced": BALANCED,
    "left-out": LEFT_OUT,
    "event": EVENT,
    "user": USER,
    "dummies": DUMMIES,
    "padding": PADDING,
    **WINDOWS,
}


@dataclass(slots=True)
class Written:
    """Entries and releases of one series as records, in order; each `release` entry is at its release's index."""

    entries: list[Record]
    releases: list[Record]
    lifetime_nano: int | None = None
    """The lifetime under which it was decided; None means the first policy's epsilon."""

    @classmethod
    def of(cls, run: Run, lifetime_nano: int | None = None) -> "Written":
        """Return the only series of a run as records."""
        return cls(list(map(orjson.loads, run.ledger)), list(map(orjson.loads, run.releases)), lifetime_nano)

    def copy(self) -> "Written":
        """Return a copy that can be forged."""
        entries, releases = orjson.loads(orjson.dumps([self.entries, self.releases]))
        return Written(entries, releases, self.lifetime_nano)

    def lines(self) -> list[bytes]:
        """Return the ledger's lines as they are."""
        return [orjson.dumps(entry) for entry in self.entries]

    def release_lines(self) -> list[bytes]:
        """Return the releases' lines as they are."""
        return [orjson.dumps(release) for release in self.releases]


def write(text: str, series: str = "home-7") -> Written:
    """Return the ledger that a text describes, sealed."""
    entries: list[Record] = []
    releases: list[Record] = []
    version = budget = 0
    source: int | None = None
    for line in filter(None, map(str.strip, text.splitlines())):
        head, _, tail = line.partition("|")
        word, *rest = head.split(maxsplit=2)
        entry: Record = {"series": series, "sequence": len(entries) + 1}
        figures = [int(figure) for figure in tail.split()[:3]]
        if word == "policy":
            version, source = int(rest[0]), None
            parameters = parameters_of(orjson.loads(rest[1]))
            budget = round(parameters["epsilon"] * NANO)
            entry |= {"entry": "policy", "policy": version, "budget_nano": budget, "charged_nano": 0}
            entry |= {"parameters": parameters}
        elif word == "dummies":
            entry |= {"entry": "dummies", "policy": version, "method": rest[0], "charged_nano": int(rest[1])}
        elif word == "landmarks":
            added, charge = head.removeprefix("landmarks").rsplit(maxsplit=1)
            entry |= {"entry": "landmarks", "policy": version}
            entry |= {"add": [[start * SECOND, end * SECOND] for start, end in orjson.loads(added)]}
            entry |= {"charged_nano": int(charge), "budget_nano": budget} | figures_of(figures)
        elif word == "close":
            entry |= {"entry": "close", "policy": version}
        else:
            decision, landmark, spend = head.split()[1:]
            time = int(word) * SECOND
            entry |= {"entry": "release", "timestamp": time, "decision": decision, "landmark": landmark == "L"}
            entry |= {"policy": version, "budget_nano": budget}
            entry |= {} if spend == "-" else {"epsilon_nano": int(spend)}
            entry |= figures_of(figures) | {"release": ""}
            releases.append(release_of(entry, source))
            source = time if decision == "perturbed" else source
        entries.append(entry | {"key": KEY, "epoch": 0, "previous": "", "hash": ""})
    return seal(cover(Written(entries, releases)))


def parameters_of(words: Record) -> Record:
    """Return complete policy parameters from the short ones in a text."""
    protection = {"level": words.get("level", "landmark"), "step": words.get("step", SECOND)}
    protection |= {name: words[name] for name in ("landmarks", "spare", "length", "window") if name in words}
    return {"epsilon": words["epsilon"], "protection": protection, "scheme": words["scheme"], "value": VALUE}


def figures_of(figures: list[int]) -> Record:
    """Return an entry's three figures by name."""
    return dict(zip(("landmark_spent_nano", "landmarks_left", "regular_peak_nano"), figures, strict=True))


def release_of(entry: Record, source: int | None) -> Record:
    """Return a release that is consistent with its entry; its value shows the step it came from."""
    release: Record = {"series": entry["series"], "timestamp": entry["timestamp"]}
    match entry["decision"]:
        case "perturbed":
            measured = entry["timestamp"] / SECOND
            release |= {"value": min(measured, UPPER), "decision": "perturbed", "measurement": measured}
            # 10,000 cells of 0.001 at a rate of epsilon
            release |= {"epsilon_nano": entry["epsilon_nano"], "scale": 10 * NANO / entry["epsilon_nano"]}
        case "approximated":
            assert source is not None
            release |= {"value": min(source / SECOND, UPPER), "decision": "approximated", "source": source}
        case _:
            release |= {"decision": "withheld"}
    return release | {"policy": entry["policy"]}


def cover(written: Written) -> Written:
    """Write the hash of each release into its entry."""
    by_time = {release["timestamp"]: release for release in written.releases}
    for entry in written.entries:
        if entry["entry"] == "release":
            entry["release"] = blake2b(orjson.dumps(by_time[entry["timestamp"]]), digest_size=32).hexdigest()
    return written


def seal(written: Written, start: int = 0) -> Written:
    """Link and hash all entries from index `start` on, whatever their content."""
    previous = "0" * 64 if start == 0 else written.entries[start - 1]["hash"]
    for entry in written.entries[start:]:
        entry["previous"] = previous
        entry["hash"] = previous = hash_of(entry)
    return written


def hash_of(entry: Record) -> str:
    """Return the hash over an entry's other members."""
    body = orjson.dumps({name: value for name, value in entry.items() if name != "hash"})[:-1]
    return blake2b(body, digest_size=32).hexdigest()


def renumber(written: Written) -> Written:
    """Number the entries from 1 and seal them, as a forger does who rewrites the whole chain."""
    for number, entry in enumerate(written.entries, 1):
        entry["sequence"] = number
    return seal(written)


def releases_in(written: Written) -> list[tuple[int, Record]]:
    """Return the release entries with their indices."""
    return [(index, entry) for index, entry in enumerate(written.entries) if entry["entry"] == "release"]
