"""Foreign files and frames, and further inputs of audits and plans: no error is one of Python's own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import landmark_stream as ls
from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from tests.api.conftest import HOUR, START
from tests.audit.heads.signed import Signer, tell_story
from tests.command import Cli

Rows = list[dict[str, Any]]
GOOD = {"series": "h", "timestamp": 1, "decision": "perturbed", "policy": 1, "measurement": 1, "scale": 1}
RELEASES: list[dict[str, Any]] = [
    {},
    {"a": 1},
    GOOD | {"timestamp": "x"},
    GOOD | {"timestamp": 10**18},
    GOOD | {"series": 5},
    GOOD | {"policy": [1]},
    GOOD | {"decision": ["x"]},
    GOOD | {"decision": "none"},
    GOOD | {"measurement": [1]},
    GOOD | {"measurement": {"a": "b"}},
    GOOD | {"measurement": 1e300},
    GOOD | {"scale": -1},
    GOOD | {"scale": "x"},
    GOOD | {"epsilon_nano": "a"},
    GOOD | {"epsilon_nano": 0},
    GOOD | {"source": "x"},
    GOOD | {"count": 1.5},
    GOOD | {"count": [1, 2]},
    GOOD | {"count": []},
    GOOD | {"count": {"1": 0}},
]


@pytest.fixture
def folder(rows: Rows, policy: ls.Policy, tmp_path: Path) -> Path:
    """Return the folder of a run."""
    ls.release(rows, policy, out=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("record", RELEASES)
def test_records_that_are_no_releases(record: dict[str, Any], folder: Path) -> None:
    """The error gives the file, the line and a remedy, but nothing of the record."""
    first = (folder / "releases.jsonl").read_text().splitlines()[0]
    (folder / "foreign.jsonl").write_text(f"{first}\n{json.dumps(record)}\n")
    with pytest.raises(ls.Error, match=r"foreign\.jsonl:2: is not a release; use a file of releases"):
        ls.read_releases(folder / "foreign.jsonl")


def test_files_that_are_cut_or_of_something_else(folder: Path) -> None:
    """A ledger as releases, releases as a ledger, and half a line are refused."""
    releases, ledger = folder / "releases.jsonl", folder / "ledger.jsonl"
    with pytest.raises(ls.Error, match=r"ledger\.jsonl:1: is not a release"):
        ls.read_releases(ledger)
    with pytest.raises(ls.Error, match=r"releases\.jsonl:1: is not a ledger entry"):
        ls.read_releases(releases, ledger=releases)
    (folder / "cut.jsonl").write_bytes(releases.read_bytes()[:-20])
    with pytest.raises(ls.Error, match=r"cut\.jsonl:96: is not a record"):
        ls.read_releases(folder / "cut.jsonl")
    policy = ledger.read_text().splitlines()[0]
    odd = ['{"entry":"policy"}', '{"a":1}', policy.replace('"number"', '"category"')]
    odd += [f'{policy}\n{{"entry":"landmarks","series":"home-1","policy":1{rest}}}' for rest in ("", ',"add":["x"]')]
    odd += ['{"entry":"policy","series":["h"],"policy":1,"parameters":{}}', '{"entry":"policy","parameters":5}']
    for text in odd:
        (folder / "odd.jsonl").write_text(text + "\n")
        with pytest.raises(ls.Error, match=r"odd\.jsonl:\d: is not a ledger entry"):
            ls.read_releases(releases, ledger=folder / "odd.jsonl")


def test_a_ledger_of_another_kind(folder: Path, rows: Rows, tmp_path: Path) -> None:
    """The policy of another run does not describe these measurements."""
    kind = ls.Policy.event(epsilon=1, value=ls.Vector({"value": ls.Range(0, 10, 0.1)}), step=HOUR)
    counts = ls.Policy.event(epsilon=1, value=ls.Counts(("a", "b")), step=HOUR)
    both = [{"series": row["series"], "timestamp": row["timestamp"], "a": 1, "b": 2} for row in rows]
    ls.release(both, counts, out=tmp_path / "counts", value_columns=["a", "b"])
    with pytest.raises(ls.Error, match=r"releases\.jsonl:1: differs in kind or scale from its policy in the ledger"):
        ls.read_releases(folder / "releases.jsonl", ledger=tmp_path / "counts" / "ledger.jsonl")
    found = ls.read_releases(folder)
    for other in (kind, counts, ls.Policy.event(epsilon=1, value=ls.Category(("a", "b")), step=HOUR)):
        for function in (ls.mean, ls.smooth):
            with pytest.raises(ls.Error, match=r"^policy: is for a different kind or scale of values than row 0"):
                function(found, policy=other)


def test_a_policy_of_another_range(folder: Path, rows: Rows, tmp_path: Path) -> None:
    """Its noise is different, so intervals from it would be wrong, whether it is given or comes from a ledger."""
    narrow = ls.Policy.event(epsilon=2, value=ls.Number(0, 1, 0.001), step=HOUR)
    found = ls.read_releases(folder)
    for function in (ls.mean, ls.smooth):
        with pytest.raises(ls.Error, match=r"^policy: is for a different kind or scale of values than row 0"):
            function(found, policy=narrow)
    ls.release(rows, narrow, out=tmp_path / "narrow", accept="clamped")
    with pytest.raises(ls.Error, match=r"releases\.jsonl:1: differs in kind or scale from its policy in the ledger"):
        ls.read_releases(folder / "releases.jsonl", ledger=tmp_path / "narrow" / "ledger.jsonl")


@pytest.mark.parametrize("function", [ls.mean, ls.smooth])
def test_repeats_that_were_filled_in_are_no_measurements(function: Any, rows: Rows, tmp_path: Path) -> None:
    """A forward-filled frame copies the last measurement into repeats; counting it twice would halve errors."""
    adaptive = ls.Policy.event(epsilon=2, value=ls.Number(0, 10, 0.001), step=HOUR, scheme=ls.Adaptive())
    found = ls.release(pd.DataFrame(rows), adaptive, out=tmp_path / "adaptive").frame
    assert "approximated" in set(found["decision"])
    function(found, policy=adaptive)
    with pytest.raises(ls.Error, match=r"^row \d+: measurement contains a value that no release can have:"):
        function(found.groupby("series").ffill().assign(series=found["series"]), policy=adaptive)


@pytest.mark.parametrize("function", [ls.mean, ls.smooth])
@pytest.mark.parametrize(
    "odd",
    [
        {"measurement": float("inf")},
        {"measurement": float("nan")},
        {"measurement": 10**400},
        {"measurement": [1]},
        {"scale": float("nan")},
        {"scale": 0},
        {"epsilon": float("inf")},
        {"epsilon": float("nan")},
        {"epsilon": 0},
        {"timestamp": 10**30},
        {"series": [1]},
        {"series": 5},
        {"policy": float("nan")},
        {"policy": 1.5},
        {"timestamp": 1_769_817_600_000.5},
        {"decision": "withheld"},
    ],
)
def test_figures_that_no_release_has(function: Any, odd: dict[str, Any], folder: Path, policy: ls.Policy) -> None:
    """They enter neither a mean nor a course."""
    rows = ls.read_releases(folder).rows()
    named = "measurement" if odd == {"decision": "withheld"} else next(iter(odd))
    with pytest.raises(ls.Error, match=rf"^row 3: {named} .*contains a value that no release can have:"):
        function([*rows[:3], rows[3] | odd, *rows[4:]], policy=policy)
    same = [{name: np.float64(cell) if name == "measurement" else cell for name, cell in row.items()} for row in rows]
    assert function(same, policy=policy).rows() == function(rows, policy=policy).rows()


def test_heads_are_checked_as_the_command_checks_them(tmp_path: Path, cli: Cli) -> None:
    """The document is that of `audit --heads --witness --json`, for a ledger that holds and for one cut short."""
    story = tell_story()
    heads, ledger = story.sign(Signer()), story.ledger()
    (tmp_path / "key.pem").write_text(SigningKey(Signer().private).public_pem())
    for name, lines in (("heads", heads), ("whole", ledger), ("cut", ledger[: len(ledger) // 2]), ("odd", heads[:-9])):
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    for book, signed, holds in (("whole", "heads", True), ("cut", "heads", False), ("whole", "odd", False)):
        files = {"ledger": f"{tmp_path}/{book}.jsonl", "heads": f"{tmp_path}/{signed}.jsonl"}
        files |= {"public-key": f"{tmp_path}/key.pem", "witness": f"{tmp_path}/heads.jsonl"}
        assert (
            main(["audit", "--json", *(word for name, file in files.items() for word in (f"--{name}", file))]) != holds
        )
        found = ls.audit(
            files["ledger"], heads=files["heads"], public_keys=tmp_path / "key.pem", witness=files["witness"]
        )
        assert found.document() == cli.said().document
        assert found.holds is holds


def test_heads_without_keys_and_keys_without_heads(folder: Path) -> None:
    """Each is refused, because heads alone cannot say whom to trust."""
    (folder / "heads.jsonl").write_text("")
    for asked, member in (
        ({"heads": folder / "heads.jsonl"}, "public_keys"),
        ({"public_keys": [folder / "a.pub"]}, "heads"),
        ({"witness": folder / "heads.jsonl"}, "heads"),
        ({"heads": folder / "heads.jsonl", "public_keys": folder / "none.pub"}, "public_keys"),
        ({"heads": folder / "heads.jsonl", "public_keys": folder / "heads.jsonl"}, "public_keys"),
    ):
        given: dict[str, Any] = asked
        with pytest.raises(ls.Error, match=f"^{member}: "):
            ls.audit(folder, **given)


MATRIX = [[0.8, 0.2], [0.3, 0.7]]


def test_a_plan_under_a_correlation_is_that_of_the_command(policy: ls.Policy, tmp_path: Path, cli: Cli) -> None:
    """Temporal loss, the epsilon within a bound and each event's spend are the figures of `plan --json`."""
    (tmp_path / "c.json").write_text(json.dumps({"backward": MATRIX, "forward": MATRIX}))
    (tmp_path / "settings.toml").write_text(f'[correlations]\nhousehold = "{tmp_path}/c.json"\n')
    named = ls.Policy(policy.record | {"correlation": "household"})
    (tmp_path / "policy.jsonl").write_text(json.dumps(named.record))
    options = ["--config", str(tmp_path / "settings.toml"), "--bound", "1.5", "--json"]
    told = json.loads(cli("plan", tmp_path / "policy.jsonl", *options).out.splitlines()[0])
    for asked in ({"config": tmp_path / "settings.toml"}, {"correlation": tmp_path / "c.json"}):
        given: dict[str, Any] = asked
        found = ls.plan(named, bound=1.5, **given)
        assert isinstance(found, ls.Plan)
        assert found.within == told["within"]
        assert {(row["temporal_loss"], row["epsilon_within"]) for row in found.table} == {
            (scheme["temporal_loss"]["total"], scheme["epsilon_within"]) for scheme in told["schemes"]
        }
        assert "temporal loss stays within 1.5 under any scheme" in str(found)
    (tmp_path / "empty.toml").write_text("")
    without = ls.plan(named, config=tmp_path / "empty.toml")
    assert "the configuration has no correlation 'household'" in str(without)
    assert "temporal_loss" not in without.table.columns
    with pytest.raises(
        ls.Error, match=r"^bound: limits temporal loss, so it needs a correlation; specify a file with correlation="
    ):
        ls.plan(policy, bound=1)
    for file, wrong in (("none.json", "there is no such file"), ("empty.toml", "not valid JSON")):
        with pytest.raises(ls.Error, match=f"^correlation: .*{wrong}"):
            ls.plan(policy, correlation=tmp_path / file)


