"""HTML elements; escaping is the only way for text to become markup."""

import re
from html import escape


class Markup(str):
    """HTML, made only by the functions of this module."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str | float) -> Markup:
    """Return an element; text children and attributes are escaped.

    `class_` stands for `class`, and an underscore in an attribute's name stands for a hyphen.
    """
    listed = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(it))}"' for key, it in attributes.items())
    return Markup(f"<{tag}{listed}>{joined(*children)}</{tag}>")


def void(tag: str, /, **attributes: str | float) -> Markup:
    """Return an element without content or end tag, such as `meta`."""
    return Markup(element(tag, **attributes).removesuffix(f"</{tag}>"))


def joined(*children: str) -> Markup:
    """Return the joined children; those that are plain text are escaped."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children))


def prose(text: str) -> Markup:
    """Return a sentence in which `quoted` parts are code."""
    parts = re.split(r"`([^`]*)`", text)
    return joined(*(element("code", part) if place % 2 else part for place, part in enumerate(parts)))
