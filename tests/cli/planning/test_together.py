"""What `check` and `plan` say about one member's series together, compared with what decisions then refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.deciding.context import Limits
from tests.command import Cli, saved
from tests.run import COUNTS, Run, limited, policy

SETTINGS = 'member_separator = "/"\nmember_epsilon = 3.0\n'


def files(folder: Path, settings: str, *policies: dict[str, Any]) -> list[str]:
    """Write settings and policies; return the arguments that name them."""
    (folder / "settings.toml").write_text(settings)
    return [saved(folder / "policies.jsonl", *policies), "--config", f"{folder}/settings.toml"]


def series(*epsilons: float, **members: Any) -> list[dict[str, Any]]:
    """Return the first policies of that many series of one member."""
    return [policy(f"p-17/{nth}", epsilon=epsilon, **members) for nth, epsilon in enumerate(epsilons)]


@pytest.mark.parametrize("lifetime", [None, 1.25])
@pytest.mark.parametrize("epsilons", [(1.0, 1.2), (1.0, 1.0, 1.0), (1.0, 1.0, 0.6, 0.6)])
def test_an_error_is_what_decisions_refuse(
    tmp_path: Path, cli: Cli, epsilons: tuple[float, ...], lifetime: float | None
) -> None:
    """The sum is that of the decisions' claims; above the cap, the last series is refused, and so is the file."""
    settings = SETTINGS + ("" if lifetime is None else f"lifetime_epsilon = {lifetime}\n")
    policies = series(*epsilons)
    code = main(["check", *files(tmp_path, settings, *policies, policies[0] | {"version": 2})])
    said = cli.said().out
    nano = None if lifetime is None else int(lifetime * 10**9)
    run = Run(limited(member_separator="/", member_nano=3 * 10**9, lifetime_nano=nano))
    for record in policies:
        run.feed(record, key=b"p-17")
    refused = [json.loads(reject)["reason"] for reject in run.rejects]
    assert set(refused) <= {"member-cap"}
    assert code == (2 if refused else 0)
    claims = sum(epsilons) if lifetime is None else lifetime * len(epsilons)
    claimed = (
        f"person p-17: its {len(epsilons)} series reserve epsilon {claims:g} together, and a new person's limit is 3"
    )
    assert (f"{claimed}; the last one would be rejected (member-cap)\n" if refused else f"note: {claimed}\n") in said


def test_plan_says_the_same(tmp_path: Path, cli: Cli) -> None:
    """The message follows the tables and the documents; a policy's smaller lifetime is what it claims."""
    words = files(tmp_path, SETTINGS, *series(1.0, 0.5, lifetime=0.5 + 0.5))
    assert main(["plan", *words, "--steps", "3"]) == 0
    assert "p-17: its 2 series reserve epsilon 1.5 together, and a new person's limit is 3\n" in cli.said().out
    assert json.loads(cli("plan", *words, "--steps", "3", "--json").out.splitlines()[-1]) == {
        "member": "p-17",
        "series": ["p-17/0", "p-17/1"],
        "claims_nano": 1_500_000_000,
        "cap_nano": 3_000_000_000,
        "of_globs": False,
    }


@pytest.mark.parametrize(
    ("settings", "policies"),
    [
        ("", series(2.0, 2.0)),
        (SETTINGS, series(2.0)),
        (
            SETTINGS,
            [policy("p-17", value=COUNTS | {"sensitivity": 2}, collect={"neighbours": "replace", "open_steps": 1})],
        ),
    ],
)
def test_nothing_is_said_where_nothing_adds_up(
    tmp_path: Path, cli: Cli, settings: str, policies: list[dict[str, Any]]
) -> None:
    """Nothing is said without members, or about one series or collected data."""
    assert "note: member" not in cli("check", *files(tmp_path, settings, *policies)).out


def test_patterns_are_a_note(tmp_path: Path, cli: Cli) -> None:
    """Nobody knows how many series a default policy will rule, so it is a note."""
    patterns = [policy("*/a", epsilon=2.0), policy("*/b", epsilon=2.0)]
    assert main(["check", *files(tmp_path, SETTINGS, *patterns)]) == 0
    assert "note: person *: one series of each pattern reserve epsilon 4 together, " in cli.said().out


def test_settings_that_are_named_must_be_good(tmp_path: Path, cli: Cli) -> None:
    """Settings that merely exist are ignored, as before: `check` without a file reports their errors."""
    words = files(tmp_path, "member_epsilon = 3.0\n", *series(1.0, 1.0))
    assert "set member_separator" in cli("check", *words, code=2).err
    assert main(["check", words[0]]) == 0
    assert Limits().member_separator is None


@pytest.mark.parametrize(
    ("settings", "members", "said"),
    [
        ("", {"lifetime": 4.0}, "`lifetime` is 4, more than the limit of a new person, which is 3 (member_epsilon); "),
        ("lifetime_epsilon = 9.0\n", {"lifetime": 4.0}, "a series reserves 4, more than the limit of a new person, "),
        ("lifetime_epsilon = 9.0\n", {}, "a series reserves 9, more than the limit of a new person, "),
        (
            "",
            {"epsilon": 3.5},
            "a series reserves 3.5, more than the limit of a new person, which is 3 (member_epsilon), ",
        ),
    ],
)
@pytest.mark.parametrize("name", ["p-17/0", "p-*"])
def test_a_lifetime_above_the_cap_is_refused(
    tmp_path: Path,
    cli: Cli,
    settings: str,
    members: dict[str, Any],
    said: str,
    name: str,
) -> None:
    """`check` and `plan` refuse it for a series and a pattern, and accept a lifetime equal to the cap."""
    words = files(tmp_path, SETTINGS + settings, policy(name, **members))
    assert f"error: {tmp_path}/policies.jsonl:1: lifetime: {said}" in cli("check", *words, code=2).out
    assert f"policies.jsonl:1: lifetime: {said}" in cli("plan", *words, "--steps", "3", code=2).err
    words = files(tmp_path, SETTINGS + settings, policy(name, lifetime=3.0))
    assert main(["check", *words]) == 0
    assert main(["plan", *words, "--steps", "3"]) == 0
