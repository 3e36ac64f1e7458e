"""Default policies that make views: their faults are reported before a worker starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.deciding.context import Limits
from stream_app.setup.configuration import policies_in
from stream_app.setup.settings import InvalidSettingsError
from tests.run import NUMBER, UNIFORM

LIMITS = Limits(member_separator="/", member_nano=10**10)
HOUR_MS = 3_600_000
BASE: dict[str, Any] = {
    "series": "p-*/sugar",
    "epsilon": 1.0,
    "protection": {"level": "landmark", "step": HOUR_MS},
    "scheme": UNIFORM,
    "value": NUMBER,
}
DAYS = {"level": "landmark", "step": 24 * HOUR_MS, "unit": HOUR_MS, "open_steps": 1}
VIEW = BASE | {"view": "day", "protection": DAYS, "value": NUMBER | {"statistic": "mean"}}


def faults(tmp_path: Path, *policies: dict[str, Any], limits: Limits = LIMITS) -> list[str]:
    """Return the refused members in a file of policies, with the line."""
    path = tmp_path / "policies.jsonl"
    path.write_text("\n".join(map(json.dumps, policies)))
    try:
        policies_in(path, limits)
    except InvalidSettingsError as error:
        return [problem.field.removeprefix(f"{path}:") for problem in error.problems]
    return []


def test_views_are_default_policies_beside_that_of_their_series(tmp_path: Path) -> None:
    """They have all that another default policy has; the name is not one of the policy's parameters."""
    path = tmp_path / "policies.jsonl"
    path.write_text("\n".join(map(json.dumps, (BASE, VIEW))))
    base, view = policies_in(path, LIMITS)
    assert (base.view, view.view) == ("", "day")
    assert "view" not in view.policy.parameters


@pytest.mark.parametrize("name", ["", "Day", "a" * 41, "a/b", "tag_7", 7, None, "tag\n"])
def test_names_of_views(tmp_path: Path, name: object) -> None:
    """Names have 1 to 40 of a-z, 0-9 and -."""
    assert faults(tmp_path, BASE, VIEW | {"view": name}) == ["2"]
    assert not faults(tmp_path, BASE, VIEW | {"view": "a-7" + "a" * 37})


@pytest.mark.parametrize("limits", [Limits(), Limits(member_separator="/")])
def test_views_need_a_cap_that_they_share(tmp_path: Path, limits: Limits) -> None:
    """Without a cap nothing would limit what they reveal together."""
    assert faults(tmp_path, BASE, VIEW, limits=limits) == ["2: view"]


def test_no_view_has_the_separator_in_its_name(tmp_path: Path) -> None:
    """Ids are split at the last one, so `p-a-b` would be view `b` of `p-a`, and accept records like a series."""
    limits = Limits(member_separator="-", member_nano=10**10)
    assert faults(tmp_path, BASE, VIEW | {"view": "a-b"}, limits=limits) == ["2: view"]
    assert not faults(tmp_path, BASE, VIEW, limits=limits)


def test_landmarks_of_a_view_are_those_of_its_series(tmp_path: Path) -> None:
    """Therefore its policy names no landmarks and draws none."""
    own = DAYS | {"landmarks": [HOUR_MS]}
    assert faults(tmp_path, BASE, VIEW | {"protection": own}) == ["2: protection.landmarks"]
    dummies = {"method": "padding", "probability": 0.5, "start": 0, "end": HOUR_MS}
    assert "2: dummies" in faults(tmp_path, BASE, VIEW | {"dummies": dummies})
    assert "2: view" in faults(tmp_path, BASE | {"dummies": dummies}, VIEW)


@pytest.mark.parametrize(
    "protection",
    [
        DAYS | {"unit": HOUR_MS // 2},
        DAYS | {"window": 2},
        DAYS | {"offset": HOUR_MS // 2},
        {"level": "event", "step": 24 * HOUR_MS, "unit": HOUR_MS, "open_steps": 1},
        {"level": "landmark", "step": 24 * HOUR_MS},
    ],
)
def test_views_protect_what_their_series_protects(tmp_path: Path, protection: dict[str, Any]) -> None:
    """These are level, unit, window and offset modulo the unit, of the first policy whose glob covers the view."""
    value = NUMBER | {"statistic": "mean"} if "unit" in protection else NUMBER
    view = VIEW | {"protection": protection, "value": value}
    assert faults(tmp_path, BASE, view) == ["2: protection"]
    assert faults(tmp_path, BASE | {"series": "p-*"}, view) == ["2: protection"]
    assert not faults(tmp_path, BASE | {"series": "home-*"}, view)
    assert not faults(tmp_path, BASE, VIEW, view | {"series": "q-*", "view": "other"})
    assert not faults(tmp_path, BASE, BASE | {"protection": {"level": "event"}, "series": "*"}, VIEW)


def test_offsets_count_modulo_the_unit(tmp_path: Path) -> None:
    """A day may begin at any hour."""
    assert not faults(tmp_path, BASE, VIEW | {"protection": DAYS | {"offset": 7 * HOUR_MS}})


def test_a_series_has_sixteen_views_at_most(tmp_path: Path) -> None:
    """Only globs that may match one series count."""
    views = [VIEW | {"view": f"day-{nth}"} for nth in range(17)]
    assert not faults(tmp_path, BASE, *views[:16])
    assert not faults(tmp_path, BASE, *views[:16], VIEW | {"series": "q-*", "view": "other"})
    assert faults(tmp_path, BASE, *views) == ["18: view"]
    assert faults(tmp_path, BASE, *views[:16], VIEW | {"series": "p-1*", "view": "other"}) == ["18: view"]
