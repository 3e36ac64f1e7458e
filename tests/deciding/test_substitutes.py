"""What a substitute hides and what it cannot: the statements of the guarantee and of the policies page, one by one."""

import json
from typing import Any

import pytest

from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rows import load
from stream_app.privacy.kinds import Category, Counts, Location, Number, Vector
from stream_app.privacy.policy import PolicyError, policy_of, stored_policy_of
from stream_app.privacy.values import Raw
from tests.run import CATEGORY, COUNTS, KEYS, LOCATION, NUMBER, VECTOR, Record, Run, observation, policy, reason

STRANGE = [None, "five", [1], {"walk": 1}, {"latitude": 1}]
"""Of no kind below."""
NARROW = {**NUMBER, "sensitivity": 1, "invalid": 5}
TELLING = [
    NARROW,
    {**COUNTS, "invalid": {"walk": 1}},
    {**LOCATION, "invalid": {"latitude": -11.0, "longitude": -37.1}},
]


@pytest.mark.parametrize(
    ("value", "invalid"),
    [
        ({**NUMBER, "invalid": 5}, [*STRANGE, True]),
        ({**NUMBER, "sensitivity": 99, "invalid": 5}, [*STRANGE, True]),
        ({**CATEGORY, "invalid": "ill"}, [*STRANGE, False, 3, 1.5]),
        ({**VECTOR, "invalid": {"pulse": 60, "oxygen": 1}}, [*STRANGE, {"pulse": 60}, {"pulse": None, "oxygen": 1}]),
    ],
)
def test_where_any_two_are_neighbours_it_hides_validity(value: Record, invalid: list[object]) -> None:
    """Numbers of full sensitivity, vectors, categories: the bytes for an invalid value are the substitute's."""
    outputs = [
        Run().feed_all([policy("a", value=value), observation("a", 5, found)]).outputs
        for found in (value["invalid"], *invalid)
    ]
    assert all(found == outputs[0] for found in outputs)
    assert outputs[0][2] == []
    kind = policy_of(policy_parameters(value), 1).kind
    assert isinstance(kind, Number | Category | Vector)
    if isinstance(kind, Number):
        assert kind.substitute is not None
        assert max(kind.substitute[0] - kind.axis.low, kind.axis.high - kind.substitute[0]) <= kind.sensitivity


def policy_parameters(value: Any) -> dict[str, object]:
    """Return the parameters of a policy for such values."""
    return {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}, "value": value}


@pytest.mark.parametrize("value", TELLING, ids=["narrow number", "counts", "location"])
def test_elsewhere_it_is_refused(value: Record) -> None:
    """If a valid value may not be a neighbour of the substitute, no policy with one is adopted or configured."""
    with pytest.raises(PolicyError) as caught:
        policy_of(policy_parameters(value), 1)
    (fault,) = caught.value.faults
    assert fault.member == "value.invalid"
    assert 'use "reject"' in fault.message
    assert reason(Run().feed(policy("a", value=value))) == "invalid-policy"
    assert isinstance(Run().feed(policy("a", value={**value, "invalid": "reject"})), ProcessedRecord)


@pytest.mark.parametrize(
    ("value", "valid"),
    [(TELLING[0], 9), (TELLING[1], {"walk": 10**6}), (TELLING[2], {"latitude": -10.81, "longitude": -37.19})],
)
def test_there_it_told_validity(value: Record, valid: object) -> None:
    """A valid value further away than a neighbour was distinguishable from the substitute at any budget."""
    kind = stored_policy_of(policy_parameters(value), 1).kind
    cells, substitute = kind.quantise(Raw(valid)), kind.quantise(Raw(None))
    assert cells is not None
    assert substitute is not None
    apart = sum(abs(one - other) for one, other in zip(list(cells), list(substitute), strict=True))
    match kind:
        case Number() | Counts():
            assert apart > kind.sensitivity
        case Location():
            assert apart / kind.plane.cells_per_unit > 10 * kind.radius
        case Category() | Vector():
            pytest.fail("no such kind here")


@pytest.mark.parametrize("value", TELLING, ids=["narrow number", "counts", "location"])
def test_what_is_stored_goes_on(value: Record) -> None:
    """A row stored by an earlier release loads, and an invalid value is decided by its substitute."""
    before = Run().feed_all([policy("a", value={**value, "invalid": "reject"})])
    parameters = {**before.rows["a"].policy.parameters, "value": value}
    table = {
        b"sa": json.dumps(
            [1, before.rows["a"].previous, "", 10**9, 0, 0, 0, 0, 10**9, 0, -1, 0, -1, -1, 10**9, -1, [], [], [], False]
        ).encode(),
        b"pa": json.dumps({"policy": {"version": 1, "parameters": parameters}, "landmarks": []}).encode(),
    }
    row = load(table.get, "a", {})
    assert row is not None
    run = Run()
    run.rows["a"] = row
    outcome = run.feed(observation("a", 5, None))
    assert isinstance(outcome, ProcessedRecord)
    assert outcome.decision == "perturbed"
    assert run.context.keys is KEYS


@pytest.mark.parametrize(
    "value",
    [
        b'"\\ud800"',
        b'"a \\udc00 b"',
        b"1e309",
        b"-1e309",
        b"1" + b"0" * 400,
        b"NaN",
        b"Infinity",
        b"[" * 1024 + b"]" * 1024,
        b'"\xff"',
        b"01",
        b"'5'",
    ],
    ids=lambda value: value[:12].decode("latin-1"),
)
def test_what_no_substitute_hides(value: bytes) -> None:
    """JSON that the decoder cannot hold is malformed before any policy is checked, whatever its `invalid`."""
    run = Run().feed_all([policy("a", value={**NUMBER, "invalid": 5})])
    assert reason(run.feed(b'{"series":"a","timestamp":5,"value":%b}' % value)) == "malformed"


@pytest.mark.parametrize(
    "record", [b'{"series":"a","timestamp":5}', b'{"series":"a","timestamp":5,"value":"' + b"x" * 2**18 + b'"}']
)
def test_a_value_must_be_there_and_fit(record: bytes) -> None:
    """A missing value and a record of more than 256 KiB are also visible as rejects."""
    run = Run().feed_all([policy("a", value={**NUMBER, "invalid": 5})])
    assert isinstance(run.feed(record), RejectedRecord)


@pytest.mark.parametrize(
    "value", [b"1e308", b"1e-400", b"18446744073709551616", b"[" * 1000 + b"]" * 1000, b'"\\ud83d\\ude00"', b"null"]
)
def test_what_a_substitute_hides(value: bytes) -> None:
    """Any other JSON is decided: read, clamped, or substituted."""
    run = Run().feed_all([policy("a", value={**NUMBER, "invalid": 5})])
    assert isinstance(run.feed(b'{"series":"a","timestamp":5,"value":%b}' % value), ProcessedRecord)
