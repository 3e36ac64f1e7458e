"""Exit codes: what a number means for every command, and more exactly for some; ``--help`` ends with it."""

from typing import Final

EXIT_CODES: Final[dict[int, str]] = {
    0: "done, or what was checked holds",
    1: "findings, or a stop that needs an operator; also a fault of the program itself, with a traceback",
    2: "unusable arguments, input or configuration, or brokers that do not answer: the message names the remedy",
    3: "a check that could not have found what it looks for: it says nothing",
    130: "interrupted from the keyboard",
}
"""The meaning of each code for commands that ``OWN`` does not list."""

OWN: Final[dict[str, dict[int, str]]] = {
    "demo": {0: "every event was answered and the audit holds", 1: "not all answered, or findings"},
    "kafka": {0: "the broker is as asked", 1: "`status`: no broker answers"},
    "topics": {0: "the topics are as they must be", 2: "they differ, lost an end, or cannot be asked"},
    "worker": {
        0: "a signal ended it (--rehearse: every partition would go on)",
        1: "its partitions stopped (setting `exit_when_stopped`), its events topic was made again or got more "
        "partitions, or it crashed (--rehearse: some partition would stop)",
    },
    "top": {2: "nothing can be seen at all"},
    "landmarks": {
        0: "registered (with --dry-run: could be sent)",
        1: "refused by the worker",
        3: "sent, and no worker answered in time",
    },
    "policy": {
        0: "sent, with --wait: and taken",
        1: "--wait: refused by the worker",
        3: "--wait: sent, and no worker answered in time",
    },
    "send": {
        0: "sent, with --wait: and none refused",
        2: "unusable input, brokers that do not answer, or something looks wrong with the rows and --accept does not "
        "name it: the message says whether anything was sent",
        1: "--wait: some refused by the worker",
        3: "--wait: sent, and not all answered in time",
    },
    "watermark": {
        0: "sent, with --wait: and steps closed",
        1: "--wait: refused by the worker",
        3: "--wait: sent, and no worker answered in time, or there was nothing to close",
    },
    "replay": {
        0: "every record was answered, rejects included",
        2: "unusable input or configuration, or something looks wrong with the rows and --accept does not name it: "
        "nothing is written",
    },
    "audit": {0: "holds", 1: "findings", 2: "unreadable", 3: "nothing was audited: the ledger has no entries"},
    "explain": {0: "explained", 1: "explained, with findings up to the step", 2: "no such decision"},
    "standing": {0: "shown", 1: "shown, with findings", 2: "no such series or member, or an unreadable ledger"},
    "verify": {
        0: "no lower bound passes what is declared, and the control was found",
        1: "a lower bound passes what is declared",
        3: "no power: the control was not found either",
    },
    "left": {
        1: "some series are left to you to decide by hand",
        2: "a ledger that does not tell what was spent, or records that the new workers would refuse",
    },
    "keys erase": {0: "erased (with --dry-run: could be)", 1: "refused"},
    "check": {0: "no problems", 2: "problems, every one of them printed"},
}
"""The meaning of codes for single commands, where it is more exact."""


_ANEW = "nothing is written; the same command begins anew"
INTERRUPTED: Final[dict[str, str]] = {
    "replay": "nothing is written and no budget is spent; the same command begins anew",
    "send": "what is in the topic stays; send the whole file again: what was decided is rejected as duplicate or late, "
    "and spends nothing",
    **dict.fromkeys(("audit", "explain", "standing", "left", "plan", "loss", "correlate", "dummies"), _ANEW),
    "verify": f"{_ANEW}, and with --runs or --seconds it takes less time",
    "evaluate": "finished trials are kept in the folder of --out; the same command goes on behind them",
    "resend": "what was sent stays; delete the events topic and make it anew with `topics` before the same command",
    "topics": "topics that were made stay; the same command makes those that are missing",
    "demo": "what it started is stopped; the same command begins anew",
}
"""What Ctrl-C left, and how to go on; the commands that are not here are meant to be ended so, or say it themselves."""


def exit_codes_of(command: str) -> str:
    """Return a sentence on the exit codes of a command, for its help."""
    found = {0: "done", 2: "unusable input or configuration", **OWN.get(command, {})}
    return "Exit codes: " + ", ".join(f"{code} {found[code]}" for code in sorted(found)) + "."
