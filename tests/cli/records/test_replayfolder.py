"""Successive runs of `replay` in a folder: which continue, which are refused, and what two of them reveal."""

import json
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.replaying.folder import OUTPUTS, read
from stream_app.setup import keyfile
from tests.command import Cli, saved
from tests.run import ACCEPTING, MADE_UP, NUMBER, observation, policy
from tests.suite.speeds import scaled

Record = dict[str, Any]
STEPS = 40


def log(values: list[float], epsilon: float = 50.0) -> list[Record]:
    """Return a policy that publishes every step, and readings of it."""
    ruling = policy("a", epsilon=epsilon, protection={"level": "event"}, scheme={"name": "uniform"}, value=NUMBER)
    return [ruling, *(observation("a", step, value) for step, value in enumerate(values))]


class Site:
    """A folder with an input and the results of `replay`."""

    def __init__(self, folder: Path, cli: Cli) -> None:
        """Begin with neither."""
        folder.mkdir(exist_ok=True)
        self.folder, self.out, self.cli = folder, folder / "out", cli

    def run(self, records: list[Record], *words: str, code: int = 0) -> str:
        """Decide ``records`` in the folder, which must exit with ``code``; return standard error."""
        events = saved(self.folder / "events.jsonl", *records)
        return self.cli("replay", *MADE_UP, events, "--out", self.out, *words, code=code).err

    def words(self, keyed: str) -> list[str]:
        """Return the options for the folder's own key, or for a key file, which is created for this."""
        if keyed == KEYED[0]:
            return []
        keyfile.create(self.folder / "key")
        return ["--key", str(self.folder / "key")]

    def outputs(self) -> list[bytes]:
        """Return the bytes of ledger, releases and rejects."""
        return [(self.out / name).read_bytes() for name in OUTPUTS]

    def measurements(self, name: str = "releases.jsonl") -> list[float]:
        """Return the measurements of a releases file."""
        return [json.loads(line)["measurement"] for line in (self.out / name).read_text().splitlines()]


KEYED = ("the folder's key", "a key file")
VALUES = [0.1 * step for step in range(STEPS)]


@pytest.mark.parametrize("cell", [0, 7, STEPS - 1])
def test_a_corrected_cell_cannot_be_found(site: Site, cell: int) -> None:
    """With ``--replace``, the noise of every other step changes too: all differ like the corrected step."""
    corrected = [*VALUES[:cell], VALUES[cell] + 0.5, *VALUES[cell + 1 :]]
    site.run(log(VALUES))
    site.run(log(corrected), code=2)
    site.run(log(corrected), "--replace")
    pairs = zip(site.measurements(), site.measurements("releases.jsonl.1"), strict=True)
    same = sum(first == second for first, second in pairs)
    # Noise of rate 50 a 10000th of the range: two draws are equal with probability below 0.002 each.
    assert same <= 3


def test_noise_of_two_runs_is_unrelated(site: Site) -> None:
    """Over many steps, the noise of a run and of its correction correlate no more than independent noise."""
    values = [5.0] * 4000
    site.run(log(values))
    site.run(log([*values[:-1], 6.0]), "--replace")
    first, second = (np.array(site.measurements(name)) - 5.0 for name in ("releases.jsonl.1", "releases.jsonl"))
    correlation = float(np.corrcoef(first, second)[0, 1])
    assert abs(correlation) < 5 / math.sqrt(len(values))  # five standard deviations


def test_start_noise_differs_with_the_key(site: Site) -> None:
    """Its seeds are in the input: unmixed, as workers need them, they draw the same noise under any key."""
    value, collect = {"kind": "counts", "keys": ["walk", "ride"]}, {"neighbours": "replace", "open_steps": 1}
    ruling = policy(
        "a",
        epsilon=1000.0,  # noise of the release itself: none, but for a chance of exp(-500) a cell
        protection={"level": "event", "step": 1000},
        scheme={"name": "uniform"},
        value=value,
        collect=collect | {"intrusion_nano": 1000},
    )
    seeds = [f"{nth:064x}" for nth in range(4)]
    marks = [
        {"type": "watermark", "series": "a", "timestamp": 1000 * nth, "seed": seed} for nth, seed in enumerate(seeds)
    ]
    found: dict[str, list[bytes]] = {"mixed": [], "unmixed": []}
    for nth in range(2):
        one = Site(site.folder / str(nth), site.cli)
        one.run([ruling, *marks])
        found["mixed"].append(one.outputs()[1])
        key = one.folder / "key"
        keyfile.create(key)
        one.out = one.folder / "unmixed"
        one.run([ruling, *marks], "--key", str(key))
        found["unmixed"].append(one.outputs()[1])
    assert found["unmixed"][0] == found["unmixed"][1]
    mixed = [{json.loads(line)["measurement"]["walk"] for line in lines.splitlines()} for lines in found["mixed"]]
    assert list(map(len, mixed)) == [3, 3]
    assert not mixed[0] & mixed[1]


