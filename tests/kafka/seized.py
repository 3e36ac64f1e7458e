"""What anyone who seizes a machine finds on its disk and in the memory of a running process."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path

import numpy as np

PAGE_BYTES = 4_096


def memory_of(process: int) -> bytes:
    """Return everything to which a process can write: its heap, its stacks, its private pages.

    Pages that are neither in memory nor swapped out were never touched. Pages with a single byte value are omitted too:
    zero pages, and pages of freed memory that was overwritten.
    """
    pieces = []
    of = Path(f"/proc/{process}")
    with (of / "maps").open() as maps, _raw(of / "pagemap") as pagemap, _raw(of / "mem") as memory:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if found is None:
                continue
            start, end = (int(found[nth], 16) for nth in (1, 2))
            pagemap.seek(start // PAGE_BYTES * 8)
            held = np.frombuffer(pagemap.read((end - start) // PAGE_BYTES * 8), np.uint64) >> np.uint64(62) > 0
            for begin, stop in np.flatnonzero(np.diff(held, prepend=False, append=False)).reshape(-1, 2).tolist():
                memory.seek(start + begin * PAGE_BYTES)
                with suppress(OSError):  # given back since it was listed: the process runs
                    pages = np.frombuffer(memory.read((stop - begin) * PAGE_BYTES), np.uint8).reshape(-1, PAGE_BYTES)
                    pieces.append(pages[(pages != pages[:, :1]).any(axis=1)].tobytes())
    return b"".join(pieces)


def _raw(path: Path) -> FileIO:
    return path.open("rb", buffering=0)


def held_in(memory: bytes, secrets: Iterable[bytes]) -> set[bytes]:
    """Return those of many secrets, each at least four bytes long, that are in memory, in two passes over it."""
    by_head: dict[int, list[bytes]] = {}
    for secret in secrets:
        by_head.setdefault(int.from_bytes(secret[:4], "little"), []).append(secret)
    heads = np.array(sorted(by_head), np.uint32)
    begins = np.zeros(2**16, np.bool_)
    begins[heads & 0xFFFF] = True
    found = set[bytes]()
    for shift in (0, 1):  # secrets that begin at even places, and at odd ones
        pairs = np.frombuffer(memory, np.uint16, (len(memory) - shift) // 2, shift)
        at = np.flatnonzero(begins[pairs[:-1]])
        quads = pairs[at] | pairs[at + 1].astype(np.uint32) << 16
        likely = np.isin(quads, heads)
        for place, quad in zip((at[likely] * 2 + shift).tolist(), quads[likely].tolist(), strict=True):
            found.update(secret for secret in by_head[quad] if memory.startswith(secret, place))
    return found


def forms(secret: bytes) -> tuple[bytes, bytes]:
    """Return the forms in which a secret may be stored."""
    return secret, secret.hex().encode()


def disk_of(*folders: Path) -> Iterator[bytes]:
    """Yield what each file below these folders holds, holes left out: Kafka's indexes are 10 MB of little.

    A file that a running broker deletes meanwhile is skipped.
    """
    for folder in folders:
        for place, _, names in os.walk(folder):
            for file in (Path(place, name) for name in names):
                with suppress(FileNotFoundError):
                    if file.is_file():
                        yield _held(file)


def _held(file: Path) -> bytes:
    pieces, end = [], 0
    with file.open("rb", buffering=0) as opened, suppress(OSError):  # ENXIO: nothing but a hole is left
        while True:
            start = os.lseek(opened.fileno(), end, os.SEEK_DATA)
            end = os.lseek(opened.fileno(), start, os.SEEK_HOLE)
            pieces.append(os.pread(opened.fileno(), end - start, start))
    return b"".join(pieces)
