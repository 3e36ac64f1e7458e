"""What whoever seizes a machine finds: on its disk, and in the memory of a process that runs."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CHUNK_BYTES = 65_536
_ZEROS = bytes(CHUNK_BYTES)


def memory_of(process: int) -> bytes:
    """Return everything that a process can write to: its heap, its stacks, its private pages; without long zeros."""
    pieces = []
    with Path(f"/proc/{process}/maps").open() as maps, Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if found is not None:
                start, end = int(found[1], 16), int(found[2], 16)
                memory.seek(start)
                try:
                    piece = memory.read(end - start)
                except OSError:  # given back since it was listed: the process runs
                    continue
                chunks = (piece[at : at + CHUNK_BYTES] for at in range(0, len(piece), CHUNK_BYTES))
                pieces += [chunk for chunk in chunks if chunk != _ZEROS]
    return b"".join(pieces)


def forms(secret: bytes) -> tuple[bytes, bytes]:
    """Return how a secret may stand somewhere."""
    return secret, secret.hex().encode()


def disk_of(*folders: Path) -> Iterator[bytes]:
    """Yield what each file below these folders holds, without the holes: Kafka's indexes are ten megabytes of little.

    A file that a running broker deletes meanwhile is passed over.
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