@settings(max_examples=scaled(25), suppress_health_check=list(HealthCheck))
@given(
    values=st.lists(st.integers(0, 10), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 13), min_size=1, max_size=4).map(sorted),
    keyed=st.sampled_from(KEYED),
)
def test_inputs_that_grow_keep_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, cli: Cli, values: list[int], cuts: list[int], keyed: str
) -> None:
    """Every file is a beginning of the next one, and the audit of the last finds nothing."""
    site = Site(tmp_path_factory.mktemp("site"), cli)
    words = site.words(keyed)
    records = log([float(value) for value in values], epsilon=1.0)
    before = [b"", b"", b""]
    for cut in (*cuts, len(records)):
        # A folder that decided nothing is as good as an empty one.
        site.run(records[:cut], *words)
        for old, new in zip(before, site.outputs(), strict=True):
            assert new.startswith(old)
        before = site.outputs()
    cli("audit", "--ledger", site.out / OUTPUTS[0], "--releases", site.out / OUTPUTS[1])


Change = Callable[[list[Record]], list[Record]]
CHANGES: dict[str, Change] = {
    "corrected": lambda found: [*found[:3], {**found[3], "value": 9.5}, *found[4:]],
    "dropped": lambda found: [*found[:3], *found[4:]],
    "swapped": lambda found: [*found[:-2], found[-1], found[-2]],
    "shorter": lambda found: found[:-1],
    "another policy": lambda found: [{**found[0], "epsilon": 2.0}, *found[1:]],
    "another reject": lambda found: [*found[:2], {"series": "a"}, *found[2:]],
    "spelt otherwise": lambda found: [*found[:-1], {**found[-1], "note": 1}],
}


@pytest.mark.parametrize("keyed", KEYED)
@pytest.mark.parametrize("change", CHANGES)
def test_any_other_input_is_refused(site: Site, change: str, keyed: str) -> None:
    """This also holds if it has grown; nothing is touched, and the message has option, reason and way out."""
    words = site.words(keyed)
    records = log(VALUES)
    site.run(records, *words)
    before = {path.name: path.read_bytes() for path in site.out.iterdir()}
    for more in ([], [observation("a", STEPS, 1), observation("a", STEPS + 1, 1)]):
        if change == "shorter" and more:
            continue
        said = site.run([*CHANGES[change](records), *more], *words, code=2)
        assert said.startswith(f"landmark-stream replay: --out {site.out}: contains a ledger, and ")
        assert "the latest run" in said
        assert "--replace" in said
        assert {path.name: path.read_bytes() for path in site.out.iterdir()} == before
    said = site.run(CHANGES[change](records), *words, *ACCEPTING, "--replace")
    assert "*.1" in said
    assert "both budgets are spent" in said
    assert ("which values changed" in said) == (keyed == KEYED[1])
    for name, content in before.items():
        assert (site.out / f"{name}.1").read_bytes() == content
    # A folder goes on from its latest run, and a further replacement takes nothing away.
    site.run(CHANGES[change](records), *words)
    site.run(log([1.0, 2.0]), *words, "--replace")
    assert (site.out / "ledger.jsonl.1").read_bytes() == before["ledger.jsonl"]
    assert (site.out / "ledger.jsonl.2").exists()


def test_what_was_published_is_never_drawn_with_again(site: Site) -> None:
    """A return via ``--replace`` starts under a fresh key: a run that had grown cannot grow differently."""
    grown = log(VALUES)
    site.run(grown[:-1])
    site.run(grown)
    keys = {json.loads((site.out / "replay.json").read_text())["key"]}
    for records in (log([1.0]), grown[:-1]):
        site.run(records, "--replace")
        keys.add(json.loads((site.out / "replay.json").read_text())["key"])
    assert len(keys) == 3