def test_a_plan_counts_contributors(tmp_path: Path, cli: Cli) -> None:
    """For collected data, it says how many bring a release within an error, as `plan --error` does."""
    collect = ls.Collect("replace", 1, statistic="mean")
    policy = ls.Policy.event(epsilon=1, value=ls.Number(0, 10, 1), collect=collect, step=HOUR)
    (tmp_path / "policy.jsonl").write_text(json.dumps(policy.record))
    assert main(["plan", str(tmp_path / "policy.jsonl"), "--error", "0.5", "--steps", "9", "--json"]) == 0
    schemes = json.loads(cli.said().out.splitlines()[0])["schemes"]
    wanted = [scheme["regular"]["contributors"] for scheme in schemes]
    assert [row["contributors"] for row in ls.plan(policy, error=0.5, steps=9).table] == wanted
    assert all(wanted)


@pytest.mark.parametrize("function", [ls.mean, ls.smooth])
def test_rows_that_noise_chose_are_refused(function: Any, tmp_path: Path) -> None:
    """Rows above a bound, or within the range, are refused.

    Rows chosen by time are accepted, with a note that some are missing.
    """
    noisy = ls.Policy.event(epsilon=0.5, value=ls.Number(0, 10, 0.001), step=HOUR)
    hours = [{"timestamp": START + nth * HOUR, "value": 1.0 + nth / 7 % 5} for nth in range(480)]
    frame = ls.release(pd.DataFrame(hours), noisy, series="home-1", out=tmp_path / "noisy").frame
    function(frame, policy=noisy)
    for chosen in (frame[frame["measurement"] > 5], frame[frame["measurement"].between(0, 10)]):
        with pytest.raises(
            ls.Error, match=r"^frame: the measurements of .* are closer together, or further apart, than"
        ):
            function(chosen, policy=noisy)
    nights = frame[frame["timestamp"].dt.hour < 6]
    function(nights, policy=noisy)
    assert "are missing between other steps; if you removed them, choose rows by time" in str(
        ls.mean(nights, policy=noisy).note
    )
    assert not ls.mean(frame, policy=noisy).note
