"""Work that is done periodically."""

import asyncio

import pytest

from stream_app.monitoring.periodic import run_periodically

RAW = "7.319"


async def test_trouble_ends_no_later_turn(caplog: pytest.LogCaptureFixture) -> None:
    """A turn that raises is reported without its error's message, and the next turns follow."""
    turns, done = 0, asyncio.Event()

    async def look() -> None:
        """Fail at first."""
        nonlocal turns
        turns += 1
        if turns == 1:
            raise ValueError(RAW)
        if turns == 3:
            done.set()

    task = asyncio.create_task(run_periodically("looking", look, 0.0))
    await done.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "looking failed; it will be tried again"
    ]
    assert "ValueError at test_periodic.py" in caplog.text
    assert RAW not in caplog.text
