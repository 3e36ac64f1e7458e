"""Workers of an older version are replaced under load, and one is rolled back: all decisions stay the same.

    git worktree add older COMMIT
    python -m pytest tests/faults/load/test_upgrade.py --older=older -s

The older version must know every kind of record in the workload.
"""

from pathlib import Path

from stream_app.localbroker.broker import LocalBroker
from tests.faults.load.underload import Run, under_load

MORE = 2_000
"""Outputs between two changes."""


async def _replace(run: Run, name: str, tree: Path | None) -> None:
    """Stop a worker as an orchestrator does, and start it again from the checkout ``tree``."""
    await run.stop(name)
    run.mark(f"start {name} {'older' if tree else 'newer'}")
    await run.fleet.start(name, tree).until_ready()
    await run.until_decided_more(MORE)


async def test_versions_side_by_side_decide_alike(broker: LocalBroker, tmp_path: Path, older: Path) -> None:
    """Both workers are replaced by newer ones; then one is rolled back and upgraded again."""
    async with under_load(broker.bootstrap_servers, tmp_path / "upgrade", 200, standby=1) as run:
        for name in "ab":
            await run.fleet.start(name, older).until_ready()
        await run.until_decided_more(MORE)
        for name, tree in (("a", None), ("b", None), ("a", older), ("a", None)):
            await _replace(run, name, tree)
    await run.report()


async def test_a_version_that_decides_otherwise_follows_the_page(
    broker: LocalBroker, tmp_path: Path, older: Path
) -> None:
    """All older workers end, the start is rehearsed, newer ones continue: no place has two different records.

    No replay by the newer version reproduces what the older one decided; the audit and everything else hold.
    """
    async with under_load(broker.bootstrap_servers, tmp_path / "otherwise", 200, standby=1, replay=False) as run:
        for name in "ab":
            await run.fleet.start(name, older).until_ready()
        await run.until_decided_more(MORE)
        for name in "ab":
            await run.stop(name)
        site = run.fleet.site
        rehearsal = site.command("worker", "--rehearse", "--config", str(site.config())).stdout.decode().splitlines()
        assert len(rehearsal) == site.partitions
        assert all("continues; 0 ledger entries must be computed again" in line for line in rehearsal), rehearsal
        await run.start("a", "b")
        await run.until_decided_more(MORE)
        run.kill("a")
        await run.until_decided_more(MORE)
        await run.start("a")
        await run.until_decided_more(MORE)
    await run.report()
