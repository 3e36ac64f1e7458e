"""Runs of `replay` that crash: nothing that was shown is drawn again."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.replaying.folder import KEY_NAME, OUTPUTS, ReplayFolder
from tests.cli.records.test_replayfolder import STEPS, VALUES, Site, log
from tests.command import saved
from tests.run import MADE_UP, observation


class _Died(BaseException):
    """The process ended."""


def shown(site: Site) -> set[tuple[str, int, str]]:
    """Return the key, step and hash of every release named by any ledger, in its place or moved aside."""
    ledgers = [path for path in site.out.glob("ledger.jsonl*") if path.suffix != ".new"]
    entries = [json.loads(line) for path in ledgers for line in path.read_text().splitlines()]
    return {(entry["key"], entry["timestamp"], entry["release"]) for entry in entries if entry["entry"] == "release"}


@pytest.mark.parametrize("way", ["grown", "replaced"])
def test_a_crash_anywhere_draws_nothing_anew(site: Site, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """After a crash at any change of a file's name, no key ever draws two releases of one step."""
    records = log(VALUES)
    words = ["--replace"] if way == "replaced" else []
    begun = log([9.0, *VALUES]) if words else [*records, observation("a", STEPS, 1)]
    other = log([8.0, *VALUES]) if words else [*records, observation("a", STEPS, 2)]
    cuts, ended = 0, False
    while not ended:
        for nth, following in enumerate((begun, other, records)):
            one = Site(site.folder / f"{cuts}-{nth}", site.cli)
            one.run(records)
            ended = _cut(monkeypatch, lambda one=one: one.run(begun, *words), cuts)  # type: ignore[misc]
            found = shown(one)
            code = main(
                ["replay", *MADE_UP, saved(one.folder / "events.jsonl", *following), "--out", str(one.out), *words]
            )
            found |= shown(one)
            assert code == 0 or (following is not begun and not words)
            assert len({(key, step) for key, step, _ in found}) == len(found)
        cuts += 1
    assert cuts > len(OUTPUTS) + 1


def _cut(monkeypatch: pytest.MonkeyPatch, attempt: Callable[[], object], after: int) -> bool:
    """Run ``attempt``, crash it at its name change number ``after``, and return whether it survived."""
    left = after
    true = {name: getattr(Path, name) for name in ("rename", "replace")}

    def dying(name: str) -> Callable[[Path, Path], Path]:
        def change(path: Path, target: Path) -> Path:
            nonlocal left
            if left == 0:
                raise _Died
            left -= 1
            found: Path = true[name](path, target)
            return found

        return change

    with monkeypatch.context() as patched:
        for name in true:
            patched.setattr(Path, name, dying(name))
        with suppress(_Died):
            attempt()
            return True
    return False


def test_one_run_at_a_time(site: Site) -> None:
    """Two concurrent runs could decide two inputs under one key."""
    with ReplayFolder.claimed(site.out):
        assert "another `replay`" in site.run(log(VALUES), code=2)
    site.run(log(VALUES))


def test_a_crash_leaves_no_part_of_a_key(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key gets its name once it is whole; a partial key left under another name blocks nobody."""
    assert _cut(monkeypatch, lambda: site.run(log(VALUES)), 0) is False
    assert not site.out.exists() or [path.name for path in site.out.iterdir()] in ([], [f"{KEY_NAME}.new"])
    site.out.mkdir(exist_ok=True)
    (site.out / f"{KEY_NAME}.new").write_bytes(b"")
    site.run(log(VALUES))


@pytest.mark.parametrize("damage", [b"", b'{"format":1,"fing'])
def test_a_damaged_key_is_moved_aside_on_demand_alone(site: Site, damage: bytes) -> None:
    """Another key is a second measurement: the error names both options, and the old ledger stays."""
    site.run(log(VALUES))
    before, key = site.outputs(), (site.out / KEY_NAME).read_bytes()
    (site.out / KEY_NAME).write_bytes(damage)
    told = site.run(log(VALUES), code=2)
    assert (
        "is not a key file of format 1; restore it from a backup. Or specify another folder, or add --replace" in told
    )
    (site.out / KEY_NAME).write_bytes(key)
    site.run(log(VALUES))
    assert site.outputs() == before
    (site.out / KEY_NAME).write_bytes(damage)
    site.run(log(VALUES), "--replace")
    assert [(site.out / f"{name}.1").read_bytes() for name in OUTPUTS] == before
    assert (site.out / f"{KEY_NAME}.1").read_bytes() == damage
    assert site.measurements() != site.measurements("releases.jsonl.1")
