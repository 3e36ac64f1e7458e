"""The search for one step of one series in a ledger: its entries are checked as in an audit up to the step.

The rate at which Adaptive publishes is a function of released measurements, kept in whole billionths. After each
publication but a period's first, the distance of its measurement from the one before is compared with the scale of the
noise just used: above the distance the rate falls, else it rises. Distances are whole numbers of grid cells, so no
comparison is rounded.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from math import floor
from typing import Any, Final, NamedTuple, assert_never

from stream_app.audit.books.period import Books
from stream_app.audit.books.share import MILLION
from stream_app.audit.books.terms import NANO, Terms
from stream_app.audit.chain import DIGEST_BYTES, Place, digest_of
from stream_app.audit.explain.explanation import Explanation
from stream_app.audit.explain.formula import BudgetFigures, Shares, reach_of, shares_of
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import PERTURBED, DummiesEntry, Entry, PolicyEntry, ReleaseEntry
from stream_app.audit.form.lattice import decimal_of
from stream_app.audit.form.points import Categories, Counts, Line, Means, Numbers, Parts, Positions, Quotients
from stream_app.audit.form.reader import read_entry, read_release, spelt
from stream_app.audit.releases import points_under
from stream_app.audit.rules import Rules
from stream_app.audit.series import Series


class RateError(ValueError):
    """A measurement that is no value of the policy's grid."""


class Rate:
    """The rate of one period, publication by publication."""

    def __init__(self, terms: Terms, scheme: Mapping[str, Any]) -> None:
        """Begin at 1; `scheme` holds the policy's parameters of Adaptive."""
        self.nano = NANO
        self._terms = terms
        self._space: Final = points_under(terms).space
        self._increase, self._decrease, self._minimum = (
            floor(decimal_of(scheme.get(name, default)) * NANO)
            for name, default in (("increase", 0.5), ("decrease", 0.5), ("minimum", 0.1))
        )
        self._last: tuple[object, int] | None = None

    def publish(self, measurement: object, epsilon_nano: int, count: int | None = None) -> None:
        """Move on past a publication; raises `RateError` for a measurement that the policy cannot have.

        `count` are the items of a mean whose number of items is public.
        """
        items = max(1, count or 1)
        before, self._last = self._last, (measurement, items)
        if before is None:
            return
        if self._still(before, (measurement, items), epsilon_nano):
            moved = self.nano * (NANO - self._decrease) // NANO
        else:
            moved = self.nano + (NANO - self.nano) * self._increase // NANO
        self.nano = max(moved, self._minimum)

    def _still(self, former: tuple[object, int], latter: tuple[object, int], epsilon_nano: int) -> bool:
        """Tell whether the noise scale exceeds the distance of two measurements, each with its number of items."""
        space = self._space
        (before, once), (measurement, items) = former, latter
        scale = self._terms.scale_nano / (epsilon_nano * items)
        match space:
            case Numbers(line):
                return scale > abs(_cell(line, measurement) - _cell(line, before)) / line.per_unit
            case Means(line):
                change = _cell(space.of(items), measurement) / items - _cell(space.of(once), before) / once
                return scale > abs(change) / line.per_unit
            case Parts(lines):
                # Each part moved by its share of its range; the scales of all parts together are d*d/e of them.
                moved = sum(
                    abs(_cell(line, _part(measurement, name)) - _cell(line, _part(before, name)))
                    / Fraction(line.high - line.low)
                    for name, line in lines.items()
                )
                return Fraction(len(lines) ** 2 * NANO, epsilon_nano) > moved
            case Quotients():
                raise RateError("two measurements of a mean have no rate")
            case Counts(keys):
                counted: int = sum(abs(_part(measurement, key) - _part(before, key)) for key in keys)
                return len(keys) * scale > counted
            case Positions(lines):
                cells = [
                    _cell(line, _part(measurement, name)) - _cell(line, _part(before, name))
                    for line, name in zip(lines, ("latitude", "longitude"), strict=True)
                ]
                resolution = decimal_of(self._terms.value["resolution"])
                return scale**2 > sum(cell * cell for cell in cells) * resolution**2
            case Categories():
                # By their text: to Python, 1 and true are equal.
                return scale > int(repr(before) != repr(measurement))
            case _:
                assert_never(space)


