"""A dashboard: rows of panels, and the choices of its reader."""

from typing import Any, NamedTuple

from deploy.grafana.panel import SOURCE, Panel

COLUMNS = 24
OURS = '{__name__=~"landmark_partitions_running|landmark_audit_entries"}'
"""Metrics of every worker and every following audit."""


class Variable(NamedTuple):
    """A choice for the reader: values of a label, several or all."""

    name: str
    label: str
    query: str

    def document(self) -> dict[str, Any]:
        """Return its JSON."""
        return {
            "type": "query",
            "name": self.name,
            "label": self.label,
            "datasource": SOURCE,
            "query": self.query,
            "refresh": 2,  # when the time range changes: who was there then can be chosen
            "multi": True,
            "includeAll": True,
            "allValue": ".+",
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "sort": 1,
            "hide": 0,
        }


JOB = Variable("job", "Job", f"label_values({OURS}, job)")
INSTANCE = Variable("instance", "Instance", f'label_values({OURS[:-1]}, job=~"$job"}}, instance)')
POLICY = Variable(
    "policy", "Policy", 'label_values(landmark_decisions_total{job=~"$job", instance=~"$instance"}, policy)'
)


class Row(NamedTuple):
    """Panels under one heading, from left to right, continued on the next line."""

    title: str
    panels: tuple[Panel, ...]


class Dashboard(NamedTuple):
    """One dashboard; ``name`` is its file's name, ``linked`` the name of the other dashboard."""

    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    span: str
    """The initial time range, in Grafana's notation: ``1h``."""

    def document(self) -> dict[str, Any]:
        """Return the JSON, as Grafana provisions it."""
        return {
            "uid": f"landmark-stream-{self.name}",
            "title": self.title,
            "description": self.description,
            "tags": ["landmark-stream"],
            "schemaVersion": 41,
            "version": 1,
            "editable": False,
            "graphTooltip": 1,
            "refresh": "10s",
            "time": {"from": f"now-{self.span}", "to": "now"},
            "timezone": "browser",
            "templating": {"list": [_SOURCES, *(variable.document() for variable in self.variables)]},
            "annotations": {"list": [_ALERTS]},
            "links": [_OTHERS],
            "panels": self._panels(),
        }

    def _panels(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        y = 0
        for row in self.rows:
            place = {"h": 1, "w": COLUMNS, "x": 0, "y": y}
            found.append(
                {"id": len(found) + 1, "type": "row", "title": row.title, "collapsed": False, "gridPos": place}
                | {"panels": []}
            )
            x, y, tallest = 0, y + 1, 0
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y, tallest = 0, y + tallest, 0
                found.append(panel.document(len(found) + 1, x, y))
                x, tallest = x + panel.width, max(tallest, panel.height)
            y += tallest
        return found


_SOURCES = {
    "type": "datasource",
    "name": "datasource",
    "label": "Data source",
    "query": "prometheus",
    "current": {"selected": True, "text": "Prometheus", "value": "prometheus"},  # as provisioned
    "refresh": 1,
    "hide": 0,
}
_ALERTS = {
    "name": "Alerts",
    "datasource": SOURCE,
    "enable": True,
    "iconColor": "red",
    "expr": 'ALERTS{alertname=~"Landmark.+", alertstate="firing"}',
    "titleFormat": "{{alertname}}",
    "step": "60s",
}
_OTHERS = {
    "type": "dashboards",
    "title": "Landmark Stream",
    "tags": ["landmark-stream"],
    "asDropdown": False,
    "includeVars": True,
    "keepTime": True,
}
