"""The page of commands."""

import argparse
from collections.abc import Iterator

from docs.generator.markdown import anchor, code, pages_top, sentence, table
from stream_app.cli import COMMANDS, parser_of

TOP = """\
Every command has `--help`; `landmark-stream --version` prints the version. What commands print in a pipe is plain text,
and `NO_COLOR` is respected. [Exit codes](exit-codes.md) are the same for all; some have more to say.

"""


def page() -> str:
    """Return the page: a section for each command, with its arguments and options."""
    (commands,) = _choices(parser_of(COMMANDS))
    summaries = [(f"[{name}](#{anchor(name)})", sentence(summary)) for name, (_, summary) in COMMANDS.items()]
    sections = [section for name, parser in commands.choices.items() for section in _sections(name, parser)]
    return (
        pages_top("Commands", "the parsers in stream_app/cli")
        + TOP
        + table(("command", "what it does"), summaries)
        + "\n"
        + "\n".join(sections)
    )


def _sections(name: str, parser: argparse.ArgumentParser, summary: str = "") -> Iterator[str]:
    """Yield the section of a command, then those of its actions."""
    body = [f"## {name}\n", _text(parser.description or sentence(summary))]
    rows = [(_name(each), _meaning(each, parser)) for each in parser._actions if _is_listed(each)]  # noqa: SLF001
    if rows:
        body.append(table(("argument or option", "meaning"), rows))
    if parser.epilog:
        body.append(_text(parser.epilog))
    yield "\n".join(body)
    for actions in _choices(parser):
        helps = {each.dest: each.help or "" for each in actions._choices_actions}  # noqa: SLF001
        for action, inner in actions.choices.items():
            yield from _sections(f"{name} {action}", inner, helps[action])


def _choices(parser: argparse.ArgumentParser) -> Iterator["argparse._SubParsersAction[argparse.ArgumentParser]"]:
    return (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001


def _is_listed(action: argparse.Action) -> bool:
    return not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)  # noqa: SLF001


def _name(action: argparse.Action) -> str:
    """Return an argument as it is written: `--option VALUE`, or the argument's name."""
    name = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    forms: dict[int | str | None, str] = {
        0: "",
        None: str(name),
        "?": f"[{name}]",
        "+": f"{name}..",
        2: f"{name} {name}",
    }
    return code(" ".join(filter(None, ("/".join(action.option_strings), forms[action.nargs]))))


def _meaning(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    assert action.help, f"{parser.prog}: {_name(action)} has no help"
    named = [str(each) for each in action.choices or () if str(each) not in action.help.lower()]
    choices = f" One of {', '.join(map(code, action.choices))}." if action.choices and named else ""
    required = " Required." if action.required and action.option_strings else ""
    return sentence(action.help % {"default": action.default}) + required + choices


def _text(text: str) -> str:
    """Return a paragraph of help text; its line breaks are kept."""
    lines = [line.strip() for line in text.splitlines()]
    return "".join(f"{line}\\\n" for line in lines[:-1]) + lines[-1] + "\n"
