"""Fixtures for the library's tests: two days of invented hourly values, and a policy for them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import landmark_stream as ls

START = datetime(2026, 1, 31, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Return 48 hours of two homes; no value is on the policy's grid, so none may be shown anywhere."""
    return [
        {"series": home, "timestamp": START + nth * HOUR, "value": 1.00017 + nth / 7 % 5}
        for nth in range(48)
        for home in ("home-1", "home-2")
    ]


@pytest.fixture
def policy() -> ls.Policy:
    """Return a policy whose landmarks are one evening."""
    evening = (START + 17 * HOUR, START + 20 * HOUR)
    return ls.Policy.landmark(epsilon=2, landmarks=[evening], value=ls.Number(0, 10, 0.001), step=HOUR)
