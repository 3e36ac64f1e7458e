"""A partition that was last written under another noise key: nobody goes on with it unless that is accepted."""

import json
from dataclasses import replace

import pytest

from stream_app.privacy.noise.key import KeyRing
from tests.cluster.site import NAMES, Site, until
from tests.run import KEYS

OTHER = KeyRing("fedcba9876543210", 0, bytes(range(32, 64)))


def written(site: Site) -> list[int]:
    """Return how many committed records each output and the changelog have."""
    return [len(site.committed(name)) for name in (NAMES.ledger, NAMES.releases, NAMES.rejects, NAMES.changelog)]


def key_of(site: Site) -> str:
    """Return the fingerprint in the last partition row."""
    return str(site.rows()[-1]["key"])


async def decided_under(site: Site, keys: KeyRing, count: int, *, accept: bool = False) -> None:
    """Decide this many further events under a key."""
    site.keys = keys
    partitions, feed = await site.working("a", accept_new_key=accept)
    end = site.sent + count
    await site.send(feed, count)
    await until(lambda: site.decided() == end)
    await partitions.close()


async def stops_under(site: Site, keys: KeyRing) -> None:
    """Check that a worker with a key stops, and writes nothing."""
    site.keys = keys
    before = written(site)
    await site.stops("b", "key-changed")
    assert written(site) == before


async def test_another_key_stops_it_and_says_which(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Both fingerprints and the option are named, and nothing is written; under its own key it continues."""
    await decided_under(site, KEYS, 3)
    await stops_under(site, OTHER)
    told = caplog.text
    assert f"fingerprint {KEYS.fingerprint}, under which the partition was last written; found a key with" in told
    assert f"fingerprint {OTHER.fingerprint}. " in told
    assert "--accept-new-key" in told
    await decided_under(site, KEYS, 2)


async def test_accepted_once_it_is_the_key_from_then_on(site: Site) -> None:
    """It needs no further event, and later workers need no option; the old key is now the other one."""
    await decided_under(site, KEYS, 3)
    await decided_under(site, OTHER, 0, accept=True)
    assert key_of(site) == OTHER.fingerprint
    await stops_under(site, KEYS)
    await decided_under(site, OTHER, 2)
    used = [json.loads(one.value).get("key") for one in site.committed(NAMES.ledger)[1:]]
    assert used == [KEYS.fingerprint] * 4 + [OTHER.fingerprint] * 2


async def test_erased_epochs_make_it_no_other_key(site: Site) -> None:
    """A key keeps its fingerprint when the keys of old epochs are erased."""
    daily = replace(KEYS, epoch_ms=86_400_000)
    await decided_under(site, daily, 0)
    erased = daily.erased_before(0)
    later = daily.erased_before(5)
    assert erased is not None
    assert later is not None
    for keys in (erased, later):
        await decided_under(site, keys, 0)
        assert key_of(site) == KEYS.fingerprint


@pytest.mark.parametrize("recovered", [False, True])
async def test_what_binds_keeps_its_key(site: Site, *, recovered: bool) -> None:
    """Entries of an aborted batch bind: accepted or not, no other key decides them, and the old key continues.

    `recover` leaves them to the next owner.
    """
    await decided_under(site, KEYS, 2)
    site.keys = KEYS
    partitions, feed = await site.working("a")
    committing, ended = site.holds_commits("a")
    await site.send(feed, 2)
    await committing.wait()
    if recovered:
        await site.recover()
    site.keys = OTHER
    other, behind = site.worker("b", accept_new_key=True)
    behind.owner = other
    await other.assign([0], 2)
    await until(lambda: other.stopped == {0: "tail-differs"})
    assert key_of(site) == KEYS.fingerprint
    await other.close()
    ended.set()
    await partitions.close()
    site.keys = KEYS
    last, _ = site.worker("c")
    await last.assign([0], 3)
    await until(lambda: site.decided() == 4)
    await last.close()
    assert len(site.committed(NAMES.releases)) == 4
