"""The Grafana dashboards, whose JSON `python -m deploy.grafana` writes."""