def test_other_policies_and_settings_are_refused(site: Site) -> None:
    """Default policies and configuration are part of what a run decided."""
    defaults, config = site.folder / "policies.jsonl", site.folder / "settings.toml"
    defaults.write_text(json.dumps(policy("*")))
    config.write_text("lifetime_epsilon = 5.0\n")
    records, ruled = log(VALUES)[1:], ["--policies", str(defaults)]
    site.run(records, *ruled)
    assert "--config" in site.run(records, *ruled, "--config", str(config), code=2)
    defaults.write_text(json.dumps(policy("*", epsilon=2.0)))
    assert "--policies" in site.run(records, *ruled, code=2)


@pytest.mark.parametrize("keyed", KEYED)
def test_landmarks_that_dummies_hide_are_part_of_a_default_policy(site: Site, keyed: str) -> None:
    """Rows and ledger name that policy without them; two runs that differ only in them would reveal them."""
    defaults = site.folder / "policies.jsonl"
    words = [*site.words(keyed), "--policies", str(defaults)]
    records = log(VALUES)[1:]

    def run(*landmarks: int | list[int], code: int = 0) -> None:
        protection = {"level": "landmark", "step": 1, "landmarks": landmarks}
        dummies = {"method": "padding", "start": 0, "end": STEPS, "probability": 0.3}
        defaults.write_text(json.dumps(policy("*", protection=protection, scheme={"name": "uniform"}, dummies=dummies)))
        site.run(records, *words, code=code)

    run(10, 11)
    decided = site.outputs()
    for others in ((30, 31, 32), (10,), ()):
        run(*others, code=2)
        assert site.outputs() == decided
    run([10, 12])  # spelt otherwise they are the same
    assert site.outputs() == decided


def test_another_key_a_lost_one_and_an_old_folder_are_refused(site: Site) -> None:
    """Leftovers of an earlier version (key and ledger, no `replay.json`) never cause a silent new draw."""
    records = log(VALUES)
    site.run(records)
    kept = (site.out / "replay.json").read_bytes()
    for damage in (None, b"", b"{}", b'{"key":1,"first":2,"configuration":3,"digest":4,"records":5}'):
        (site.out / "replay.json").unlink(missing_ok=True)
        if damage is not None:
            (site.out / "replay.json").write_bytes(damage)
        assert "no readable replay.json" in site.run(records, code=2)
    (site.out / "replay.json").write_bytes(kept)
    key = keyfile.create(site.folder / "key")
    assert f"this run uses key {key.fingerprint}" in site.run(records, "--key", str(site.folder / "key"), code=2)
    (site.out / "replay.key").unlink()
    assert "replay.key is missing" in site.run(records, code=2)
    assert not (site.out / "replay.key").exists()
    keyfile.create(site.out / "replay.key")
    assert "was created under key" in site.run(records, code=2)
    (site.out / "replay.key").unlink()
    site.run(records, "--replace")
    site.run(records)


def test_a_pipe_is_read_as_a_file_is(site: Site) -> None:
    """A pipe can be read only once, and is decided like a file of the same records; nothing of it remains."""
    site.run(log(VALUES))
    seen, names = site.outputs(), {path.name for path in site.out.iterdir()}
    pipe = site.folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((site.folder / "events.jsonl").read_bytes(),))
    writer.start()
    site.cli("replay", *MADE_UP, pipe, "--out", site.out)
    writer.join()
    assert site.outputs() == seen
    assert {path.name for path in site.out.iterdir()} == names


def test_a_file_that_changes_meanwhile_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is derived from the first read: the decided input must be the same, or nothing is written."""

    def and_then(*arguments: Any) -> Any:
        """Read the whole input; then simulate a correction of it."""
        found = read(*arguments)
        (site.folder / "events.jsonl").write_text(json.dumps(log([1.0])[0]))
        return found

    monkeypatch.setattr("stream_app.replaying.run.read", and_then)
    assert "changed while being read" in site.run(log(VALUES), code=2)
    assert not site.out.exists(), "nothing was decided: neither the key nor the folder is left"
