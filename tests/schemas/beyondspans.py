"""The rules of `beyond.py` about times in policies: spans of landmarks, renewals, ranges of dummies."""

import itertools

from tests.schemas.rule import COMPARE, COMPUTE, ITEMS, Rule, Sent, policy, rule, sent

MOST_DUMMY_STEPS = {"optimal": 16, "heuristic": 16384, "partitioned": 16384, "padding": 65536}
SPAN_RULES: list[Rule] = []


def _dummies(method: str, start: int, end: int) -> Sent:
    document = policy(landmarks=[5]).document
    return sent("policy", document | {"dummies": {"method": method, "start": start, "end": end}})


@rule(SPAN_RULES, "an interval starts before its end", COMPARE, policy(landmarks=[[9, 5]]))
def _backward_interval(given: Sent) -> bool:
    spans = {
        "landmarks": lambda: given.document["add"],
        "policy": lambda: given.document["protection"].get("landmarks", []),
    }.get(given.record, list)()
    return any(isinstance(span, list) and span[0] >= span[1] for span in spans)


@rule(SPAN_RULES, "the bounds of a renewal ascend", ITEMS, sent("policy", policy().document | {"renew": [5, 9, 9]}))
def _unordered_bounds(given: Sent) -> bool:
    bounds = (given.document.get("renew") if given.record == "policy" else None) or []
    return any(after <= before for before, after in itertools.pairwise(bounds))


def _range(given: Sent) -> tuple[str, int, int, int] | None:
    """Return the method of a policy's dummies, the start and end of their range, and the length of a step."""
    dummies = given.document.get("dummies") if given.record == "policy" else None
    if not dummies:
        return None
    return dummies["method"], dummies["start"], dummies["end"], given.document["protection"].get("step", 1)


@rule(SPAN_RULES, "a range of dummies starts before its end", COMPARE, _dummies("heuristic", 5, 5))
def _backward_range(given: Sent) -> bool:
    found = _range(given)
    return found is not None and found[1] >= found[2]


@rule(SPAN_RULES, "a range of dummies has no more steps than its method takes", COMPUTE, _dummies("optimal", 0, 17))
def _long_range(given: Sent) -> bool:
    found = _range(given)
    if found is None:
        return False
    method, start, end, step = found
    return -(-end // step) - start // step > MOST_DUMMY_STEPS[method]


@rule(SPAN_RULES, "all landmarks lie in the range of dummies", COMPARE, _dummies("heuristic", 6, 20))
def _landmark_outside(given: Sent) -> bool:
    found = _range(given)
    if found is None or _backward_range(given):
        return False
    _, start, end, step = found
    first, last = start // step, (end - 1) // step
    for span in given.document["protection"].get("landmarks", []):
        ends = span if isinstance(span, list) else [span, span + 1]
        if ends[0] < ends[1] and not first <= ends[0] // step <= (ends[1] - 1) // step <= last:
            return True
    return False
