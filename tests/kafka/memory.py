"""The memory of a running process, as whoever seizes its machine reads it."""

import re
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
