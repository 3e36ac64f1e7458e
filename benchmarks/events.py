"""The events of a run: every series once an hour, in turn, with values that any machine computes alike."""

from collections.abc import Iterator

from benchmarks.sizes import HOUR_MS, START_MS, VALUES, Sizes
from stream_app.formats import wire
from stream_app.kafka.client.sending import Event

_STRIDE, _PERIOD = 7_919, 9_973  # both prime: values go up and down without a pattern that noise could follow


def events(sizes: Sizes, start: int = 0) -> Iterator[Event]:
    """Yield ``sizes.events`` events, beginning with number ``start``; numbers go through the series in turn."""
    for number in range(start, start + sizes.events):
        series = f"series-{number % sizes.series:07d}"
        document = {
            "type": "observation",
            "series": series,
            "timestamp": START_MS + number // sizes.series * HOUR_MS,
            "value": value(sizes.kind, number),
        }
        yield Event(series.encode(), wire.dump(document))


def value(kind: str, number: int) -> object:
    """Return the raw value of an event: made up here, so that no one's data are in a benchmark."""
    spread = number * _STRIDE % _PERIOD
    if kind == "number":
        return spread / 1000
    if kind == "counts":
        return {"walk": spread % 13, "ride": spread % 5, "rest": spread % 29}
    if kind == "location":
        return {"latitude": -11 + spread / 100_000, "longitude": -37.1 + spread / 100_000}
    categories: list[str] = VALUES["category"]["categories"]
    return categories[spread % len(categories)]