def _cell(line: Line, published: object) -> Fraction:
    cell = line.cell(published) if type(published) is float else None
    if cell is None:
        raise RateError("a measurement is no value of this policy's grid")
    return Fraction(cell)


def _part(published: object, name: str) -> Any:
    if not isinstance(published, dict) or name not in published:
        raise RateError("a measurement is no value of this policy's grid")
    return published[name]


_SERIES_AT: Final = len(b'{"series":')
_SEQUENCE: Final = b',"sequence":'


class UndecidedError(Exception):
    """A step that the ledger does not decide; `series` and `timestamp` (ms) are those that were asked for."""

    def __init__(self, series: str, timestamp: int, sentence: str) -> None:
        super().__init__(sentence)
        self.series = series
        self.timestamp = timestamp


class _Publication(NamedTuple):
    """A perturbed step of the period, as its entry has it."""

    timestamp: int
    epsilon_nano: int
    release: str  # BLAKE2b-256 of the release record, hex


class Inquiry:
    """Takes the lines of a ledger, then of its releases if wanted; `answer` explains the step.

    The lines of other series are passed over; what stands after the step is read for nothing but its place.
    """

    def __init__(self, series: str, timestamp: int) -> None:
        """Ask for the step that holds `timestamp` (ms)."""
        self._timestamp = timestamp
        self._spelling = spelt(series).encode()
        self._series = Series(series)
        self._rules = Rules(None)
        self._findings: list[Finding] = []
        self._policy: PolicyEntry | None = None
        self._dummies: DummiesEntry | None = None  # of the period
        self._published: list[_Publication] = []  # of the period
        self._found: Explanation | None = None
        self._earlier: tuple[int, int] | None = None  # the last step [start, end), ms, decided before the one asked for
        self._later_ms: int | None = None  # the first step decided after it
        self._known = False
        self._measurements: dict[int, tuple[object, int | None]] = {}  # with the number of items, by the step, ms

    @property
    def tosses(self) -> bool:
        """Whether a coin decided the step, so that the releases before it can tell the rate."""
        return self._found is not None and self._found.is_tossed

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger."""
        for data in lines:
            if data[_SERIES_AT : data.find(_SEQUENCE, _SERIES_AT)] != self._spelling:
                continue
            self._known = True
            if self._found is None and self._later_ms is None:
                entry = read_entry(data)
                if isinstance(entry, Finding):
                    self._findings.append(entry)
                else:
                    self._follow(entry, digest_of(data))

    def releases(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the releases, after the whole ledger; only those that it covers count."""
        due = {each.release: each.timestamp for each in self._published}
        for data in lines:
            at = due.get(blake2b(data, digest_size=DIGEST_BYTES).hexdigest())
            if at is None:
                continue
            release = read_release(data)
            if not isinstance(release, Finding):
                self._measurements[at] = release.measurement, release.items

    def answer(self) -> Explanation:
        """Return the explanation; raises `UndecidedError` when the ledger has none to give."""
        if self._found is None:
            doubt = (
                f" (the ledger does not hold: {len(self._findings)} findings; run `audit`)" if self._findings else ""
            )
            raise UndecidedError(self._series.name, self._timestamp, self._instead() + doubt)
        return self._found._replace(rate_nano=self._rate(self._found))

    def _follow(self, entry: Entry, digest: bytes) -> None:
        place, findings = self._series.place(entry, digest)
        self._findings += findings
        if place in (Place.REPEAT, Place.STRAY):
            return
        match entry:
            case ReleaseEntry():
                self._release(entry)
                return
            case PolicyEntry():
                self._policy, self._dummies = entry, None
                self._published = []
            case DummiesEntry():
                self._dummies = entry
            case _:
                pass
        self._account(entry)

    def _account(self, entry: Entry) -> None:
        # Whether the versions kept to a lifetime is not asked here, and a ledger does not tell it.
        found = self._series.account(entry, self._rules)
        self._findings += [finding for finding in found if finding.code != "lifetime"]

    def _release(self, entry: ReleaseEntry) -> None:
        books, policy = self._series.books, self._policy
        step_ms = 1 if books is None else books.terms.step_ms
        if entry.timestamp > self._timestamp:
            self._later_ms = entry.timestamp
        elif self._timestamp >= entry.timestamp + step_ms:
            self._account(entry)
            self._earlier = (entry.timestamp, entry.timestamp + step_ms)
            if entry.decision == PERTURBED:
                self._published.append(_Publication(entry.timestamp, entry.epsilon_nano, entry.release))
        elif books is None or policy is None or entry.policy != policy.policy:
            self._account(entry)
            tale = "; ".join(finding.message for finding in self._findings[-2:])
            message = f"entry {entry.sequence} decides it, under no policy that can be read: {tale}; run `audit`"
            raise UndecidedError(entry.series, self._timestamp, message)
        else:
            self._explain(entry, books, policy)

    def _explain(self, entry: ReleaseEntry, books: Books, policy: PolicyEntry) -> None:
        terms, tosses, source = books.terms, books.tosses, books.source_ms
        step, opens_ms = entry.timestamp // terms.step_ms, books.opens_ms
        landmark, left = books.standing(step)
        before = BudgetFigures(terms.budget_nano, books.spent_nano, books.peak_nano, left)
        reach = reach_of(books, step)
        shares = self._shares(books, policy, before, step)
        self._account(entry)
        after = before._replace(
            landmark_spent_nano=entry.landmark_spent_nano,
            landmarks_left=max(0, left - landmark),
            regular_peak_nano=entry.regular_peak_nano,
        )
        self._found = Explanation(
            entry=entry,
            policy=policy,
            dummies=self._dummies,
            terms=terms,
            landmark=landmark,
            before=before,
            reach=reach,
            opens_ms=opens_ms,
            shares=shares,
            tosses=tosses,
            after=after,
            next=self._shares(books, policy, after, step + 1),
            source_ms=source,
            earlier_nano=self._series.guarantee.closed_nano,
            findings=tuple(self._findings),
        )

    @staticmethod
    def _shares(books: Books, policy: PolicyEntry, figures: BudgetFigures, step: int) -> Shares:
        share = decimal_of(policy.parameters["scheme"].get("regular_share", 0.5))
        return shares_of(books, figures, books.terms.budget_nano * int(share * MILLION) // MILLION, step)

    def _instead(self) -> str:
        if not self._known:
            return "the series is not in the ledger; is it spelt right, and is it the ledger that was meant?"
        if self._later_ms is not None and self._earlier is None:
            return f"the step was not decided: the first decided one begins later, at {self._later_ms}"
        if self._later_ms is not None and self._earlier is not None:
            return (
                "the step was not decided and cost nothing: no event of it came, or it was rejected; decided are the "
                f"step at {self._earlier[0]} before it and the one at {self._later_ms} after it"
            )
        end = "; the series is closed" if self._series.closed else ""
        if self._earlier is None:
            return f"the ledger decides no step of the series{end}"
        return f"the step is not decided: the last decided one is at {self._earlier[0]}{end}"

    def _rate(self, found: Explanation) -> int | None:
        if not self.tosses or found.terms.compares:
            return None
        rate = Rate(found.terms, found.policy.parameters["scheme"])
        try:
            for each in self._published:
                measurement, count = self._measurements[each.timestamp]
                rate.publish(measurement, each.epsilon_nano, count)
        except (LookupError, RateError):
            return None
        return rate.nano
