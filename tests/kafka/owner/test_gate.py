"""The gate before each batch."""

import asyncio

import pytest

from stream_app.kafka.owner.partition import Gate
from tests.patience import PATIENCE_SECONDS


async def _walk(gate: Gate, through: list[int]) -> None:
    while True:
        if gate.shut:
            await gate.passed()
        through.append(len(through))
        await asyncio.sleep(0)


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_nobody_gets_through_a_shut_gate() -> None:
    """Once somebody waits at the gate, nothing moves until it opens."""
    gate, through = Gate(), list[int]()
    walker = asyncio.create_task(_walk(gate, through))
    await _turns(3)
    assert through
    gate.close()
    await gate.reached(walker, PATIENCE_SECONDS)
    passed = len(through)
    await _turns(10)
    assert len(through) == passed
    gate.open()
    await _turns(10)
    assert len(through) > passed
    walker.cancel()


async def test_a_second_closing_waits_anew() -> None:
    """A walker that waited at the first closing does not count for the second."""
    gate = Gate()
    gate.close()
    first = asyncio.create_task(gate.passed())
    await gate.reached(first, PATIENCE_SECONDS)
    gate.open()
    await first
    gate.close()
    late = asyncio.create_task(asyncio.sleep(3600))
    await gate.reached(late, 0.01)  # nobody comes
    assert not late.done()
    late.cancel()


@pytest.mark.parametrize("failing", [False, True])
async def test_who_ends_is_not_waited_for(*, failing: bool) -> None:
    """A walker that ends before reaching the gate, well or not, lets the caller continue."""

    async def end() -> None:
        """End, well or not."""
        await asyncio.sleep(0)
        assert not failing

    gate = Gate()
    gate.close()
    task = asyncio.create_task(end())
    await gate.reached(task, PATIENCE_SECONDS)
    assert task.done()
    assert (task.exception() is not None) == failing
