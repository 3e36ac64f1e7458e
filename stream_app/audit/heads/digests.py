"""The digests of a partition's heads by number: 32 bytes each however many there are, and nothing for a gap."""

from bisect import bisect_right

from stream_app.audit.chain import DIGEST_BYTES


class Digests:
    """Digests by rising numbers from 1, in runs without a gap: a forged number costs one run, not what lies between."""

    def __init__(self) -> None:
        """Hold none."""
        self._starts: list[int] = []  # the first number of each run, ascending
        self._runs: list[bytearray] = []
        self.last = 0
        """The highest number; 0 while there is none."""
        self.count = 0
        """How many digests are held."""

    def add(self, number: int, digest: bytes) -> None:
        """Append the digest of a number above the last one."""
        assert number > self.last, "numbers rise"
        if number != self.last + 1 or not self._runs:
            self._starts.append(number)
            self._runs.append(bytearray())
        self._runs[-1] += digest
        self.last = number
        self.count += 1

    def get(self, number: int) -> bytes:
        """Return a number's digest; b"" where none is held."""
        run = bisect_right(self._starts, number) - 1
        if run < 0:
            return b""
        start = (number - self._starts[run]) * DIGEST_BYTES
        return bytes(self._runs[run][start : start + DIGEST_BYTES])
