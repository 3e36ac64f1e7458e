"""Exit codes: general meanings, and more precise ones for some commands, shown at the end of ``--help``."""

from typing import Final

EXIT_CODES: Final[dict[int, str]] = {
    0: "done, or everything that was checked holds",
    1: "findings, or a stop that needs an operator; also an internal error, with a traceback",
    2: "unusable arguments, input or configuration, or brokers that do not answer: the message gives the remedy",
    3: "a check that lacks the power to detect what it looks for: its result means nothing",
    130: "interrupted from the keyboard",
}
"""The meaning of each code for commands that ``OWN`` does not list."""

OWN: Final[dict[str, dict[int, str]]] = {
    "demo": {
        0: "every event has an answer and the audit holds",
        1: ("some events have no answer, or the audit has findings"),
    },
    "kafka": {0: "the broker is in the requested state", 1: "`status`: no broker answers"},
    "topics": {
        0: "the topics are correct",
        2: ("a topic is wrong or has lost records at its end, or no broker answers"),
    },
    "worker": {
        0: "ended by a signal (--rehearse: every partition would continue)",
        1: (
            "its partitions stopped (setting `exit_when_stopped`), its events topic was recreated or got more "
            "partitions, or it crashed (--rehearse: a partition would stop)"
        ),
    },
    "top": {2: "no worker or audit responds"},
    "landmarks": {
        0: "registered (with --dry-run: the record is valid)",
        1: "the worker rejected the record",
        3: "sent, but no worker answered in time",
    },
    "policy": {
        0: "sent (and with --wait: accepted)",
        1: "--wait: the worker rejected the record",
        3: "--wait: sent, but no worker answered in time",
    },
    "send": {
        0: "sent (and with --wait: none rejected)",
        2: (
            "unusable input, brokers that do not answer, or rows that look wrong and are not accepted with --accept; "
            "the message says whether anything was sent"
        ),
        1: "--wait: the worker rejected some records",
        3: "--wait: sent, but not all records were answered in time",
    },
    "watermark": {
        0: "sent (and with --wait: steps were closed)",
        1: "--wait: the worker rejected the record",
        3: "--wait: sent, but no worker answered in time, or no step was open",
    },
    "replay": {
        0: "every record has an answer, which may be a rejection",
        2: "unusable input or configuration, or rows that look wrong and are not accepted with --accept; nothing is "
        "written",
    },
    "audit": {0: "holds", 1: "findings", 2: "unreadable", 3: "nothing was audited, because the ledger has no entries"},
    "explain": {
        0: "explained",
        1: "explained, but the ledger has findings up to the step",
        2: ("no such decision, or an unreadable ledger"),
    },
    "standing": {
        0: "shown",
        1: ("shown, but the ledger has findings"),
        2: "no such series or person, or an unreadable ledger",
    },
    "verify": {
        0: "no lower bound exceeds the declared loss, and the control was detected",
        1: "a lower bound exceeds the declared loss",
        3: "no power: the control was not detected either",
    },
    "left": {
        1: "some series need your decision",
        2: "a ledger that does not show what was spent, or records that the new workers would reject",
    },
    "keys erase": {0: "erased (with --dry-run: can be erased)", 1: "refused"},
    "check": {0: "no problems", 2: "problems, all of which are printed"},
}
"""More precise meanings of the codes of some commands."""


_ANEW = "nothing was written; run the same command again"
INTERRUPTED: Final[dict[str, str]] = {
    "replay": "nothing was written and no budget was spent; run the same command again",
    "send": (
        "the records already in the topic stay; send the whole file again: processed records are rejected as "
        "duplicate or late, at no cost"
    ),
    **dict.fromkeys(("audit", "explain", "standing", "left", "plan", "loss", "correlate", "dummies"), _ANEW),
    "verify": f"{_ANEW}, with --runs or --seconds for a shorter run",
    "resend": (
        "the records already sent stay; delete the events topic and recreate it with `topics` before you run the same "
        "command again"
    ),
    "topics": "topics that were created stay; the same command creates the missing ones",
    "demo": "everything that the demo started was stopped; run the same command again",
}
"""What an interrupted command left behind, and how to continue.

Commands that are not listed are normally ended with Ctrl-C, or print this information themselves.
"""


def exit_codes_of(command: str) -> str:
    """Return a sentence on a command's exit codes, for its help."""
    found = {0: "done", 2: "unusable input or configuration", **OWN.get(command, {})}
    return "Exit codes: " + ", ".join(f"{code} {found[code]}" for code in sorted(found)) + "."
