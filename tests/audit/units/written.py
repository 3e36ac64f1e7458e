"""Hand-written ledgers with statistics of units, as in written.py.

A line has the number of a step, a decision, the spend or `-`, and the units counted: a number, or one for each bin.
After the bar come the amount spent on landmarks, the spare left and the regular peak. Units are seconds; `landmarks`
adds units by their start in seconds. E, S, M, R, w and g are as in the design, section 5e.
"""

from typing import Any

import orjson

from tests.audit.written import KEY, NANO, SECOND, Record, Written, cover, figures_of, seal

VALUE = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}
CATEGORIES = {"kind": "category", "categories": ["in", "out", True], "statistic": "histogram"}
FOUR = {"step": 4 * SECOND, "unit": SECOND, "offset": 2 * SECOND, "open_steps": 2}
HOURS = {"step": 10_800 * SECOND, "unit": 3_600 * SECOND, "open_steps": 1, "level": "event"}
SUMMER = [[0, 3_600_000], [7_200_000, 7_200_000]]
"""Local time moves one hour ahead, two hours after the beginning of 1970."""

MEANS = """
policy 1 {"window": 2, "landmarks": [[6000, 8000]], "spare": 3, "value": {"statistic": "mean"}}
0 perturbed 40 4 |  0 3 40      R=3 g=2*(100//(2+3))
1 perturbed 40 2 |  0 3 40      the units at 6 and 7 are landmarks
landmarks [[3, 4]] 20 | 20 2 40       one unit of step 0: ceil(40/2), and 0+20+40 <= 100
2 perturbed 40 3 | 20 2 40      R=2 g=2*(80//4)
landmarks [[30, 31]] 0 | 20 2 40      to come: no spare is used
landmarks [[8, 9], [11, 12]] 40 | 60 0 40     two units: ceil(2*40/2), and 20+40+40 <= 100
3 perturbed 40 4 | 60 0 40      R=0 g=100-60
7 perturbed 40 3 | 60 0 40      from 30 on; its first unit is a landmark
close
"""

SHARES = """
policy 1 {"window": 3, "spare": 1, "scheme": {"name":"balanced"}, "value": {"statistic":"share","from":2,"to":5.5}}
0 perturbed 75 1 |  0 1 75      g=3*(100//(3+1))
landmarks [[3, 4]] 25 | 25 0 75       ceil(75/3)
1 perturbed 75 4 | 25 0 75      R=0 g=75
policy 2 {"window": 3, "scheme": {"name": "adaptive"}, "value": {"statistic": "histogram", "edges": [2, 5.5]}}
2 perturbed 100 4 | 0 0 100     equal unit, window and offset: it does not wait
3 perturbed 100 4 | 0 0 100
4 approximated - | 0 0 100
"""

FILTERED = """
policy 1 {"landmarks": [[2000, 3000]], "scheme": {"name": "balanced"}, "value": {"statistic": "mean"}}
0 perturbed 100 3 | 0 0 100
1 perturbed 100 1 | 0 0 100
"""

WAITING = """
policy 1 {"window": 3, "value": {"statistic": "sum"}}
0 perturbed 100 4 | 0 0 100
policy 2 {"window": 2, "value": {"statistic": "sum"}}
1 withheld - | 0 0 0            from 6 on; it waits until 6 + 3
2 perturbed 100 4 | 0 0 100
policy 3 {"window": 2, "value": {"kind": "category"}}
3 perturbed 100 4 | 0 0 100     units, window and offset as before
policy 4 {"plain": 1}
18 withheld - | 0 0 0           step 3 ended at 18; it waits until 18 + 2
19 withheld - | 0 0 0
20 perturbed 100 | 0 0 100
policy 5 {"window": 1, "value": {"statistic": "mean"}}
5 perturbed 100 4 | 0 0 100     from 22 on, 21 + 1
"""

BINS = """
policy 1 {"hours": 1, "value": {"statistic": "mean", "by": "hour", "transitions": 1}}
0 perturbed 100 {"1":1,"2":1} | 0 0 100
1 perturbed 100 {"5":1,"7":1} | 0 0 100
policy 2 {"hours": 1, "value": {"statistic": "sum", "by": "weekday", "transitions": 1}}
7 perturbed 100 {"4":1,"5":2} | 0 0 100
policy 3 {"hours": 1, "value": {"statistic": "sum", "by": "hour-of-week"}}
8 perturbed 100 {"96":1,"98":1} | 0 0 100
"""

UNITS = {"means": MEANS, "shares": SHARES, "filtered": FILTERED, "bins": BINS, "waiting": WAITING}


