"""How long tests wait for what must come: a slow machine takes long, and what has not come by then never will."""

PATIENCE_SECONDS = 240.0
"""Below the time limit of a test (pyproject.toml), so that a wait that fails can tell what it waited for."""

ANSWER_SECONDS = 60.0
"""For one answer of a server that runs."""
