"""Views in a worker: any batches, any crash, and rows rebuilt from the ledger give the same as one run."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.decider import Decider
from stream_app.deciding.members import Member
from stream_app.deciding.rebuild import rebuilt
from stream_app.kafka.memory.rows import MemoryRows
from tests.deciding.units.test_batches import Out, Worker, outlets, records_of
from tests.deciding.views.logs import BASE, context, logs, run_of
from tests.suite.speeds import scaled


@given(log=logs(), cuts=st.lists(st.integers(0, 40), max_size=5), dies=st.sets(st.integers(0, 5)))
@settings(max_examples=scaled(100))
def test_any_cut_and_any_crash_give_the_same_bytes(log: Sequence[Any], cuts: list[int], dies: set[int]) -> None:
    """A lost batch is decided again from the rows, for base and views alike."""
    records = records_of(log)
    bounds = sorted({0, len(records), *(min(cut, len(records)) for cut in cuts)})
    out: Out = {}
    once: Out = {}
    worker, collection = Worker(MemoryRows(), out), Collection(bytes(32))
    rows: dict[str, Any] = {}
    members: dict[str, Member] = {}
    for number, (start, end) in enumerate(pairwise(bounds)):
        if number in dies:
            before = {topic: len(found) for topic, found in out.items()}
            worker.commit()
            worker.decide(context(), records[start:end])
            worker.begin_anew()
            for topic, found in out.items():
                del found[before.get(topic, 0) :]
        worker.decide(context(), records[start:end])
        alone = Decider(context(), rows.get, outlets(once), collection, members.get)
        alone.decide(records[start:end])
        rows |= alone.changed
        members |= alone.members
    worker.commit()
    assert out == once
    assert {name: worker.reader.find(name) for name in rows} == rows
    event(f"views: {rows[BASE].views.begun if BASE in rows else None}")


@given(log=logs())
@settings(max_examples=scaled(100))
def test_the_ledger_tells_the_rows_of_base_and_views(log: Sequence[Any]) -> None:
    """The exceptions are open data and refused views, which come from the input and the rejects."""
    run = run_of(*log)
    told = rebuilt(run.context, run.ledger, run.releases)
    known = {
        name: replace(row, open_units=None, views=row.views._replace(refused=())) for name, row in run.rows.items()
    }
    assert told.rows == known
    assert told.members == run.members
