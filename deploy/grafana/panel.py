"""A panel: what it shows, its unit and queries, and its form in Grafana's JSON."""

from typing import Any, Literal, NamedTuple

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The data source that the reader chose."""
CHOSEN = 'job=~"$job", instance=~"$instance"'
"""The labels that replace ``*`` in a query: the workers and audits that the reader chose."""

Kind = Literal["stat", "timeseries", "heatmap", "table"]
Unit = Literal["short", "none", "percentunit", "s", "bytes", "d", "ops", "dateTimeFromNow"]


class Query(NamedTuple):
    """An expression, with ``{*`` for the chosen instances, and the name of its lines."""

    expression: str
    legend: str = ""

    @property
    def text(self) -> str:
        """The expression as Grafana gets it."""
        return self.expression.replace("{*", "{" + CHOSEN)


class Step(NamedTuple):
    """The color from ``value`` on, in the panel's unit; None means from the lowest value on."""

    value: float | None
    color: Literal["green", "orange", "red", "blue"]


GREEN = (Step(None, "green"),)
"""Steps for a figure without a bound: good or bad only in comparison."""


def rising(warning: float, alarm: float | None = None) -> tuple[Step, ...]:
    """Return the steps for a figure that gets worse as it grows."""
    steps = (Step(None, "green"), Step(warning, "orange" if alarm is not None else "red"))
    return steps if alarm is None else (*steps, Step(alarm, "red"))


def falling(alarm: float, warning: float | None = None) -> tuple[Step, ...]:
    """Return the steps for a figure that gets worse as it falls."""
    if warning is None:
        return (Step(None, "red"), Step(alarm, "green"))
    return (Step(None, "red"), Step(alarm, "orange"), Step(warning, "green"))


class Panel(NamedTuple):
    """One panel; ``width`` and ``height`` are in cells of the grid, which has 24 per row."""

    kind: Kind
    title: str
    description: str
    unit: Unit
    queries: tuple[Query, ...]
    thresholds: tuple[Step, ...] = GREEN
    width: int = 8
    height: int = 8
    stacked: bool = False
    decimals: int | None = None

    def document(self, number: int, x: int, y: int) -> dict[str, Any]:
        """Return the panel's JSON at a position in the grid."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": SOURCE,
            "targets": [self._target(nth, query) for nth, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": self._field(), "overrides": []},
            "options": _OPTIONS[self.kind](self.unit),
            "gridPos": {"h": self.height, "w": self.width, "x": x, "y": y},
        }

    def _target(self, nth: int, query: Query) -> dict[str, Any]:
        now = self.kind in {"stat", "table"}
        cells = self.kind == "heatmap" and query.legend == "{{le}}"  # cumulative buckets, which Grafana takes apart
        return {
            "refId": chr(ord("A") + nth),
            "datasource": SOURCE,
            "expr": query.text,
            "legendFormat": query.legend or "__auto",
            "format": "table" if self.kind == "table" else "heatmap" if cells else "time_series",
            "instant": now,
            "range": not now,
        }

    def _field(self) -> dict[str, Any]:
        field: dict[str, Any] = {
            "unit": self.unit,
            "color": {"mode": "palette-classic" if self.kind == "timeseries" else "thresholds"},
            "thresholds": {
                "mode": "absolute",
                "steps": [{"color": step.color, "value": step.value} for step in self.thresholds],
            },
        }
        if self.decimals is not None:
            field["decimals"] = self.decimals
        if self.kind == "timeseries":
            field["min"] = 0
            field["custom"] = {
                "lineWidth": 1,
                "fillOpacity": 20 if self.stacked else 5,
                "showPoints": "never",
                "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"},
                "thresholdsStyle": {"mode": "off" if self.thresholds == GREEN else "dashed"},
            }
        return field


def _stat_options(_: Unit) -> dict[str, Any]:
    return {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "none",
        "textMode": "auto",
    }


def _timeseries_options(_: Unit) -> dict[str, Any]:
    return {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _heatmap_options(unit: Unit) -> dict[str, Any]:
    return {
        "calculate": False,
        "rowsFrame": {"layout": "le"},
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 32},
        "yAxis": {"unit": unit},
        "cellGap": 1,
        "tooltip": {"mode": "single", "yHistogram": False},
        "legend": {"show": True},
    }


def _table_options(_: Unit) -> dict[str, Any]:
    return {"showHeader": True, "cellHeight": "sm"}


_OPTIONS = {
    "stat": _stat_options,
    "timeseries": _timeseries_options,
    "heatmap": _heatmap_options,
    "table": _table_options,
}
