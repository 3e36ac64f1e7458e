"""Which noise key since when: the first and the last step that was decided under each, as the entries say."""

from collections.abc import Sequence
from typing import Final

_RELEASE: Final = b',"entry":"release","timestamp":'
_KEY: Final = b',"key":"'
_KEY_DIGITS: Final = 16


class KeyTimes:
    """Collects the times of each key from a ledger's lines; whether these are true is for the audit to say."""

    def __init__(self) -> None:
        self._times: dict[bytes, tuple[int, int]] = {}

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger."""
        for data in lines:
            at = data.find(_RELEASE)
            place = data.rfind(_KEY)
            if at < 0 or place < 0:
                continue
            start = at + len(_RELEASE)
            digits = data[start : data.find(b",", start)]
            if not digits.isdigit():
                continue
            time_ms, key = int(digits), data[place + len(_KEY) : place + len(_KEY) + _KEY_DIGITS]
            first, last = self._times.get(key, (time_ms, time_ms))
            self._times[key] = (min(first, time_ms), max(last, time_ms))

    def listed(self) -> list[tuple[str, int, int]]:
        """Return each key's fingerprint with its first and last step in ms, in order of the first."""
        found = [(key.decode("ascii", "replace"), *times) for key, times in self._times.items()]
        return sorted(found, key=lambda each: each[1:])
