"""Arguments that are none: what was found, what there is, and what was perhaps meant."""

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from stream_app.cli.shared.terminal import folded
from stream_app.plain import meant

UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
CHOICE = re.compile(
    r"(?:argument (?P<name>.*?): )?invalid choice: '?(?P<found>.*?)'? \(choose from (?P<known>.*)\)", re.DOTALL
)
MISSING = re.compile(r"the following arguments are required: (.*)", re.DOTALL)
NEEDS = re.compile(r"argument (?P<name>.*): expected (?P<number>.*) arguments?", re.DOTALL)
VALUE = re.compile(r"argument (?P<name>.*): invalid (?P<kind>int|float|Path) value: '(?P<found>.*)'", re.DOTALL)
EXCLUDED = re.compile(r"argument (?P<name>.*): not allowed with argument (?P<other>.*)", re.DOTALL)
KINDS = {"int": "a whole number", "float": "a number", "Path": "a path"}


class Lines(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of descriptions, and folds those that are wider than the terminal between words."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(folded(indent + line, width, 2 * line.startswith(" ")) for line in text.splitlines())


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence each, without a page of usage before it; exit code 2."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Make it as `argparse.ArgumentParser` does, but with help in lines that fit."""
        super().__init__(*arguments, **{"formatter_class": Lines} | named)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments and end with 2."""
        said = self._sentence(message)
        more = "" if said.endswith("?") else f"; `{self.prog} --help` lists what there is"
        self.exit(2, f"{self.prog}: {said}{more}\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments; what no parser knows is told by that of its command."""
        found, left = self.parse_known_args(args, namespace)
        if left:
            self._of(getattr(found, "command", None)).error(f"unrecognized arguments: {' '.join(left)}")
        return found

    def _of(self, command: str | None) -> "Parser":
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and command in action.choices:  # noqa: SLF001
                return action.choices[command]  # type: ignore[no-any-return]
        return self

    def _sentence(self, message: str) -> str:
        if found := UNKNOWN.fullmatch(message):
            return self._unknown(found[1])
        if found := CHOICE.fullmatch(message):
            known = re.findall(r"'([^']*)'", found["known"]) or found["known"].split(", ")
            name = found["name"] or "argument"
            near = meant(found["found"], known)
            return f'{name} "{found["found"]}" is not known' + (near or f"; there are {', '.join(known)}")
        if found := MISSING.fullmatch(message):
            return f"{found[1]} is missing"
        if found := NEEDS.fullmatch(message):
            return f"{found['name']} needs {found['number']} value{'' if found['number'] == 'one' else 's'} behind it"
        if found := VALUE.fullmatch(message):
            return f'{found["name"]}: "{found["found"]}" is not {KINDS[found["kind"]]}'
        if found := EXCLUDED.fullmatch(message):
            return f"{found['name']} and {found['other']} exclude each other; give one of them"
        return message.removeprefix("argument ")

    def _unknown(self, words: str) -> str:
        word = words.split(maxsplit=1)[0]
        if word.startswith("-"):
            option = word.partition("=")[0]
            return f"there is no option {option}{meant(option, self._options())}"
        return f'"{word}" is one argument too many; quote what holds spaces, and join lists by commas without spaces'

    def _options(self) -> Iterable[str]:
        return (option for action in self._actions for option in action.option_strings if option.startswith("--"))