def write(text: str, series: str = "home-7") -> Written:
    """Return the ledger that a text describes, sealed."""
    entries: list[Record] = []
    releases: list[Record] = []
    parameters: Record = {}
    version, source = 0, None
    for line in filter(None, map(str.strip, text.splitlines())):
        head, _, tail = line.partition("|")
        word, *rest = head.split(maxsplit=2)
        entry: Record = {"series": series, "sequence": len(entries) + 1}
        figures = [int(figure) for figure in tail.split()[:3]]
        if word == "policy":
            version, source = int(rest[0]), None
            parameters = parameters_of(orjson.loads(rest[1]))
            entry |= {"entry": "policy", "policy": version, "budget_nano": 100, "charged_nano": 0}
            entry |= {"parameters": parameters}
        elif word == "landmarks":
            added, charge = head.removeprefix("landmarks").rsplit(maxsplit=1)
            entry |= {"entry": "landmarks", "policy": version}
            entry |= {"add": [[start * SECOND, end * SECOND] for start, end in orjson.loads(added)]}
            entry |= {"charged_nano": int(charge), "budget_nano": 100} | figures_of(figures)
        elif word == "close":
            entry |= {"entry": "close", "policy": version}
        else:
            decision, spend, *counted = head.split()[1:]
            protection = parameters["protection"]
            time = protection.get("offset", 0) + int(word) * protection["step"]
            entry |= {"entry": "release", "timestamp": time, "decision": decision, "landmark": False}
            entry |= {"policy": version, "budget_nano": 100}
            entry |= {} if spend == "-" else {"epsilon_nano": int(spend)}
            entry |= figures_of(figures) | {"release": ""}
            count = orjson.loads(counted[0]) if counted else None
            releases.append(release_of(entry, parameters, source, count))
            source = releases[-1] if decision == "perturbed" else source
        entries.append(entry | {"key": KEY, "epoch": 0, "previous": "", "hash": ""})
    return seal(cover(Written(entries, releases)))


def parameters_of(words: Record) -> Record:
    """Return complete policy parameters from the short ones in a text."""
    scheme = words.get("scheme", {"name": "uniform"})
    if "plain" in words:
        protection: Record = {"level": "event", "step": SECOND}
        return {"epsilon": 1e-7, "protection": protection, "scheme": scheme, "value": VALUE}
    protection = dict(HOURS) if "hours" in words else {"level": "landmark", **FOUR}
    protection |= {name: words[name] for name in ("landmarks", "spare", "window") if name in words}
    value = CATEGORIES if words["value"].get("kind") == "category" else VALUE | words["value"]
    if "transitions" in value:
        value = value | {"transitions": SUMMER}
    return {"epsilon": 1e-7, "protection": protection, "scheme": scheme, "value": value}


def release_of(entry: Record, parameters: Record, source: Record | None, count: Any) -> Record:
    """Return a release that is consistent with its entry."""
    value = parameters["value"]
    told = {} if "statistic" not in value else {"statistic": value["statistic"]}
    release: Record = {"series": entry["series"], "timestamp": entry["timestamp"]}
    match entry["decision"]:
        case "perturbed":
            estimate, measurement = measured(value, count)
            release |= {"value": estimate, "decision": "perturbed", "measurement": measurement}
            spend, window = entry["epsilon_nano"], parameters["protection"].get("window", 1)
            release |= {"epsilon_nano": spend, "scale": scale_of(value, spend, window, count)}
            told |= {} if count is None else {"count": count}
        case "approximated":
            assert source is not None
            release |= {"value": source["value"], "decision": "approximated", "source": source["timestamp"]}
        case _:
            release |= {"decision": "withheld"}
    return release | {"policy": entry["policy"]} | told


def measured(value: Record, count: Any) -> tuple[Any, Any]:
    """Return estimate and measurement of a statistic; the measurement is 23 cells of 0.5, or as many units."""
    if value.get("by"):
        found = {name: 11.5 / (units if value["statistic"] == "mean" else 1) for name, units in count.items()}
        most = 10.0 if value["statistic"] == "mean" else 11.5
        return {name: min(each, most) for name, each in found.items()}, found
    match value.get("statistic"):
        case None:
            return 10.0, 11.5
        case "mean":
            return min(11.5 / count, 10.0), 11.5 / count
        case "sum":
            return 11.5, 11.5
        case "share":
            return 1.0, 23 / count
        case _ if value["kind"] == "category":
            return {"in": 23, "out": 0, "true": 4}, {"in": 23, "out": -7, "true": 4}
        case _:
            return [23, 0, 4], [23, -7, 4]


def scale_of(value: Record, spend: int, window: int, count: Any) -> Any:
    """Return the scale of the noise: w*D*res/(e*n), w*D*res/e, w/(e*n) or 2*w/e, where D*res is 10."""
    match value.get("statistic"):
        case None | "sum":
            return window * 10 * NANO / spend
        case "mean" if isinstance(count, dict):
            return {name: window * 10 * NANO / (spend * units) for name, units in count.items()}
        case "mean":
            return window * 10 * NANO / (spend * count)
        case "share":
            return window * NANO / (spend * count)
        case _:
            return 2 * window * NANO / spend
