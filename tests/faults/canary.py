"""Canaries: raw values so unlikely that they can be found wherever they went, in whatever form."""

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

Value = TypeVar("Value", int, float, str)

GRAM = 8


@dataclass(frozen=True, slots=True)
class Canary:
    """One raw value, the path it is sent on, and every form in which it would show."""

    path: str
    value: float | str
    forms: tuple[bytes, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Spell it out."""
        object.__setattr__(self, "forms", tuple(dict.fromkeys(_forms(self.value))))


def _forms(value: float | str) -> Iterator[bytes]:
    if isinstance(value, str):
        texts = [value]
    elif isinstance(value, int):
        texts = [str(value), f"{float(value)!r}"]
        yield from (struct.pack(order + "q", value) for order in "<>")
        yield from (struct.pack(order + "d", float(value)) for order in "<>")
    else:
        fraction = value.as_integer_ratio()[0]
        digits = repr(value).replace(".", "").lstrip("-0")
        # As it is, without its point, on a grid of thousandths or 1e-7 degrees, with an exponent, as an exact fraction.
        texts = [
            repr(value),
            digits,
            f"{value:.3f}" if abs(value) > 1e6 else f"{value:.7f}",
            f"{value:.11e}",
            str(fraction),
        ]
        texts.append(str(round(value * 1000)) if abs(value) > 1e6 else str(round(value * 10**7)))
        yield from (struct.pack(order + "d", value) for order in "<>")
        yield from (struct.pack(order + "q", round(value * 1000)) for order in "<>" if abs(value) > 1e6)
    for text in texts:
        plain = text.encode()
        yield plain
        yield text.encode("utf-16-le")
        yield plain.hex().encode()
        # In base64 a text has three spellings, by its place; the ends of each depend on what stands beside it.
        for shift in range(3):
            yield base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4]


class Aviary:
    """Makes canaries, each once, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        """Begin with none."""
        self._draw = np.random.default_rng(seed)
        self.canaries: list[Canary] = []

    def number(self, path: str) -> float:
        """Return a number of fifteen digits, between 1e8 and 1e9."""
        return self._kept(path, float(int(self._draw.integers(10**14, 10**15))) / 10**6)

    def count(self, path: str) -> int:
        """Return a count of fifteen digits."""
        return self._kept(path, int(self._draw.integers(10**14, 10**15)))

    def degrees(self, path: str, low: float, high: float) -> float:
        """Return an angle with twelve decimals."""
        return self._kept(path, round(float(self._draw.uniform(low, high)), 12))

    def text(self, path: str) -> str:
        """Return a word."""
        return self._kept(path, f"canary{self._draw.bytes(10).hex()}")

    def _kept(self, path: str, value: Value) -> Value:
        self.canaries.append(Canary(path, value))
        return value


class Search:
    """Searches for all canaries at the same time, by the first eight bytes of each form."""

    def __init__(self, canaries: list[Canary]) -> None:
        """Take what to look for."""
        self._forms: dict[int, list[tuple[Canary, bytes]]] = {}
        for canary in canaries:
            for form in canary.forms:
                assert len(form) >= GRAM, f"{canary.path}: {form!r} could turn up by chance"
                self._forms.setdefault(int.from_bytes(form[:GRAM], "little"), []).append((canary, form))
        self._grams = np.array(sorted(self._forms), dtype=np.uint64)

    def found(self, places: Mapping[str, bytes]) -> list[str]:
        """Return which canaries were found where: an empty list if all is well."""
        return [f"{path} in {place}" for place, content in places.items() for path in sorted(self.within(content))]

    def within(self, content: bytes) -> set[str]:
        """Return the paths of the canaries in ``content``."""
        paths = set()
        for shift in range(min(GRAM, max(0, len(content) - GRAM + 1))):
            window = np.frombuffer(content, "<u8", (len(content) - shift) // GRAM, shift)
            nearest = np.searchsorted(self._grams[:-1], window)  # `isin` would sort all that is looked through
            for hit in np.flatnonzero(self._grams[nearest] == window):
                place = int(hit) * GRAM + shift
                forms = self._forms[int(window[hit])]
                paths |= {canary.path for canary, form in forms if content.startswith(form, place)}
        return paths


def files(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return the content of all files below a folder except those whose path contains one of ``without``."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part in str(path.relative_to(folder)) for part in without)
    }
