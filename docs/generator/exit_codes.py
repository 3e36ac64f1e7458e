"""The page of exit codes."""

from docs.generator.markdown import code, pages_top, sentence, table
from stream_app.cli.exits import EXIT_CODES, OWN

TOP = "Every command ends with one of these. A message of code 2 goes to standard error and names the remedy.\n\n"
MIDDLE = "\nThe same more exactly, where a command has more to say:\n\n"


def page() -> str:
    """Return the page: the codes of all commands, then their meanings for individual commands."""
    rows = [
        (code(command), code(number), sentence(text)) for command, own in OWN.items() for number, text in own.items()
    ]
    return (
        pages_top("Exit codes", "stream_app/cli/exits.py")
        + TOP
        + table(("code", "meaning"), [(code(number), sentence(text)) for number, text in EXIT_CODES.items()])
        + MIDDLE
        + table(("command", "code", "meaning"), rows)
    )
