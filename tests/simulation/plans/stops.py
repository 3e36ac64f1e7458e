"""For which faults a partition may stop, and for which it must."""

from typing import Final

from tests.simulation.plans.schedule import HOLES

JUSTIFIED: Final[dict[str, frozenset[str]]] = {
    "tail-differs": frozenset({"key", "configuration", "events tail", "events remade", "ledger hole"}),
    "changelog-short": frozenset({"changelog head", "changelog tail", "changelog remade"}),
    "row-missing": frozenset({"events head", "changelog head", "changelog tail", "changelog remade"}),
    "row-behind": frozenset({"changelog tail"}),
    "ledger-short": frozenset({"ledger head", "ledger tail", "ledger hole"}),
    "releases-short": frozenset({"releases tail", "releases hole"}),
    "rejects-short": frozenset({"rejects tail", "rejects hole"}),
    "input-lost": frozenset({"events head"}),
    "input-short": frozenset({"events tail", "events remade"}),
    "topic-replaced": frozenset({"events remade"}),
    "foreign-writer": frozenset({"producer id expired"}),
    "state-damaged": frozenset({"events tail", "events remade"}),  # other input lies where open steps are counted from
    "transaction-failed": frozenset({"cut off"}),
}
"""The faults for which a partition may stop, by reason; for other reasons, or without a fault, it must not."""

STOPPING: Final = frozenset({"ledger head", "ledger tail", "releases tail", *HOLES})
"""Losses after which nobody may continue if anything committed is gone."""
