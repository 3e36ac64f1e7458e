"""What is wrong with user input, in plain words: what was found, what is allowed, what was meant."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

INTEGER: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
"""A whole number as people write it; no timestamp or count is longer."""
PRIVATE: Final = "PRIVATE, protect this like the raw data"
"""The beginning of a sentence that is only for people who have the raw data."""
NOT_UTF8: Final = "is not UTF-8 text; save it as UTF-8"
MEMBERS_BY = {"scheme": "name", "value": "kind", "dummies": "method"}
"""Policy members whose form is named by another member; pydantic includes that name in the location."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known name that was perhaps meant, or "" if none is similar."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""


def meant(word: str, known: Iterable[str]) -> str:
    """Return a question, to end a sentence, with the name that was perhaps meant; return "" if none is similar."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""


MOST_NAMED: Final = 3
"""The number of names shown from a list."""


def some_of(names: Sequence[str], what: str) -> str:
    """Return the first few names, and how many more of ``what`` there are."""
    more = len(names) - MOST_NAMED
    return f"{', '.join(names[:MOST_NAMED])}{f' and {more:,} more {what}' if more > 0 else ''}"


def shown(found: object) -> str:
    """Return what kind of thing was found, never the thing itself: it may be a raw value put there by mistake."""
    match found:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int():
            return "a whole number"
        case float():
            return "a number with decimals"
        case Mapping():
            return "an object"
        case _:
            return "a list"


NAMED: dict[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "decimal": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "an object, in braces",
    "model": "an object, in braces",
    "path": "a file path",
    "secret": "text",
}
"""What is expected, keyed by the beginning of pydantic's name for an error."""
BOUNDS = {
    "greater_than": ("gt", "above", ""),
    "greater_than_equal": ("ge", "from", " on"),
    "less_than": ("lt", "below", ""),
    "less_than_equal": ("le", "up to", ""),
}
TINY = 1e-9  # a bound too close to 0 to write out


def member_of(location: tuple[int | str, ...]) -> str:
    """Return the dotted member at a location, without the name of a form."""
    parts = list(location)
    if len(parts) > 1 and parts[0] in MEMBERS_BY:
        del parts[1]
    return ".".join(map(str, parts))


Location = tuple[int | str, ...]  # location of a pydantic error


def fault(error: Mapping[str, Any], members: Callable[[Location], Iterable[str]], noun: str = "member") -> str:
    """Return what is wrong with a member, given an error from pydantic.

    ``members`` returns the members of the object at a location; ``noun`` is the word for these members.
    """
    kind, context = error["type"], error.get("ctx") or {}
    if kind == "missing":
        return "is missing; add it"
    if kind == "extra_forbidden":
        known = tuple(members(error["loc"][:-1]))
        return f"unknown {noun}{meant(str(error['loc'][-1]), known) or '; choose from ' + ', '.join(known)}"
    if kind in {"union_tag_invalid", "literal_error", "enum"}:
        return _one_of(error, context)
    if kind == "union_tag_not_found":
        return "is missing; add it, because the other members depend on it"
    if kind == "value_error":
        return str(error["msg"]).removeprefix("Value error, ")
    if kind in BOUNDS:
        name, word, after = BOUNDS[kind]
        bound = context[name]
        tiny = 0 < abs(bound) < TINY
        return "use a number " + ("above 0" if tiny else f"{word} {f'{bound:,}'.removesuffix('.0')}{after}")
    if kind in {"too_short", "too_long", "string_too_short", "string_too_long"}:
        unit = "characters" if kind.startswith("string") else "entries"
        word, bound = ("at least", "min_length") if kind.endswith("short") else ("at most", "max_length")
        return f"use {word} {context[bound]:,} {unit}"
    if kind == "string_pattern_mismatch":
        return f"has a character that is not allowed: it must match {context['pattern']}"
    begins = kind.split("_")[0]
    return f"found {shown(error.get('input'))}; use {NAMED.get(begins, 'something else')}"


def _one_of(error: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    written = context.get("expected_tags") or context.get("expected") or ""
    known = [each.strip().strip("'") for each in str(written).replace(" or ", ", ").split(",")]
    found = context.get("tag", error.get("input"))
    near = meant(found, known) if isinstance(found, str) else ""
    return f"is not one of {', '.join(known)}{near}"
