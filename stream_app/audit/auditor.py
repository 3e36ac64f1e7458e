"""The audit of many series in one pass, from lines of the ledger and the releases to findings."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.audit.books.landmarks import NO_LANDMARKS
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import Terms
from stream_app.audit.books.written import WrittenTexts
from stream_app.audit.chain import Place, digest_of, unproven
from stream_app.audit.fastpath import Openings, advance
from stream_app.audit.finding import BoundedList, Finding, KeyChange, KeysUsed, Remark
from stream_app.audit.form.entry import Entry, ReleaseEntry
from stream_app.audit.form.reader import CLAIM, is_claim, read_entry, read_release, spelt
from stream_app.audit.heads.check import HeadsCheck
from stream_app.audit.heads.publickey import PublicKeys
from stream_app.audit.releases import CoveredEntry, Pairing
from stream_app.audit.report.report import Report, Tally
from stream_app.audit.rules import Rules
from stream_app.audit.series import Series, beside_bases


class Auditor:
    """Audits ledger entries and optionally releases as they arrive; `finish` returns the report.

    Set `compare` if the releases will be passed in, too. `lifetime_nano` is the bound on the total over policy
    versions, in nano-epsilon; None means each series' first epsilon. `keys` are the keys that may have signed
    checkpoints (heads), and `topic` is the ledger's name in these checkpoints. If `keys` is None, `heads` is None too.
    Otherwise, pass all records of the checkpoints to `heads` before the first entry. `live` is called with each finding
    as soon as it is certain; checkpoints may then also follow the entries they name. `aside` is called with each remark
    and each change of a series' key, which are not faults. `rules` contains the bounds and persons that apply to all
    series.
    """

    def __init__(
        self,
        *,
        compare: bool = False,
        lifetime_nano: int | None = None,
        keys: PublicKeys | None = None,
        topic: str | None = None,
        live: Callable[[Finding], None] | None = None,
        aside: Callable[[Remark | KeyChange], None] | None = None,
    ) -> None:
        self._series: dict[bytes, Series] = {}  # by the start of a series' entries, up to the end of its name
        self._written, self._openings = WrittenTexts(), Openings()
        self._tally = Tally(BoundedList(live))
        self._claimed = False
        self._pairing = Pairing() if compare else None
        self._remarks: BoundedList[Remark] = BoundedList(aside)
        self._changes: BoundedList[KeyChange] = BoundedList(aside)
        self.rules = Rules(lifetime_nano, self._remarks.add)
        self.heads = None if keys is None else HeadsCheck(keys, self._tally.add, topic, late=live is not None)

    def entries(self, lines: Sequence[bytes]) -> None:
        """Check the next lines of the ledger."""
        if self.heads is not None:
            self.heads.expected.entries(lines)
        tell = None if self._pairing is None else self._tell
        place = advance(self._series, lines, 0, self._tally, self._written, tell)
        while place < len(lines):
            if not self._opens(lines[place]):
                self._in_full(lines[place])
            place = advance(self._series, lines, place + 1, self._tally, self._written, tell)

    def releases(self, lines: Sequence[bytes]) -> None:
        """Check the next lines of the releases."""
        assert self._pairing is not None, "use compare=True for an auditor that checks releases"
        for data in lines:
            release = read_release(data)
            faults = [release] if isinstance(release, Finding) else self._pairing.release(release, data)
            self._tally.add(*faults)

    @property
    def recognised(self) -> bool:
        """Whether any line so far was a claim or a readable entry, even a faulty one."""
        return bool(self._series) or self._claimed

    def pending(self) -> set[tuple[str, int]]:
        """Return the (series, timestamp in ms) of entries and releases that still wait for each other."""
        return self._pairing.pending() if self._pairing is not None else set()

    @property
    def waiting(self) -> tuple[int, int]:
        """The numbers of entries and of releases still waiting for their partners."""
        return self._pairing.waiting if self._pairing is not None else (0, 0)

    @property
    def entries_read(self) -> int:
        """The number of entries read, excluding copies."""
        return self._tally.others + sum(self._tally.decisions.values())

    @property
    def series_read(self) -> int:
        """The number of series in the entries so far, excluding the persons' chains."""
        return len(self._series) - self.rules.members.chains

    def followed(self) -> Iterable[Series]:
        """Return all series and all persons' chains in their current state."""
        return self._series.values()

    def losses(self) -> Iterator[SeriesLoss]:
        """Yield the current loss of each series."""
        for series in self._series.values():
            if series.member:
                continue
            spent = series.guarantee
            yield SeriesLoss(series.name, spent.budget_nano, spent.landmark_nano, spent.peak_nano, spent.closed_nano)

    def finish(self, judged: set[tuple[str, int]] | None = None) -> Report:
        """Return the report; `judged`, if given, limits which unpaired releases and entries are reported."""
        tally, pairing = self._tally, self._pairing
        largest, name = 0, ""
        keys: Counter[str] = Counter()
        rekeyed = 0
        for series in self._series.values():
            tally.add(*unproven(series.chain, series.name))
            keys.update((series.chain.key, *(series.chain.former or ())))
            rekeyed += series.chain.former is not None
            self.rules.use(series.name, series.version, series.guarantee)
            if series.guarantee.total_nano >= largest and not series.member:
                largest, name = series.guarantee.total_nano, series.name
            if series.exposed is not None:
                cost_nano, steps = series.exposed.cost(series.books)
                tally.intrude(series.exposed.announced, series.guarantee.total_nano + cost_nano, series.name, steps)
        tally.add(*beside_bases(self._series.values(), self.rules))
        if pairing is not None:
            tally.add(*pairing.finish(judged))
        heads = None if self.heads is None else self.heads.finish()
        return Report(
            findings=tally.listed(),
            found=tally.findings.count,
            counts=tally.counted(),
            used=self.rules.used,
            series=self.series_read,
            entries=self.entries_read,
            repeated=tally.repeated + (pairing.repeated if pairing is not None else 0),
            decisions=tally.decisions,
            spent_nano=tally.spent_nano,
            keys=KeysUsed(dict(sorted(keys.items())), tuple(self._changes.listed), self._changes.count, rekeyed),
            remarks=tuple(self._remarks.listed),
            remarked=self._remarks.count,
            largest_nano=largest,
            largest_series=name,
            lifetime_nano=self.rules.lifetime_nano,
            needed_nano=self.rules.needed_nano,
            needy=self.rules.needy,
            replaced=self.rules.replaced,
            members=self.rules.members.read(),
            releases=None if pairing is None else pairing.compared,
            heads=heads,
            intruded=tally.intruded,
        )

    def _in_full(self, data: bytes) -> None:
        if data.startswith(CLAIM) and is_claim(data):
            self._claimed = True
            return
        entry = read_entry(data)
        if isinstance(entry, Finding):
            self._tally.add(entry)
            return
        beginning = f'{{"series":{spelt(entry.series)[:-1]}'.encode()
        series = self._series.get(beginning)
        told = self._tally.findings.count + self._remarks.count
        if new := series is None:
            series = self._series[beginning] = Series(entry.series)
        self._long(series, entry, digest_of(data))
        series.settle()
        if new and told == self._tally.findings.count + self._remarks.count:
            self._openings.keep(data, series)

    def _opens(self, data: bytes) -> bool:
        """Try to accept an entry that opens a series in the same way as earlier ones; return whether this succeeded."""
        opened = self._openings.open(data)
        if opened is None or opened[0] in self._series:
            return False
        beginning, series = opened
        self._series[beginning] = series
        for code, sentence in self.rules.members.claim(series.name, series.guarantee.claim_nano):
            self._tally.add(Finding(code, series.name, 1, sentence))
        self._tally.others += 1
        series.settle()
        return True

    def _long(self, series: Series, entry: Entry, digest: bytes) -> None:
        former = series.chain.key
        place, findings = series.place(entry, digest)
        self._tally.add(*findings)
        if place is Place.REPEAT:
            self._tally.repeated += 1
        if place is Place.REPEAT or place is Place.STRAY:
            return
        if former not in ("", series.chain.key):
            self._changes.add(KeyChange(series.name, entry.sequence, former, series.chain.key))
        source_ms = series.books.source_ms if series.books is not None else None
        self._tally.add(*series.account(entry, self.rules))
        self._tally.spent_nano += series.spent_nano(entry)
        if isinstance(entry, ReleaseEntry):
            self._tally.decisions[entry.decision] += 1
            books = series.books if entry.policy == series.version else None
            self._tell(entry, books.terms if books is not None else None, source_ms, books)
        else:
            self._tally.others += 1

    def _tell(
        self, entry: ReleaseEntry, terms: Terms | None, source_ms: int | None, books: Books | None = None
    ) -> None:
        """Pass on a release entry that has a place in a chain, so that the entry is compared with its release."""
        if self._pairing is not None:
            left_out = NO_LANDMARKS if books is None or books.terms.units is None else books.landmarks
            self._tally.add(*self._pairing.entry(CoveredEntry(entry, terms, source_ms, left_out)))
