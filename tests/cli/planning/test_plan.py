"""``plan``: what it says about a policy file, compared with what `replay` then spends."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.outlook.course import horizon_of
from stream_app.outlook.outlook import outlooks
from stream_app.outlook.plots import errors_of, spends_of
from stream_app.outlook.request import PlanRequest
from stream_app.pictures import DAY_MS, LANDMARK_COLOUR, OWN_COLOUR, REGULAR_COLOUR, canvas
from stream_app.privacy.policy import policy_of
from tests.command import Cli, saved
from tests.run import MADE_UP

HOUR_MS = 3_600_000
POLICY: dict[str, Any] = {
    "series": "home-*",
    "epsilon": 1.0,
    "protection": {"level": "landmark", "landmarks": [[10 * HOUR_MS, 14 * HOUR_MS], 40 * HOUR_MS], "step": HOUR_MS},
    "scheme": {"name": "balanced", "regular_share": 0.3},
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001},
}
MATRIX = [[0.8, 0.2], [0.1, 0.9]]


def written(tmp_path: Path, *policies: dict[str, Any]) -> str:
    """Write a policy file."""
    return saved(tmp_path / "policies.jsonl", *policies)


def correlation(tmp_path: Path) -> str:
    """Write a correlation."""
    return saved(tmp_path / "correlation.json", {"backward": MATRIX, "forward": MATRIX})


def planned(cli: Cli, *words: str) -> dict[str, Any]:
    """Return the plan of one policy."""
    cli.said()
    (line,) = cli("plan", *words, "--json").out.splitlines()
    plan: dict[str, Any] = json.loads(line)
    return plan


def own(plan: dict[str, Any]) -> dict[str, Any]:
    """Return what the plan says of the policy's own scheme."""
    (found,) = [scheme for scheme in plan["schemes"] if scheme["own"]]
    return dict(found)


def test_replay_spends_what_was_planned(tmp_path: Path, cli: Cli) -> None:
    """Budgets, scales and losses are those of the later releases, whatever their content."""
    file = written(tmp_path, POLICY)
    plan = planned(cli, file, "--correlation", correlation(tmp_path))
    events = [
        {"series": "home-1", "timestamp": plan["start_ms"] + n * plan["every_ms"], "value": n * 7 % 10}
        for n in range(plan["events"])
    ]
    out = tmp_path / "out"
    cli("replay", *MADE_UP, saved(tmp_path / "events.jsonl", *events), "--policies", file, "--out", out)
    entries = [json.loads(line) for line in (out / "ledger.jsonl").read_text().splitlines()][1:]
    releases = [json.loads(line) for line in (out / "releases.jsonl").read_text().splitlines()]
    found = own(plan)
    for name in ("landmark", "regular"):
        wanted = [
            (entry["epsilon_nano"] / 1e9, release["scale"])
            for entry, release in zip(entries, releases, strict=True)
            if entry["landmark"] == (name == "landmark")
        ]
        side = found[name]
        assert side["steps"] == side["published"] == len(wanted)
        for part, figures in zip(("epsilon", "scale"), zip(*wanted, strict=True), strict=True):
            assert (side[part]["least"], side[part]["most"]) == (min(figures), max(figures))
            assert side[part]["mean"] == pytest.approx(sum(figures) / len(figures), rel=1e-12)
    question = {"backward": MATRIX, "forward": MATRIX, "epsilons": [entry["epsilon_nano"] / 1e9 for entry in entries]}
    (tmp_path / "question.json").write_text(json.dumps(question))
    cli.said()
    losses = cli("loss", tmp_path / "question.json", "--json").document
    assert found["temporal_loss"] == {
        part: pytest.approx(max(losses[part]), rel=1e-12) for part in ("backward", "forward", "total")
    }


def test_the_correlation_of_the_configuration(tmp_path: Path, cli: Cli) -> None:
    """The plan uses the correlation that the policy names; without such an entry, it says it forecasts none."""
    file = written(tmp_path, {**POLICY, "correlation": "household"})
    config = tmp_path / "settings.toml"
    config.write_text(f'[correlations]\nhousehold = "{correlation(tmp_path)}"\n')
    with_it = planned(cli, file, "--config", str(config))
    assert (
        own(with_it)["temporal_loss"]
        == own(planned(cli, file, "--correlation", correlation(tmp_path)))["temporal_loss"]
    )
    config.write_text("")
    without = planned(cli, file, "--config", str(config))
    assert own(without)["temporal_loss"] is None
    assert "household" in without["note"]
    assert "--correlation" in cli("plan", file, "--config", config, "--bound", "1", code=2).err


