"""From settings to what decisions depend on: policies in order, caps in nano-epsilon, all faults together."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup.configuration import context_of, default_policies, limits_of, policies_in
from stream_app.setup.settings import InvalidSettingsError, Settings
from tests.run import COUNTS, KEYS, MADE_UP, NUMBER, UNIFORM, Run, default, observation, policy

TOML = """
lifetime_epsilon = 3.0
max_epsilon = 1.5
max_future_ms = 60000
policies_file = "more.jsonl"

[[policies]]
series = "home-*"
epsilon = 1.0
protection = { level = "landmark", landmarks = [10000, [20000, 30000]], step = 1000, spare = 2 }
scheme = { name = "uniform" }
value = { kind = "number", lower = 0, upper = 10, resolution = 0.001 }

[[policies]]
series = "*-7"
version = 1
type = "policy"
epsilon = 0.5
protection = { level = "event" }
scheme = { name = "adaptive" }
value = { kind = "category", categories = ["a", true] }
"""
MORE = {
    "series": "*",
    "epsilon": 1,
    "protection": {"level": "event"},
    "scheme": UNIFORM,
    "value": COUNTS,
}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings of two files."""
    monkeypatch.chdir(tmp_path)
    Path("landmark-stream.toml").write_text(TOML)
    Path("more.jsonl").write_text("\n" + json.dumps(MORE) + "\n\n")
    return Settings.load()


def test_the_first_glob_that_matches_rules(settings: Settings) -> None:
    """Policies in the settings come before those in their file; the first with a matching glob is the default."""
    context = context_of(settings, KEYS)
    found = {name: context.default_for(name) for name in ("home-7", "shed-7", "HOME-1", "x")}
    kinds = {name: default.policy.parameters["value"] for name, default in found.items() if default}
    assert {name: value["kind"] for name, value in kinds.items()} == {  # type: ignore[index]
        "home-7": "number",
        "shed-7": "category",
        "HOME-1": "counts",
        "x": "counts",
    }
    assert Context(KEYS, default_policies(settings)[:2]).default_for("x") is None
    run = Run(context)
    assert isinstance(run.feed(observation("home-7", 5000, 1), appended_ms=5000), ProcessedRecord)
    assert json.loads(run.ledger[0])["budget_nano"] == 10**9


def test_caps_are_in_nano_epsilon(settings: Settings) -> None:
    """Caps are the settings' decimals, rounded down; an unset value is no cap."""
    assert limits_of(settings) == Limits(3 * 10**9, 1_500_000_000, accept_policies=True, max_future_ms=60_000)
    assert limits_of(Settings.model_construct()) == Limits(max_future_ms=86_400_000)
    assert limits_of(Settings.model_construct(lifetime_epsilon=0.3)).lifetime_nano == 300_000_000


def test_every_fault_of_every_policy_is_told(tmp_path: Path) -> None:
    """One error has each fault's line and member; a line without JSON, an object or a glob is a fault too."""
    lines = [
        json.dumps({**MORE, "epsilon": -1, "sparee": 1}),
        "{",
        "[]",
        json.dumps({**MORE, "series": ""}),
        json.dumps({**MORE, "version": 2}),
        json.dumps({**MORE, "type": "close"}),
        json.dumps({**MORE, "epsilon": 2.0}),
        json.dumps(MORE),
    ]
    path = tmp_path / "policies.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidSettingsError) as raised:
        policies_in(path, Limits(lifetime_nano=10**9, max_epsilon_nano=10**9))
    fields = [problem.field.removeprefix(f"{path}:") for problem in raised.value.problems]
    assert fields == ["1: epsilon", "1: sparee", "2", "3", "4", "5", "6", "7: epsilon", "7: epsilon"]
    assert all(problem.message for problem in raised.value.problems)


def test_a_missing_policies_file_is_a_problem(tmp_path: Path) -> None:
    """A file that cannot be read is reported like any other fault."""
    with pytest.raises(InvalidSettingsError, match="there is no such file"):
        policies_in(tmp_path / "none")


def test_messages_hold_no_value(tmp_path: Path) -> None:
    """A fault names the member, but not the value found there."""
    path = tmp_path / "policies.jsonl"
    path.write_text(json.dumps({**MORE, "epsilon": "canary", "value": {**NUMBER, "lower": "canary"}}))
    with pytest.raises(InvalidSettingsError) as raised:
        policies_in(path)
    assert "canary" not in str(raised.value)


def _fingerprint(limits: Limits = Limits(), keys: KeyRing = KEYS, *defaults: DefaultPolicy) -> str:  # noqa: B008
    return Context(keys, defaults, limits).fingerprint


