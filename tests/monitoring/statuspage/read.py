"""A page as a strict reader sees it: elements closed in order, figures by name, and what it would load."""

from html.parser import HTMLParser

VOID = {"meta"}
INLINE = {"a", "code", "data", "em", "small", "strong"}
"""Elements that do not separate words."""


class Page(HTMLParser):
    """A page that was read; raises `AssertionError` if its elements are not properly nested."""

    def __init__(self, text: str) -> None:
        """Read all of it."""
        super().__init__()
        self.data: dict[str, float] = {}
        self.elements: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element's beginning."""
        found = dict(attrs)
        self._part(tag)
        self.elements.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "data":
            name = str(found["id"])
            assert name not in self.data, f"two figures have the id {name}"
            self.data[name] = float(str(found["value"]))
        self.links += [str(value) for key, value in attrs if key in {"href", "src", "xlink:href", "action"}]
        assert not [key for key, _ in attrs if key.startswith("on") or key == "style"]

    def handle_endtag(self, tag: str) -> None:
        """Take an element's end."""
        self._part(tag)
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text, except for the style sheet."""
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        """Return what people read."""
        return " ".join("".join(self.words).split())

    def _part(self, tag: str) -> None:
        if tag not in INLINE:
            self.words.append(" ")
