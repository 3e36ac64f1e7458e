"""The page of mistakes."""

from collections.abc import Sequence

from docs.generator.markdown import code, pages_top, table
from tests.cli.mistakes.commands import COMMANDS
from tests.cli.mistakes.exports import EXPORTS
from tests.cli.mistakes.files import FILES
from tests.cli.mistakes.mistake import ENERGY, Mistake, policy
from tests.cli.mistakes.policies import POLICIES
from tests.cli.mistakes.times import TIMES

TOP = f"""What people do wrong, and what they are told: the tests make each of these mistakes, and compare every line
with the one here. A message names the file with its line, the column or the member, what was found, and the remedy.
It never holds a value: an example stands for the form that was found. Lines that begin with `error` or `note` are a
report on standard output, all others go to standard error. [Exit codes](exit-codes.md) has what 0 and 2 mean: with 0
the command did its work, and warns.

The files are `energy.csv` and `policies.jsonl`, except for what the first column says:

```csv file="energy.csv"
{ENERGY}```

```json file="policies.jsonl"
{policy()}```
"""
PARTS = {
    "Times": TIMES,
    "Files and their rows": FILES,
    "Files of other programs": EXPORTS,
    "Policies and settings": POLICIES,
    "Commands": COMMANDS,
}


def page() -> str:
    """Return the page: one table per part."""
    parts = "".join(f"\n## {title}\n\n{_table(found)}" for title, found in PARTS.items())
    return pages_top("Mistakes", "tests/cli/mistakes") + TOP + parts


def _table(found: Sequence[Mistake]) -> str:
    rows = [
        (each.done, "<br>".join(_quoted(line) for line in each.said), str(each.code), each.remedy) for each in found
    ]
    return table(("what was done", "what is said", "exit code", "what to do"), rows)


def _quoted(line: str) -> str:
    """Return a line as code; a line that contains code is fenced by two marks."""
    return f"`` {line} ``" if "`" in line else code(line)
