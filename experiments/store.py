"""Finished trials in a file; an interrupted run continues where it stopped.

A line is ``{"trial": digest, "measures": {..}}``. The digest covers everything that a trial depends on. Results of
other code, data or parameters have other digests, so they stay in the file but are never used for the present run.
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
PACKAGES = (Path(stream_app.__file__).parent / "privacy", Path(__file__).parent)  # determine what a trial finds
SHOWING = ("plots.py", "tables.py")  # files that only show results
OWNER_ONLY = 0o600


@cache
def code_digest() -> str:
    """Return a digest of the source that trials run, including the version of the one library they use."""
    digest = blake2b(np.__version__.encode(), digest_size=16, person=b"evaluation-code")
    for package in PACKAGES:
        for path in sorted(path for path in package.rglob("*.py") if path.name not in SHOWING):
            source = path.read_bytes()
            digest.update(f"{path.relative_to(package.parent)}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()


class Store:
    """The finished trials stored in a folder."""

    def __init__(self, folder: Path, data: Iterable[DataSet]) -> None:
        """Read the stored trials; raises `OSError`. The last line may be incomplete if its writer was stopped."""
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
        """Return the measures of a trial; raises `KeyError` if it has not run."""
        return self._found[self._key(setting, seed)]

    def add(self, setting: Setting, seed: int, measures: Measures) -> None:
        """Store the measures of a trial, and write them to disk."""
        key = self._key(setting, seed)
        self._found[key] = measures
        self._file.write(wire.dump({"trial": key, "measures": measures}) + b"\n")
        self._file.flush()

    def _key(self, setting: Setting, seed: int) -> str:
        """Return the identifier of a trial: a digest of its code, data, setting and seed."""
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
