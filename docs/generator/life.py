"""The page about the states of a partition's life."""

import inspect
from typing import get_args

from docs.generator.markdown import code, pages_top, table
from stream_app.kafka.owner.life import LIFE, Away, State

TOP = """\
One object a partition, `kafka/owner/partition.py`, is always in one of these states, from the assignment of the
partition to its revocation, which ends the life in any state. No step is possible that is not in the table that this
page is written from.

"""


def diagram() -> str:
    """Return the states and their transitions as a Mermaid diagram."""
    lines = [f"  [*] --> {Away.__name__}: assigned"]
    lines += [f"  {before.__name__} --> {after.__name__}: {why}" for (before, after), why in LIFE.items()]
    lines += [f"  {state.__name__} --> [*]: revoked" for state in get_args(State)]
    return "```mermaid\nstateDiagram-v2\n" + "\n".join(lines) + "\n```\n\n"


def page() -> str:
    """Return the page: the diagram, and a row for each state."""
    rows = [(code(state.__name__), inspect.cleandoc(state.__doc__ or "")) for state in get_args(State)]
    return (
        pages_top("A partition's life", "stream_app/kafka/owner/life.py")
        + TOP
        + diagram()
        + table(("state", "what goes on"), rows)
    )
