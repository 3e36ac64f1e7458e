"""``check`` of default policies that create views: their total cost, and what is not allowed."""

import json
from pathlib import Path

import pytest

from stream_app.cli import main
from tests.setup.test_views import BASE, DAYS, HOUR_MS, VIEW

HALF_HOURS = DAYS | {"unit": HOUR_MS // 2}
SETTINGS = 'member_separator = "/"\nmember_epsilon = 2.5\n'


def checked(tmp_path: Path, *policies: dict[str, object], settings: str = SETTINGS) -> tuple[int, str]:
    """Check a file of policies; return the exit code and the path of the settings."""
    (tmp_path / "policies.jsonl").write_text("\n".join(map(json.dumps, policies)))
    (tmp_path / "settings.toml").write_text(settings)
    files = str(tmp_path / "policies.jsonl"), str(tmp_path / "settings.toml")
    return main(["check", files[0], "--config", files[1]]), files[1]


def test_the_sum_of_base_and_views_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sum appears for a file of policies and for the settings that name it."""
    assert checked(tmp_path, BASE, VIEW | {"epsilon": 0.5})[0] == 0
    assert "reserve epsilon 1.5 together, and a new person's limit is 2.5" in capsys.readouterr().out.replace("\n", " ")
    _, file = checked(tmp_path, BASE, VIEW, settings=SETTINGS + f'policies_file = "{tmp_path / "policies.jsonl"}"\n')
    capsys.readouterr()
    main(["check", "--config", file])
    assert "reserve epsilon 2 together" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    ("policies", "settings", "said"),
    [
        ([BASE, VIEW], "", "p-*/sugar/day: view: views share one budget"),
        ([BASE, VIEW | {"view": "Day"}], SETTINGS, "view: is not a valid view name"),
        (
            [BASE, VIEW | {"protection": HALF_HOURS}],
            SETTINGS,
            "p-*/sugar/day: protection: a view must have the same level, unit",
        ),
    ],
)
def test_what_does_not_go_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], policies: list[dict[str, object]], settings: str, said: str
) -> None:
    """The error names the view."""
    assert checked(tmp_path, *policies, settings=settings)[0] == 2
    assert said in capsys.readouterr().out.replace("\n", " ")