def test_the_table_shows_schemes_ends_and_bound(tmp_path: Path, cli: Cli) -> None:
    """The table for people has every scheme, marks the own one, and has the most that any may spend."""
    file = written(tmp_path, POLICY, {**POLICY, "series": "clinic-[ab]"})
    shown = cli("plan", file, "--correlation", correlation(tmp_path), "--bound", "1.5").out
    for text in ("uniform", "adaptive, rate 1", "adaptive, rate 0.1", "balanced 0.3 *", "clinic-[ab]: epsilon 1"):
        assert text in shown
    assert "\x1b" not in shown
    plan = planned(cli, written(tmp_path, POLICY), "--correlation", correlation(tmp_path), "--bound", "1.5")
    within = plan["within"]
    assert within["constant"] <= within["even"] <= within["first"]
    assert f"{within['constant']:.4g} forever" in shown
    assert f"{own(plan)['epsilon_within']:.4g}" in shown


def test_renewals_are_told_over_the_lifetime(tmp_path: Path, cli: Cli) -> None:
    """The figures are those of one version, and the cost of all versions is beside them."""
    plain = planned(cli, written(tmp_path, POLICY))
    file = written(tmp_path, {**POLICY, "renew": [10**12, 2 * 10**12, 3 * 10**12]})
    plan = planned(cli, file)
    assert plain["renewals"] is None
    assert plan["renewals"] == {"versions": 4, "epsilon": 4 * plain["epsilon"]}
    assert "next version starts automatically at 3 moments" in plan["promise"]
    assert {**plan, "renewals": None, "times": plain["times"], "promise": plain["promise"]} == plain
    assert "With renewals there are at most 4 versions, which together cost epsilon 4" in cli("plan", file).out


def test_large_figures_are_written_out(tmp_path: Path, cli: Cli) -> None:
    """Figures have four digits and no exponent, which not every reader of the table knows."""
    wide = {**POLICY, "value": {"kind": "number", "lower": 0, "upper": 1_234_567, "resolution": 1}}
    shown = cli("plan", written(tmp_path, wide)).out
    assert "e+0" not in shown
    assert ",000 │" in shown


def test_a_picture_highlights_the_own_scheme_and_shades_landmarks() -> None:
    """Others are grey, times are dates, the value's range is a line, and the legend covers no drawn data."""
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_rgba  # noqa: PLC0415 - an optional extra

    policy = policy_of({member: value for member, value in POLICY.items() if member != "series"}, 1)
    horizon = horizon_of(policy)
    found = list(outlooks(PlanRequest(policy, horizon, None, None), lambda: None))
    events = len(found[0].landmarks)
    assert events == horizon.events
    for spends in (True, False):
        with canvas(3.4) as figure:
            axes: Any = figure.subplots()
            spends_of(found, horizon, axes) if spends else errors_of(found, policy.kind, axes)
            figure.draw_without_rendering()
            (legend,) = figure.legends
            assert not legend.get_window_extent().overlaps(axes.get_window_extent())
            labels = axes.get_legend_handles_labels()[1]
            lines = {str(line.get_label()): line for line in axes.lines}
            if spends:
                own = [line.get_color() for label, line in lines.items() if label.endswith(" *")]
                assert own == [OWN_COLOUR]
                assert OWN_COLOUR not in [line.get_color() for label, line in lines.items() if not label.endswith(" *")]
                assert labels.count("landmarks") == 1
                shaded = sum(patch.get_width() for patch in axes.patches) * DAY_MS / horizon.every_ms
                assert round(shaded) == sum(found[0].landmarks) > 0
                assert "UTC" in axes.get_xlabel()
            else:
                assert [line.get_ydata()[0] for line in lines.values()] == [policy.kind.span]
                bars = [patch.get_facecolor() for patch in axes.patches]
                assert bars.count(to_rgba(LANDMARK_COLOUR)) == bars.count(to_rgba(REGULAR_COLOUR)) == 1
                assert len(bars) > 2


def test_a_picture(tmp_path: Path, cli: Cli) -> None:
    """The picture shows one policy, in the format that its file name gives."""
    file, drawn = written(tmp_path, POLICY), tmp_path / "plan.svg"
    assert main(["plan", file, "--picture", str(drawn), "--correlation", correlation(tmp_path)]) == 0
    assert drawn.read_text().startswith("<?xml")
    for two, name in ((True, "plan.svg"), (False, "plan"), (False, "plan.nothing")):
        words = written(tmp_path, POLICY, POLICY) if two else written(tmp_path, POLICY)
        assert "--picture" in cli("plan", words, "--picture", str(tmp_path / name), code=2).err


