"""Which policies may collect what: each wrong member is named, and omitted members get defaults."""

from typing import Any

import pytest

from stream_app.privacy.kinds import Choice, HiddenMean, Mean, Sum
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from tests.collected import NUMBER
from tests.run import ADAPTIVE, BALANCED, SKIP, UNIFORM, VECTOR

CHOICE = {"kind": "choice", "items": ["north", "south"]}
COUNTS = {"kind": "counts", "keys": ["north", "south"]}
SUM = {"neighbours": "replace", "open_steps": 2, "statistic": "sum"}
MEAN = SUM | {"statistic": "mean"}
HIDDEN = MEAN | {"neighbours": "add-remove"}
CHOOSE = {"neighbours": "replace", "open_steps": 2}
WINDOW = {"level": "w-event", "window": 3}


def policy(**members: Any) -> Policy:
    """Return a policy over numbers that are added up, except for these members."""
    good = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": UNIFORM, "value": NUMBER, "collect": SUM}
    return policy_of({name: part for name, part in (good | members).items() if part is not None}, 1)


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"collect": CHOOSE}, "collect"),
        ({"collect": SUM | {"statistic": "median"}}, "collect.statistic"),
        ({"value": COUNTS}, "collect.statistic"),
        ({"value": CHOICE}, "collect.statistic"),
        ({"value": VECTOR}, "collect"),
        ({"value": VECTOR, "collect": CHOOSE}, "collect"),
        ({"filter": "level"}, "filter"),
        ({"collect": MEAN, "filter": "level"}, "filter"),
        ({"value": CHOICE, "collect": CHOOSE, "filter": "level"}, "filter"),
        ({"value": NUMBER | {"sensitivity": 7}}, "value.sensitivity"),
        ({"value": NUMBER | {"invalid": 1}}, "value.invalid"),
        ({"value": NUMBER | {"upper": 2**30 + 0.5}}, "value.resolution"),
        ({"value": NUMBER | {"lower": -(2**30) - 0.5}}, "value.resolution"),
        ({"collect": HIDDEN, "scheme": ADAPTIVE}, "scheme.name"),
        ({"collect": HIDDEN, "scheme": {"name": "bd"}, "protection": WINDOW}, "scheme.name"),
        ({"collect": HIDDEN, "scheme": {"name": "ba"}, "protection": WINDOW}, "scheme.name"),
        ({"collect": HIDDEN | {"intrusion_nano": 10**9}}, "collect.intrusion_nano"),
        ({"collect": SUM | {"intrusion_nano": 1}, "value": NUMBER | {"upper": 2.0**30}}, "collect.intrusion_nano"),
        ({"value": CHOICE, "collect": CHOOSE | {"intrusion_nano": 10**9}}, "collect.intrusion_nano"),
        ({"value": CHOICE, "collect": None}, "collect"),
        ({"value": CHOICE | {"items": ["north"]}, "collect": CHOOSE}, "value.items"),
        ({"value": CHOICE | {"items": ["north", "north"]}, "collect": CHOOSE}, "value.items"),
        ({"value": CHOICE | {"items": [str(n) for n in range(4097)]}, "collect": CHOOSE}, "value.items"),
        ({"value": CHOICE | {"items": ["north", True]}, "collect": CHOOSE}, "value.items"),
        ({"value": CHOICE | {"clamp": True}, "collect": CHOOSE}, "value.clamp"),
        (
            {"value": CHOICE | {"items": [str(n) for n in range(4096)]}, "collect": CHOOSE | {"open_steps": 17}},
            "collect.open_steps",
        ),
        (
            {"scheme": {"name": "ba", "dissimilarity": "private"}, "protection": WINDOW},
            "scheme.dissimilarity",
        ),
    ],
)
def test_what_is_refused(members: dict[str, Any], member: str) -> None:
    """The error names the member and contains the remedy."""
    with pytest.raises(PolicyError) as caught:
        policy(**members)
    assert any(fault.member.startswith(member) for fault in caught.value.faults), caught.value.faults


@pytest.mark.parametrize(
    ("collect", "kind", "sensitivity"),
    [
        (SUM, Sum, 14),
        (SUM | {"neighbours": "add-remove"}, Sum, 10),
        (SUM | {"intrusion_nano": 10**9}, Sum, 14),
        (MEAN, Mean, 14),
        (MEAN | {"intrusion_nano": 10**9}, Mean, 14),
        (HIDDEN, HiddenMean, 7),
    ],
)
@pytest.mark.parametrize("scheme", [UNIFORM, BALANCED, SKIP])
def test_what_sums_and_means_are(collect: Any, kind: Any, sensitivity: int, scheme: Any) -> None:
    """They have the contract's sensitivities over cells -4 .. 10, and no filter, even under Balanced."""
    found = policy(collect=collect, scheme=scheme)
    assert isinstance(found.kind, kind)
    assert found.kind.item.sensitivity == sensitivity
    assert found.filter == "none"
    assert found.rule is None, "nothing collected is decided as columns"
    assert policy(collect=collect, scheme=scheme, filter="none").filter == "none"


def test_the_largest_items_and_choices() -> None:
    """Items may have 2^31 cells either way, and choices 4,096 items."""
    assert policy(value={"kind": "number", "lower": -(2**31), "upper": 2**31, "resolution": 1}).kind.width == 1
    found = policy(value=CHOICE | {"items": [str(n) for n in range(4096)]}, collect=CHOOSE | {"open_steps": 16})
    assert isinstance(found.kind, Choice)
    assert found.filter == "none"
    assert policy(value=CHOICE, collect=CHOOSE, scheme=BALANCED).filter == "none"
