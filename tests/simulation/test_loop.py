"""The loop in virtual time: nobody waits, orders are drawn, and a killed process does nothing more."""

import asyncio
import threading
import time

import pytest

from tests.simulation.loop import NeverEndsError, Process, VirtualLoop, run

DAY_SECONDS = 86_400.0


def test_a_day_passes_at_once() -> None:
    """Sleeps and timeouts take time on the loop's clock, but none on the wall clock."""

    async def main(loop: VirtualLoop) -> list[float]:
        """Run in virtual time."""
        await asyncio.sleep(DAY_SECONDS)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2 * DAY_SECONDS):
                await asyncio.Event().wait()
        return [loop.time()]

    began = time.monotonic()
    assert run(1, main) == [3 * DAY_SECONDS]
    assert time.monotonic() - began < DAY_SECONDS / 100


def test_there_are_no_threads() -> None:
    """Work that goes to a thread elsewhere is done immediately: the next timer does not overtake it."""

    async def main(loop: VirtualLoop) -> list[float]:
        """Run in virtual time, beside a timer that is due next."""
        loop.call_later(DAY_SECONDS, int)
        here = await asyncio.to_thread(threading.get_ident)
        return [here - threading.get_ident(), loop.time()]

    assert run(1, main) == [0, 0]


def test_the_seed_draws_the_order() -> None:
    """Callbacks ready at the same time run in an order that depends only on the seed."""

    def order(seed: int) -> list[int]:
        async def main(_: VirtualLoop) -> list[int]:
            """Run in virtual time."""
            found: list[int] = []

            async def note(number: int) -> None:
                """Note the order."""
                for _ in range(3):
                    await asyncio.sleep(0)
                    found.append(number)

            await asyncio.gather(*(note(number) for number in range(5)))
            return found

        return run(seed, main)

    assert order(7) == order(7)
    assert len({tuple(order(seed)) for seed in range(20)}) > 10


def test_a_killed_process_runs_no_cleanup() -> None:
    """As after kill -9, no `finally` and no `except` runs until the run is over."""
    said: list[str] = []

    async def main(loop: VirtualLoop) -> None:
        """Run in virtual time."""
        process = Process("victim")

        async def live() -> None:
            """Be the process."""
            try:
                await asyncio.sleep(1)
                said.append("worked")
                await asyncio.sleep(10)
            finally:
                said.append("cleaned up")

        loop.start(process, live())
        await asyncio.sleep(5)
        loop.kill(process)
        await asyncio.sleep(100)
        assert said == ["worked"]

    run(1, main)


def test_a_frozen_process_goes_on_late() -> None:
    """Timers that fell due while it was frozen fire when it wakes."""
    at: list[float] = []

    async def main(loop: VirtualLoop) -> None:
        """Run in virtual time."""
        process = Process("zombie")

        async def live() -> None:
            """Be the process."""
            await asyncio.sleep(1)
            at.append(loop.time())

        loop.start(process, live())
        await asyncio.sleep(0.5)
        loop.freeze(process)
        await asyncio.sleep(49.5)
        loop.wake(process)
        await asyncio.sleep(1)

    run(1, main)
    assert at == [50.0]


def test_a_wait_without_end_is_found() -> None:
    """A wait for something that never comes is reported, not waited for."""

    async def main(_: VirtualLoop) -> None:
        """Run in virtual time."""
        await asyncio.Event().wait()

    with pytest.raises(NeverEndsError):
        run(1, main)
