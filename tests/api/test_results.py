"""The library's means, courses, plans, audits and standings equal those of its packages and commands."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import landmark_stream as ls
from stream_app.analysis.means import mean
from stream_app.analysis.smooth import smooth
from stream_app.api.views import table
from stream_app.cli import main
from tests.api.conftest import HOUR, START
from tests.command import Cli, saved

Rows = list[dict[str, Any]]


@pytest.fixture
def found(rows: Rows, policy: ls.Policy, tmp_path: Path) -> ls.Released:
    """Return releases of two homes."""
    return ls.release(pd.DataFrame(rows), policy, out=tmp_path / "out")


def test_means_by_group(found: ls.Released) -> None:
    """Means are grouped as requested, with the figures of `analysis`."""
    by_series = ls.mean(found, landmarks="together")
    exact = mean(each for each in found.releases.measured if each.release.series == "home-1")[""]
    row = next(row for row in by_series if row["series"] == "home-1")
    assert (row["mean"], row["standard_error"], row["low"], row["high"], row["steps"]) == exact[:5]
    assert exact.units == 0, "a step is no unit of a statistic"
    hours, paris = (list(ls.mean(found, "hour", zone=zone, landmarks="together")) for zone in ("UTC", "Europe/Paris"))
    assert [row["hour"] for row in hours] == [row["hour"] for row in paris] == list(range(24)), "sorted"
    assert [row["mean"] for row in paris] == [hours[hour - 1]["mean"] for hour in range(24)], "an hour ahead"
    assert ls.mean(found, ("series", "day")).columns[:2] == ["series", "day"]
    assert {row["landmark"]: row["steps"] for row in ls.mean(found, "landmark")} == {False: 90, True: 6}
    windows = ls.mean(found, timedelta(hours=6))
    assert [row["window"] for row in windows][:2] == [START, START + 6 * HOUR]
    later = [row for row in found.releases if row["timestamp"] >= START + HOUR]
    assert ls.mean(later, timedelta(hours=6))[0]["window"] == START + HOUR, "windows begin with the data"
    assert isinstance(windows.frame, pd.DataFrame)
    for wrong in ("hours", timedelta(0)):
        with pytest.raises(ls.Error, match="by: "):
            ls.mean(found, wrong)
    with pytest.raises(ls.Error, match="Mars/Base"):
        ls.mean(found, "hour", zone="Mars/Base")


def test_no_release_counts_twice(found: ls.Released) -> None:
    """A frame joined with itself would halve the errors; it is refused by row, without showing a value."""
    twice = pd.concat([found.frame, found.frame], ignore_index=True)
    for reckon in (ls.mean, ls.smooth):
        with pytest.raises(
            ls.Error, match=rf"^row {len(found.frame)}: is for the same step as an earlier row, .*drop dup"
        ):
            reckon(twice)


def test_a_workers_key_is_told_of(rows: Rows, policy: ls.Policy, tmp_path: Path) -> None:
    """As in `replay`, only one run of its events may be published; otherwise readers see which values changed."""
    main(["keys", "new", str(tmp_path / "worker.key")])
    under = ls.release(rows, policy, out=tmp_path / "under", key=tmp_path / "worker.key")
    assert any("publish only one run of these events under this key," in note for note in under.notes)
    assert not any("production" in note for note in ls.release(rows, policy, out=tmp_path / "own").notes)


def test_landmarks_within_a_mean_are_told(found: ls.Released) -> None:
    """Their noise drowns out other steps; groups that do not mix both need no note."""
    mixed = ls.mean(found, landmarks="together")
    assert "these steps include landmarks" in mixed.note
    console = Console(width=200)
    with console.capture() as caught:
        console.print(mixed)
    for text in (str(mixed), mixed.html().replace("&quot;", '"'), caught.get()):
        assert mixed.note in " ".join(text.split())
    for apart in (ls.mean(found, "landmark"), ls.mean(found, "policy"), ls.mean(found.frame)):
        assert apart.note == ""


def test_frames_say_as_much_as_releases(found: ls.Released, policy: ls.Policy) -> None:
    """A frame from another cell or program has the same means, identical to the last digit with the policy."""
    whole, frame = ls.mean(found).rows(), found.frame
    assert ls.mean(frame, policy=policy).rows() == whole
    assert ls.mean(frame).rows()[0]["standard_error"] == pytest.approx(whole[0]["standard_error"], rel=1e-12)
    assert ls.smooth(frame, policy=policy).rows() == ls.smooth(found).rows()
    with pytest.raises(ls.Error, match="policy: "):
        ls.smooth(frame)
    with pytest.raises(ls.Error, match="row 0: has no column series, timestamp, decision, policy"):
        ls.mean([{"a": 1}])
    with pytest.raises(ls.Error, match="contains no noisy values"):
        ls.mean([row for row in found.releases.rows() if row["decision"] == "withheld"])


def test_courses(found: ls.Released) -> None:
    """Each series has its own course, as computed by `analysis`."""
    courses = ls.smooth(found)
    one = [each for each in found.releases.measured if each.release.series == "home-2"]
    assert one[0].policy is not None
    exact = smooth([each.release for each in one], one[0].policy)
    rows = [row for row in courses if row["series"] == "home-2"]
    assert [(row["smoothed"], row["low"], row["high"]) for row in rows] == [
        (each[""].estimate, each[""].low, each[""].high) for each in exact
    ]
    assert courses.columns == ["series", "timestamp", "smoothed", "low", "high"]


def test_sums_have_no_course(tmp_path: Path) -> None:
    """A statistic over contributors is not smoothed, and the error says so."""
    policy = ls.Policy.event(
        epsilon=1, value=ls.Number(0, 10, 1), collect=ls.Collect("replace", 1, statistic="sum"), step=HOUR
    )
    rows: Rows = [{"type": "watermark", "timestamp": START + nth * HOUR} for nth in range(3)]
    found = ls.release(rows, policy, out=tmp_path, series="ward")
    with pytest.raises(ls.Error, match="has no filter"):
        ls.smooth(found)
    assert len(ls.mean(found)) == 1


def test_audit_and_standing(found: ls.Released, cli: Cli) -> None:
    """The documents are those of the commands, and a forged release is found."""
    folder = found.folder
    ledger = str(folder / "ledger.jsonl")
    verdict = ls.audit(found)
    assert verdict
    audited = cli("audit", "--ledger", ledger, "--releases", folder / "releases.jsonl", "--json").document
    assert audited == json.loads(json.dumps(verdict.document()))
    assert str(ls.audit(ledger)) != str(verdict)  # without releases it says that they were not compared
    standing = cli("standing", "home-1", "--ledger", ledger, "--json").document
    assert standing == json.loads(json.dumps(ls.standing(folder, "home-1").document()))
    releases = (folder / "releases.jsonl").read_bytes()
    (folder / "releases.jsonl").write_bytes(releases.replace(b'"value":', b'"value":1', 1))
    forged = ls.audit(folder)
    assert not forged.holds
    assert forged.findings[0].code in forged._repr_html_()
    with pytest.raises(ls.Error, match="specify the ledger file"):
        ls.audit(folder / "releases.jsonl")
    with pytest.raises(ls.Error, match="name: "):
        ls.standing(folder, "home-7")
    with pytest.raises(ls.Error, match="there is no such file"):
        ls.audit(folder / "nothing")


def test_plan(policy: ls.Policy, tmp_path: Path, cli: Cli) -> None:
    """The figures are those of the command."""
    schemes = cli("plan", saved(tmp_path / "policies.jsonl", policy.record), "--json").document["schemes"]
    own = next(scheme for scheme in schemes if scheme["own"])
    row = next(row for row in ls.plan(policy).table if row["scheme"] == "balanced 0.5*" and row["steps"] == "landmark")
    assert row["epsilon"] == own["landmark"]["epsilon"]["mean"]
    assert row["error"] == own["landmark"]["error"]["mean"]
    with pytest.raises(ls.Error) as refused:
        ls.plan(policy, every_ms=5)
    assert refused.value.faults[0].member == "every_ms"


def test_verify() -> None:
    """A short policy passes, with enough power to find a worker that spends twice as much."""
    short = ls.Policy.event(epsilon=2, value=ls.Category(("a", "b")), step=HOUR, scheme=ls.Uniform())
    verified = ls.verify(short, runs=2_000)
    assert verified.verdict == "holds"
    assert verified
    assert {row["declared"] for row in verified.table} == {2}
    # The key is random, and a bound at 95 % confidence may exceed what is declared; it does not miss it by a half.
    assert all(1 < row["at_least"] < 3 for row in verified.table)


def test_files_and_terminals(found: ls.Released, policy: ls.Policy) -> None:
    """Releases can be read again from a folder, or from a file with or without its ledger.

    Rich displays any result.
    """
    folder = found.folder
    assert ls.read_releases(folder).rows() == found.releases.rows()
    assert ls.read_releases(folder / "releases.jsonl", ledger=folder / "ledger.jsonl", library="pandas").frame.equals(
        found.frame
    )
    alone = ls.read_releases(folder / "releases.jsonl", series="home-1")
    assert len(alone) == 48
    assert "landmark" not in alone.columns
    (folder / "broken.jsonl").write_text((folder / "releases.jsonl").read_text().splitlines()[0] + "\nno record\n")
    with pytest.raises(ls.Error, match=r"broken\.jsonl:2"):
        ls.read_releases(folder / "broken.jsonl")
    console = Console(width=80, record=True, file=None, quiet=False)
    with console.capture() as shown:
        console.print(found, ls.mean(found), ls.plan(policy), policy)
    assert max(map(len, shown.get().splitlines())) <= 80


def test_no_name_drives_the_terminal_or_the_page(policy: ls.Policy, tmp_path: Path) -> None:
    """Whoever sends events chooses the series' names; results show them as inert text."""
    hostile = "home-1\x1b[2J\nHOLDS: no findings <script>"
    rows = [{"series": hostile, "timestamp": START + nth * HOUR, "value": 1.5} for nth in range(20)]
    found = ls.release(rows, policy, out=tmp_path)
    releases = found.releases
    for result in (found, releases, ls.mean(releases), ls.audit(found), ls.standing(found, hostile)):
        console = Console(width=200)
        with console.capture() as printed:
            console.print(result)
        for text in (str(result), repr(result), printed.get(), result._repr_html_()):
            assert "\x1b" not in text
            assert "\nHOLDS: no findings <" not in text
        assert "<script>" not in result._repr_html_()
    answers = ls.Policy.event(epsilon=1, value=ls.Category(("\x1b[2Ja", "b")), step=HOUR)
    said = ls.release([row | {"value": "b"} for row in rows], answers, out=tmp_path / "answers")
    assert "\x1b" not in repr(ls.smooth(said)) + str(ls.smooth(said)) + repr(ls.mean(said))


def test_a_long_name_leaves_the_other_columns_on_the_page() -> None:
    """In a notebook, a name of 200 letters may break anywhere, and a short one may not."""
    html = table("one", ["series", "value"], [("x" * 200, 1.5), ("home-7", 2.5)])
    assert f'<td style="overflow-wrap:anywhere;min-width:12em">{"x" * 200}</td>' in html
    assert "<td>home-7</td><td>2.5</td>" in html