def test_the_fingerprint_tells_configurations_apart() -> None:
    """It reflects every cap, default policy, glob, order and epoch length, but not the key's secret."""
    a, b = default("a"), default("b", value=COUNTS)
    other = DefaultPolicy("c", a.policy)
    fingerprints = [
        _fingerprint(),
        _fingerprint(Limits(lifetime_nano=1)),
        _fingerprint(Limits(max_epsilon_nano=1)),
        _fingerprint(Limits(accept_policies=False)),
        _fingerprint(Limits(max_future_ms=1)),
        _fingerprint(Limits(), KeyRing("x", 0, bytes(32), 86_400_000)),
        _fingerprint(Limits(), KEYS, a),
        _fingerprint(Limits(), KEYS, other),
        _fingerprint(Limits(), KEYS, a, b),
        _fingerprint(Limits(), KEYS, b, a),
    ]
    assert len(set(fingerprints)) == len(fingerprints)
    assert _fingerprint(Limits(), KeyRing("x", 0, bytes(32))) == _fingerprint()


HALF = {"backward": [[0.5, 0.5], [0.5, 0.5]], "forward": None}
HOUSEHOLD = """
correlations = { household = "household.json", town = "town.json" }
correlation_alarm = 0.5

[[policies]]
series = "home-*"
epsilon = 1.0
protection = { level = "event" }
scheme = { name = "uniform" }
value = { kind = "number", lower = 0, upper = 10, resolution = 0.001 }
correlation = "NAME"
"""


def test_the_fingerprint_survives_an_upgrade() -> None:
    """It equals that of releases without later settings, which are included only if they are not the default."""
    assert Context(KEYS).fingerprint == "020a624f93a9ab11"
    limits = Limits(lifetime_nano=5, max_epsilon_nano=7, accept_policies=False, max_future_ms=3)
    assert _fingerprint(limits) == "9a4735d3a99de558"
    assert _fingerprint(replace(limits, accept_weaker_policies=True)) != _fingerprint(limits)


def test_correlations_are_read_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are both files' backward loss functions; the fingerprint stays, because no decision reads them."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "landmark-stream.toml"
    file.write_text(HOUSEHOLD.replace("NAME", "household"))
    (tmp_path / "household.json").write_text('{"backward": [[0.8, 0.2], [0, 1]], "forward": null}')
    (tmp_path / "town.json").write_text(json.dumps(HALF))
    context = context_of(Settings.load(), KEYS)
    assert {name: found.carried(50.0) > 0 for name, found in context.correlations.items()} == {
        "household": True,
        "town": False,
    }
    (tmp_path / "household.json").write_text(json.dumps(HALF))
    assert context_of(Settings.load(), KEYS).fingerprint == context.fingerprint
    assert main(["check", "--json"]) == 2, "there is no key file"


@pytest.mark.parametrize(
    ("name", "household", "problems"),
    [
        ("household", None, {"correlations.household": "there is no such file"}),
        ("household", "{", {"correlations.household": "is not valid JSON"}),
        ("household", '{"backward": [[1, 0], [0.5, 0.4]], "forward": null}', {"correlations.household": "row 1"}),
        ("village", json.dumps(HALF), {"correlations": "names correlation 'village', but found household, town"}),
        (
            "village",
            None,
            {"correlations.household": "there is no such file", "correlations": "names correlation 'village'"},
        ),
    ],
)
def test_faulty_correlations_are_all_said_at_once(
    name: str,
    household: str | None,
    problems: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`check` and all code that makes a context name the entry, the file and the row, along with other faults."""
    monkeypatch.chdir(tmp_path)
    Path("landmark-stream.toml").write_text(HOUSEHOLD.replace("NAME", name))
    Path("town.json").write_text(json.dumps(HALF))
    if household is not None:
        Path("household.json").write_text(household)
    with pytest.raises(InvalidSettingsError) as raised:
        context_of(Settings.load(), KEYS)
    assert [problem.field for problem in raised.value.problems] == list(problems)
    assert all(problems[problem.field] in problem.message for problem in raised.value.problems)
    assert main(["check", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["problems"]
    assert {problem["field"] for problem in said} == {*problems, "key_file"}


def test_a_policy_in_the_log_may_name_what_nobody_configured(tmp_path: Path) -> None:
    """It is decided like any other, in `replay` too: no privacy decision reads a correlation."""
    events, out = tmp_path / "events.jsonl", tmp_path / "out"
    records = [policy("a", correlation="unheard-of"), observation("a", 5, 1)]
    events.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main(["replay", *MADE_UP, str(events), "--out", str(out)]) == 0
    assert not (out / "rejects.jsonl").read_bytes()
    assert (out / "releases.jsonl").read_bytes()


def test_renewal_needs_a_lifetime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewing default policy would never renew within its own epsilon: the missing setting is named."""
    monkeypatch.chdir(tmp_path)
    renewing = {**MORE, "protection": {"level": "landmark"}, "renew": [5000, 9000]}
    Path("more.jsonl").write_text(json.dumps(renewing))
    with pytest.raises(InvalidSettingsError, match="has renew") as raised:
        context_of(Settings.model_construct(policies_file=Path("more.jsonl")), KEYS)
    assert [problem.field for problem in raised.value.problems] == ["lifetime_epsilon"]
    context = context_of(Settings.model_construct(policies_file=Path("more.jsonl"), lifetime_epsilon=12.0), KEYS)
    assert context.defaults[0].policy.renew == (5000, 9000)
