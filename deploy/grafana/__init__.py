"""The Grafana dashboards, from which `python -m deploy.grafana` makes their JSON."""
