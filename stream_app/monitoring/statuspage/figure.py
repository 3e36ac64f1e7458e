"""Human-readable figures; a page contains each of them with its exact value."""

from stream_app.monitoring.statuspage.markup import Markup, element

NANO = 10**9
NONE = "–"


def datum(name: str, value: float, text: str) -> Markup:
    """Return a figure as text, with its exact `value` and its name (`id`) for programs."""
    return element("data", text, id=name, value=repr(value))


def count(number: float) -> str:
    """Return a count with thousands separators."""
    return f"{number:,.0f}"


def rate(per_second: float | None) -> str:
    """Return a rate, or a dash if it is unknown."""
    return NONE if per_second is None else f"{per_second:,.1f}" if 0 < per_second < 1_000 else f"{per_second:,.0f}"


def epsilon(nano: float | None) -> str:
    """Return nano-epsilon as epsilon, with more digits for smaller values."""
    if nano is None:
        return NONE
    found = nano / NANO
    return f"{found:,.6f}" if 0 < found < 1 else f"{found:,.3f}" if 0 < found < 10_000 else f"{found:,.0f}"


def share(part: float | None) -> str:
    """Return a share as a percentage."""
    return NONE if part is None else f"{part:.1%}".replace("%", " %")


def duration(seconds: float | None) -> str:
    """Return a time in milliseconds, seconds, minutes, hours or days."""
    if seconds is None:
        return NONE
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 120 else f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} d"


def size(found: float) -> str:
    """Return a size in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if found < 1024:
            return f"{found:.0f} {unit}"
        found /= 1024
    return f"{found:.1f} GiB"
