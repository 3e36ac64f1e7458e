"""The commit under way."""

import asyncio

import pytest

from stream_app.kafka.owner.pendingcommit import Flight


async def _commit(gone: asyncio.Event) -> None:
    await gone.wait()


async def _fail() -> None:
    raise ConnectionError


async def test_a_commit_is_over_before_it_is_landed() -> None:
    """Its end is told at once; how it ended when it is landed."""
    told = asyncio.Event()
    flight, gone = Flight(told.set), asyncio.Event()
    flight.begin(_commit(gone))
    assert (flight.over, flight.empty) == (False, False)
    gone.set()
    await told.wait()
    assert (flight.over, flight.empty) == (True, False)
    await flight.land()
    assert (flight.over, flight.empty) == (False, True)


async def test_landing_raises_what_went_wrong() -> None:
    """Once, and it is gone."""
    flight = Flight(lambda: None)
    flight.begin(_fail())
    with pytest.raises(ConnectionError):
        await flight.land()
    assert flight.empty
    await flight.land()


async def test_dropping_waits_and_forgives() -> None:
    """A commit that fails meanwhile is no matter any more."""
    flight = Flight(lambda: None)
    flight.begin(_fail())
    await flight.drop()
    assert flight.empty


async def test_cancelling_cuts_short() -> None:
    """It does not wait for a commit that never ends."""
    flight = Flight(lambda: None)
    flight.begin(_commit(asyncio.Event()))
    await asyncio.sleep(0)
    await flight.cancel()
    assert flight.empty