WARD: dict[str, Any] = {
    "series": "ward-*",
    "epsilon": 1.0,
    "protection": {"level": "landmark", "landmarks": [10 * HOUR_MS], "step": HOUR_MS},
    "scheme": {"name": "balanced", "regular_share": 0.25},
    "value": {"kind": "number", "lower": 0, "upper": 6, "resolution": 0.01},
    "collect": {"statistic": "mean", "neighbours": "replace", "open_steps": 1},
}


def test_the_smallest_ward(tmp_path: Path, cli: Cli) -> None:
    """It is given for every scheme at landmarks and other steps: a third of the budget needs 3 times as many."""
    plan = planned(cli, written(tmp_path, WARD), "--error", "0.1")
    assert plan["sensitivity"] == 6.0
    assert plan["ward"] == {"error": 0.1, "probability": 0.95, "what": "a mean within 0.1 of the truth"}
    landmark, regular = own(plan)["landmark"]["contributors"], own(plan)["regular"]["contributors"]
    assert (landmark, regular) == (240, 719)
    shown = cli("plan", written(tmp_path, WARD, POLICY), "--error", "0.1").out
    assert "sensitivity: 6\n" in shown
    assert "240 │" in shown
    assert "needed for a mean within 0.1 of the truth, 95% of the time" in shown
    choice = {"kind": "choice", "items": ["a", "b", "c", "d"]}
    chosen = {**WARD, "value": choice, "collect": {"neighbours": "replace", "open_steps": 1}}
    plan = planned(cli, written(tmp_path, chosen), "--error", "0.1")
    assert plan["sensitivity"] == 2
    # 57 = 3 * 19 times as likely as each of the three others: ln 57 = 4.04 over half of 0.75.
    assert (own(plan)["landmark"]["lead"], own(plan)["landmark"]["contributors"]) == (11, 110)
    assert (
        "lead: an item that leads all others by this many contributors "
        in cli("plan", written(tmp_path, chosen), "--error", "0.1").out
    )
    for wrong in ("0", "-1", "x", "1/2", "nan", "1e400"):
        assert "--error: expected a number" in cli.ended("plan", written(tmp_path, WARD), "--error", wrong).err


def test_steps_of_several_readings_are_planned(tmp_path: Path, cli: Cli) -> None:
    """Aggregating a step's readings changes no budget: the plan is that of one event per step."""
    several = {**POLICY["protection"], "within": "mean", "open_steps": 2, "absent": 3}
    found = planned(cli, written(tmp_path, {**POLICY, "protection": several}))
    assert found["schemes"] == planned(cli, written(tmp_path, POLICY))["schemes"]


@pytest.mark.parametrize(("words", "named"), [
    (["--steps", "0"], "--steps"),
    (["--every", "5"], "--every"),
    (["--start", "yesterday"], "--start"),
    (["--bound", "1"], "--bound"),
    (["--error", "1"], "--error"),
    (["--correlation", "none.json"], "none.json"),
])  # fmt: skip
def test_what_cannot_be_planned(tmp_path: Path, words: list[str], named: str, cli: Cli) -> None:
    """The message names the option and the remedy, and the exit code is 2."""
    assert named in cli("plan", written(tmp_path, POLICY), *words, code=2).err


def test_faulty_policies_are_all_named(tmp_path: Path, cli: Cli) -> None:
    """As `check` names them."""
    file = written(tmp_path, {**POLICY, "epsilon": -1}, {**POLICY, "scheme": {"name": "none"}})
    said = cli("plan", file, code=2).err
    assert "policies.jsonl:1: epsilon" in said
    assert "policies.jsonl:2: scheme" in said
    assert main(["plan", str(tmp_path / "nothing")]) == 2
    assert main(["plan", written(tmp_path)]) == 2


def test_landmarks_against_noise(tmp_path: Path, cli: Cli) -> None:
    """The document shows this for every scheme, and the table for the policy's own scheme."""
    file = written(tmp_path, {**POLICY, "scheme": {"name": "uniform"}})
    plan = planned(cli, file)
    scales = {
        crowd["landmarks"]: next(each for each in crowd["schemes"] if each["own"])["landmark"]["scale"]
        for crowd in plan["landmarks_against_noise"]
    }
    assert scales[1] == pytest.approx(20)
    assert scales[100] == pytest.approx(1010)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in cli("plan", file).out.splitlines()]
    assert ["100", "1010", "1010"] in rows
    event = planned(cli, written(tmp_path, {**POLICY, "protection": {"level": "event", "step": HOUR_MS}}))
    assert event["landmarks_against_noise"] == []
