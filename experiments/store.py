"""Finished trials in a file, by a digest of all that they depend on: a run that was interrupted goes on where it was.

A line is ``{"trial": digest, "measures": {..}}``. What was found with other code, data or parameters has another
digest, so it is never taken for a present result; it stays in the file.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np

import stream_app
from experiments.dataset import DataSet
from experiments.setting import Setting
from experiments.trial import Measures
from stream_app.formats import wire

FILE_NAME = "trials.jsonl"
PACKAGES = (Path(stream_app.__file__).parent / "privacy", Path(__file__).parent)  # they decide what a trial finds
SHOWING = ("plots.py", "tables.py")  # files that only show results
OWNER_ONLY = 0o600


@cache
def code_digest() -> str:
    """Return a digest of the source that trials run, and of the version of the one library that takes part."""
    digest = blake2b(np.__version__.encode(), digest_size=16, person=b"evaluation-code")
    for package in PACKAGES:
        for path in sorted(path for path in package.rglob("*.py") if path.name not in SHOWING):
            source = path.read_bytes()
            digest.update(f"{path.relative_to(package.parent)}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()


class Store:
    """The finished trials of a folder."""

    def __init__(self, folder: Path, data: Iterable[DataSet]) -> None:
        """Read what is there; raises `OSError`. The last line may be torn: its writer was stopped."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE_NAME
        self._path.touch(mode=OWNER_ONLY)
        self._digests = {one.name: one.digest() for one in data}
        self._found: dict[str, Measures] = {}
        whole = bytearray()
        for line in self._path.read_bytes().splitlines(keepends=True):
            if (parsed := _parsed(line)) is not None:
                self._found[parsed[0]] = parsed[1]
                whole += line
        if len(whole) != self._path.stat().st_size:
            self._path.write_bytes(whole)
        self._file = self._path.open("ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __contains__(self, trial: tuple[Setting, int]) -> bool:
        return self._key(*trial) in self._found

    def found(self, setting: Setting, seed: int) -> Measures:
        """Return what a trial found; raises `KeyError` when it has not run."""
        return self._found[self._key(setting, seed)]

    def add(self, setting: Setting, seed: int, measures: Measures) -> None:
        """Keep what a trial found, on the disk too."""
        key = self._key(setting, seed)
        self._found[key] = measures
        self._file.write(wire.dump({"trial": key, "measures": measures}) + b"\n")
        self._file.flush()

    def _key(self, setting: Setting, seed: int) -> str:
        """Return what names a trial: a digest of code, data, setting and seed."""
        parts = wire.dump([code_digest(), self._digests[setting.data], repr(setting), seed])
        return blake2b(parts, digest_size=16, person=b"evaluation-trial").hexdigest()


def _parsed(line: bytes) -> tuple[str, Mapping[str, float]] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        found: Any = wire.load(line)
        return str(found["trial"]), {str(name): float(value) for name, value in found["measures"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
