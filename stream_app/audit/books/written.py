"""Caches the text of release entries for later entries, because most series have the same figures as earlier ones.

The figures of an entry, from its decision to its release's hash, follow from the share, the spend on landmarks, the
peak, and whether its step is a landmark. They are written once for all series that reach the same text from the same
figures.
"""

from typing import Final

from stream_app.audit.books.share import Share
from stream_app.audit.books.terms import Terms
from stream_app.audit.form.entry import APPROXIMATED, MAX_TIMESTAMP, PERTURBED, WITHHELD

_DECISION_AT: Final = len(',"decision":"')
_DECISIONS: Final = {word[:1].encode(): word for word in (PERTURBED, APPROXIMATED, WITHHELD)}
"""The decisions by their first letters."""
_MOST_DIGITS: Final = len(str(MAX_TIMESTAMP))
MOST: Final = 8_192
"""Maximum number of kept texts of figures (600 bytes each), heads and timestamps (150 bytes each)."""

RARELY: Final = 16  # all texts are dropped after `most` times this many misses
_TRIAL: Final = 2_048
"""The number of texts written before checking whether at least as many entries reused a kept text.

If fewer entries did, because few series share figures, keeping texts costs more than writing them, so none of the next
`RARELY` times as many texts is kept.
"""


Follow = tuple[int, bool, str, int, int, "Figures"]
"""The result of combining some figures with the text of the next entry's figures.

It contains the number of landmarks at or after the step (before the entry), and whether the step is a landmark; the
text is valid only with these two. Then come the decision, the step's share and spend in nano-epsilon, and the figures
after the step. It is a plain tuple, because one is created for each text.
"""


class Figures:
    """Figures that many series can share, and the results of the next entry, keyed by that entry's text."""

    __slots__ = ("follows", "peak_nano", "spent_nano")

    def __init__(self, spent_nano: int, peak_nano: int) -> None:
        self.spent_nano, self.peak_nano = spent_nano, peak_nano
        self.follows: dict[bytes, Follow] = {}


class WrittenTexts:
    """A cache of the texts written for entries and the values read from them; it takes a few megabytes at most."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self.heads: dict[int, bytes] = {}  # from the end of the series' name to the timestamp, by sequence
        self.times: dict[bytes, int] = {}  # timestamps (ms) by their digits
        self._figures: dict[tuple[Share, str, int, int], Figures] = {}
        self._texts = self._misses = 0
        self.entries = 0  # release entries passed; the caller that passes them counts them
        self._keeps = True
        self._until = self._trial = min(_TRIAL, most)
        self._before = 0  # `entries` when the trial began

    def head(self, sequence: int) -> bytes:
        """Write the text between the name of an entry's series and its timestamp."""
        if len(self.heads) >= self._most:
            self.heads.clear()
        found = self.heads[sequence] = b'","sequence":%d,"entry":"release","timestamp":' % sequence
        return found

    def time(self, digits: bytes) -> int:
        """Parse a timestamp (ms); return -1 unless it is written in canonical form."""
        if not digits.isdigit() or len(digits) > _MOST_DIGITS or (digits.startswith(b"0") and digits != b"0"):
            return -1
        if len(self.times) >= self._most:
            self.times.clear()
        found = self.times[digits] = int(digits)
        return found

    def figures(self, terms: Terms, spent_nano: int, peak_nano: int) -> Figures:
        """Return the figures object shared by all series with these figures."""
        # Apart from the version and the budget, the text depends only on the share.
        key = terms.share, terms.spelling, spent_nano, peak_nano
        found = self._figures.get(key)
        if found is None:
            found = Figures(spent_nano, peak_nano)
            if len(self._figures) < self._most:
                self._figures[key] = found
        return found

    def follow(self, before: Figures, terms: Terms, text: bytes, left: int, *, landmark: bool) -> Follow | None:
        """Return the result of combining figures with an entry's text, or None if the text does not fit the step."""
        decision = _DECISIONS.get(text[_DECISION_AT : _DECISION_AT + 1])
        spent, peak = before.spent_nano, before.peak_nano
        due = terms.share(spent, peak, left, landmark)
        spend, spending = 0, ""
        if decision == PERTURBED:
            if due <= 0:
                return None
            spend, spending = due, f'"epsilon_nano":{due},'
            if landmark:
                spent += spend
            else:
                peak = max(peak, spend)
        if (
            decision is None
            or text
            != (
                f',"decision":"{decision}","landmark":{"true" if landmark else "false"},{terms.spelling},{spending}'
                f'"landmark_spent_nano":{spent},"landmarks_left":{left - 1 if landmark and left else left},'
                f'"regular_peak_nano":{peak},"release":"'
            ).encode()
        ):
            return None
        self._until -= 1
        if self._until <= 0:
            self._ask()
        if not self._keeps or self._texts >= self._most:
            return left, landmark, decision, due, spend, Figures(spent, peak) if spend else before
        self._texts += 1
        kept = self.figures(terms, before.spent_nano, before.peak_nano)
        after = self.figures(terms, spent, peak) if spend else kept
        found = kept.follows[text] = left, landmark, decision, due, spend, after
        return found

    def _ask(self) -> None:
        """Decide from the reuse of kept texts whether to keep more texts; after too many misses, forget all texts."""
        met = self.entries - self._before - self._trial
        if self._keeps:
            self._misses += self._trial
            if self._misses >= RARELY * self._most:
                self._forget()
        self._keeps = not self._keeps or met >= self._trial
        self._trial = min(_TRIAL, self._most) * (1 if self._keeps else RARELY)
        self._until, self._before = self._trial, self.entries

    def _forget(self) -> None:
        """Forget all texts; series keep a reference to their figures, which are small without the texts."""
        for figures in self._figures.values():
            figures.follows.clear()
        self._figures.clear()
        self._texts = self._misses = 0
