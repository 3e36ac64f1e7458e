"""The rules of steps with several readings (docs/policies.md), written down a second time, with fractions."""

from collections.abc import Iterable
from fractions import Fraction
from math import floor
from typing import Any

STEP = 10


def number_like(found: object) -> bool:
    """Return whether something is a JSON number."""
    return isinstance(found, int | float) and not isinstance(found, bool)


def literal(  # noqa: C901 (all of the rules in one place)
    log: Iterable[dict[str, Any]], form: dict[str, Any], value: dict[str, Any]
) -> tuple[list[tuple[int, Fraction | None]], list[tuple[int, str]]]:
    """Return the decided steps with their results (None: a filled gap), and the rejects.

    ``log`` has readings and watermarks of one series, ``form`` is the protection, and ``value`` that of a number.
    """
    aggregate, lateness = form["within"], form["open_steps"]
    first: int | None = None
    opened: set[int] = set()
    readings: dict[int, list[tuple[int, Fraction]]] = {}
    decided: list[tuple[int, Fraction | None]] = []
    rejects: list[tuple[int, str]] = []

    def grid(exactly: Fraction) -> Fraction:
        unit = Fraction(str(value["resolution"]))
        cell = floor(exactly / unit + Fraction(1, 2))
        low, high = (floor(Fraction(value[end]) / unit) for end in ("lower", "upper"))
        return unit * min(max(cell, low), high)

    def close(step: int) -> None:
        found = readings.pop(step, [])
        numbers = [number for _, number in found]
        if numbers:
            together = {
                "last": max(found)[1],
                "sum": sum(numbers, Fraction(0)),
                "mean": sum(numbers, Fraction(0)) / len(numbers),
                "max": max(numbers),
            }
            decided.append((step, grid(together[aggregate])))
        elif form.get("absent") == "approximated":
            decided.append((step, None))
        elif "absent" in form:
            decided.append((step, grid(Fraction(str(form["absent"])))))

    for record in log:
        at = record["timestamp"]
        step = at // STEP
        if record.get("type") == "watermark":
            if first is not None and step <= first:
                rejects.append((at, "duplicate" if step == first else "late"))
                continue
            for passed in range(step if first is None else first, step):
                close(passed)
            first = step
            opened = set(range(step, step + lateness))
            continue
        if "absent" in form and (first is None or (step >= first and step not in opened)):
            rejects.append((at, "early"))
        elif first is not None and step < first:
            rejects.append((at, "late"))
        elif at in [moment for moment, _ in readings.get(step, [])]:
            rejects.append((at, "duplicate"))
        elif not number_like(record["value"]) and "invalid" not in value:
            rejects.append((at, "invalid-value"))
        else:
            number = record["value"] if number_like(record["value"]) else value["invalid"]
            if "absent" not in form:
                for passed in range(first or 0, step - lateness + 1):
                    close(passed)
                first = max(0 if first is None else first, step - lateness + 1)
            readings.setdefault(step, []).append((at, Fraction(repr(float(number)))))
    return decided, rejects
