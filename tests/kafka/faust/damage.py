"""Kinds of damage to a local copy, done to RocksDB's own files."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

_FILES: Final = {
    "CURRENT": "CURRENT",
    "MANIFEST": "MANIFEST-*",
    "tables": "*.sst",
    "log of writes": "*.log",
    "OPTIONS": "OPTIONS-*",
    "IDENTITY": "IDENTITY",
    "rocksdict's settings": "rocksdict-config.json",
}


def flipped(file: Path) -> None:
    """Flip bytes all over a file."""
    held = bytearray(file.read_bytes())
    for at in range(0, len(held), max(1, len(held) // 50)):
        held[at] ^= 0xFF
    file.write_bytes(held)


def middle_flipped(file: Path) -> None:
    """Flip a stretch of a table's rows, leaving intact what a database reads when it is opened."""
    held = bytearray(file.read_bytes())
    for at in range(len(held) // 3, len(held) // 2):
        held[at] ^= 0xFF
    with file.open("r+b") as opened:
        opened.write(held)


def _truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _emptied(file: Path) -> None:
    os.truncate(file, 0)


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


_WAYS: Final[dict[str, Callable[[Path], None]]] = {
    "flipped": flipped,
    "truncated": _truncated,
    "emptied": _emptied,
    "deleted": Path.unlink,
    "turned into a folder": _a_folder,
    "unreadable": lambda file: file.chmod(0),  # but to root
}


def _folder_is_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no database")


def _folder_is_empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def _tables_flipped(folder: Path) -> None:
    for file in folder.glob("*.sst"):
        middle_flipped(file)


_WHOLE: Final[dict[str, Callable[[Path], None]]] = {
    "the folder is a file": _folder_is_a_file,
    "the folder is empty": _folder_is_empty,
    "the folder is gone": shutil.rmtree,
    "the middle of a table flipped": _tables_flipped,
}

DAMAGE: Final = (*(f"{name} {way}" for name in _FILES for way in _WAYS), *_WHOLE)
"""What `damage_copy` can do."""


def damage_copy(folder: Path, kind: str) -> None:
    """Damage the files of a database that nobody has open."""
    if kind in _WHOLE:
        _WHOLE[kind](folder)
        return
    name, way = next((name, way) for name in _FILES for way in _WAYS if kind == f"{name} {way}")
    files = list(folder.glob(_FILES[name]))
    assert files, f"{folder} has no {name}"
    for file in files:
        _WAYS[way](file)
