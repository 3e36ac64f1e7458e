"""HTML elements; a text becomes markup by being escaped, and in no other way."""

import re
from html import escape

from stream_app.manual import BASE


class Markup(str):
    """HTML; only the functions of this file make it."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str | float) -> Markup:
    """Return an element; texts among the children are escaped, and so are attributes.

    `class_` stands for `class`, and an underscore within an attribute's name for a hyphen.
    """
    listed = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(it))}"' for key, it in attributes.items())
    return Markup(f"<{tag}{listed}>{joined(*children)}</{tag}>")


def void(tag: str, /, **attributes: str | float) -> Markup:
    """Return an element that has no content and no end, such as `meta`."""
    return Markup(element(tag, **attributes).removesuffix(f"</{tag}>"))


def joined(*children: str) -> Markup:
    """Return the children joined; texts among them are escaped."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children))


def prose(text: str) -> Markup:
    """Return a sentence whose `quoted` parts are code, and whose addresses of the docs are links."""
    parts = re.split(r"`([^`]*)`", text)
    return joined(*(element("code", part) if place % 2 else _linked(part) for place, part in enumerate(parts)))


def _linked(text: str) -> Markup:
    parts = re.split(rf"({re.escape(BASE)}[\w/#-]+(?:\.\w[\w/#-]*)*)", text)
    return joined(*(element("a", part, href=part) if place % 2 else part for place, part in enumerate(parts)))
