"""The live backward loss: a series' row describes a Markov adversary, and no output depends on it."""

import json

import pytest

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.rebuild import rebuild
from stream_app.loss.correlation import Correlation
from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary
from tests.run import KEYS, SCHEMES, Record, Run, observation, policy

CAO = Envelope.of(TransitionMatrix.dense([[0.8, 0.2], [0, 1]]))
HALF = Correlation.of_strength(5, 0.5).adversary().backward
LIMITS = Limits(lifetime_nano=10**11)
KNOWN = Context(KEYS, limits=LIMITS, correlations={"household": CAO, "town": HALF})
LANDMARKS = {"level": "landmark", "landmarks": [[40, 60]], "step": 10}


def log(**members: object) -> list[Record]:
    """Return a series with gaps, late events and a registration, under Adaptive unless given otherwise."""
    first = {"protection": LANDMARKS, "scheme": SCHEMES["adaptive"], "correlation": "household"} | members
    steps = (1, 2, 3, 5, 4, 6, 7, 30, 31, 33, 33, 2_000, 2_001, 10**9)
    moves: list[Record] = [observation("a", 10 * step, step % 10) for step in steps]
    return [policy("a", 1, **first), *moves[:6], {"type": "landmarks", "series": "a", "add": [2000]}, *moves[6:]]


def spent(run: Run) -> dict[int, int]:
    """Return the spend of each step in a run's ledger, in nano-epsilon, by timestamp."""
    entries = [json.loads(entry) for entry in run.ledger]
    return {entry["timestamp"]: entry.get("epsilon_nano", 0) for entry in entries if entry["entry"] == "release"}


def loss_of(run: Run) -> float | None:
    """Return the loss that the row contains now."""
    return run.rows["a"].backward_loss


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_is_that_of_every_step_one_by_one(scheme: str) -> None:
    """Steps without event count as zero spends (design section 7): the whole sequence gives the same loss."""
    run, last = Run(KNOWN), 2_001
    for record in log(scheme=SCHEMES[scheme])[:-1]:
        run.feed(record)
        spends = spent(run)
        if spends:
            epsilons = [spends.get(10 * step, 0) / 1e9 for step in range(max(spends) // 10 + 1)]
            wanted = Adversary(CAO).temporal_loss(epsilons).backward[-1]
            assert run.rows["a"].backward_loss == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    assert max(spent(run)) == 10 * last


def test_no_output_depends_on_it() -> None:
    """Known, unknown or unnamed, it changes no byte of releases and rejects, and in the ledger only the policy."""
    known, unknown = (Run(context).feed_all(log()) for context in (KNOWN, Context(KEYS, limits=LIMITS)))
    assert known.outputs == unknown.outputs
    nameless = Run(KNOWN).feed_all(log(correlation=None))
    assert nameless.outputs[::2] == known.outputs[::2]
    assert nameless.rows["a"].backward_loss is None
    assert KNOWN.fingerprint == Context(KEYS, limits=LIMITS).fingerprint


def test_what_is_not_known_never_fades() -> None:
    """Under a name missing from the configuration, the loss is the sum of all spends, which is always valid."""
    run = Run(Context(KEYS, limits=LIMITS)).feed_all(log())
    assert run.rows["a"].backward_loss == pytest.approx(sum(spent(run).values()) / 1e9)


def test_over_policy_versions() -> None:
    """Nothing fades between periods; the loss ends with a policy that names none, and starts over after it."""
    run = Run(KNOWN).feed_all([policy("a", correlation="household"), *(observation("a", at, 1) for at in (1, 2, 3))])
    first = loss_of(run)
    assert first
    run.feed(policy("a", 2, correlation="town"))
    assert loss_of(run) == first
    run.feed(observation("a", 500, 1))
    assert loss_of(run) == first + spent(run)[500] / 1e9
    run.feed_all([policy("a", 3), observation("a", 501, 1)])
    assert loss_of(run) is None
    run.feed_all([policy("a", 4, correlation="town"), observation("a", 502, 1)])
    assert loss_of(run) == spent(run)[502] / 1e9
    assert rebuild(KNOWN, run.ledger, run.releases) == run.rows


def test_rows_hold_it_and_ledger_and_releases_give_it_back() -> None:
    """After every record, the stored row reads back equal, and `recover` rebuilds the same bytes."""
    run = Run(KNOWN)
    for record in log():
        run.feed(record)
        row = run.rows["a"]
        stored = dict(rows.dump(row, None, set()))
        assert rows.load(stored.get, "a", {}) == row
        assert rows.stored_loss(stored[b"sa"]) == row.backward_loss
        assert dict(rows.dump(rebuild(KNOWN, run.ledger, run.releases)["a"], None, set())) == stored


def test_a_row_without_one_is_that_of_earlier_versions() -> None:
    """Rows with twenty fields, from before the backward loss, are read; series without one need no extra byte."""
    without, with_one = Run(KNOWN).feed_all(log(correlation=None)).rows["a"], Run(KNOWN).feed_all(log()).rows["a"]
    for row, fields in ((without, 20), (with_one, 21)):
        assert len(json.loads(dict(rows.dump(row, None, set()))[b"sa"])) == fields
