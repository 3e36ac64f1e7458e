"""A worker's page: recent key figures, partitions, budget, decisions, rejects and temporal loss."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from platform import python_version
from types import MappingProxyType
from typing import Final, NamedTuple

from stream_app import __version__
from stream_app.monitoring.metrics import WorkerMetric
from stream_app.monitoring.scrape import Distribution
from stream_app.monitoring.snapshot import PartitionFigures, WorkerDetail, WorkerSnapshot
from stream_app.monitoring.statuspage import figure
from stream_app.monitoring.statuspage.document import Level, PageState, Row, View, facts, page, pill, section, table
from stream_app.monitoring.statuspage.figure import datum
from stream_app.monitoring.statuspage.markup import Markup, element, joined, prose
from stream_app.monitoring.statuspage.plot import bars, ends, lately, part
from stream_app.privacy.reason import REASONS as REJECTS
from stream_app.privacy.reason import Advice

_Text = Callable[[float], str]
_CONTROL: Final = "policies, landmarks"
"""The name that readers see for records other than events; the metric calls them `control`."""
_SAMPLES: Final = "From the first 50 open series of each batch in the last ten minutes. A series counts once per batch."


class AboutWorker(NamedTuple):
    """Facts about a worker that the page shows but no metric holds."""

    application: str
    crashed: bool
    prepared: bool  # whether its state is restored
    partitions: Mapping[int, str | None]  # its partitions, with the reason for each that stopped
    running: Sequence[int]
    up_seconds: float
    topic_there: bool = True  # whether the events topic is still the same as at the start
    degraded: bool = False  # whether the brokers do not answer
    outside: bool = False  # whether it stays outside its consumer group
    joining: float = 0.0  # while it waits: seconds until its group stops counting a killed worker
    advice: Mapping[str, Advice] = MappingProxyType({})  # meaning and remedy of each reason to stop

    @property
    def stopped(self) -> dict[int, str]:
        """Return the stopped partitions, each with its reason."""
        return {number: reason for number, reason in self.partitions.items() if reason is not None}

    @property
    def state(self) -> PageState:
        """Return the state of the whole worker; the worst state takes precedence."""
        if self.crashed:
            return PageState("bad", "Crashed")
        if self.stopped:
            return PageState("bad", _counted(len(self.stopped), "partition") + " stopped")
        if not self.topic_there:
            return PageState("bad", "The events topic is missing")
        if self.degraded:
            return PageState("bad", "Degraded: the brokers do not answer")
        if self.outside:
            return PageState("bad", "Outside its consumer group")
        if not self.prepared and self.joining:
            text = f"Waiting for its consumer group, which keeps a killed worker for up to {self.joining:g} s"
            return PageState("wait", text)
        if not self.prepared:
            return PageState("wait", "Restoring state")
        if not self.running:
            return PageState("wait", "Owns no partition")
        return PageState("good", "Serves " + _counted(len(self.running), "partition"))


def worker_page(about: AboutWorker, view: View) -> str:
    """Return the page."""
    seen = view.snapshot
    assert isinstance(seen, WorkerSnapshot), "a worker's registry has a worker's metrics"
    assert seen.detail is not None, "the snapshot was made from a scrape"
    return page("worker", about.application, about.state, view, _sections(about, view, seen, seen.detail))


def _sections(about: AboutWorker, view: View, seen: WorkerSnapshot, detail: WorkerDetail) -> Iterator[Markup]:
    if about.stopped:
        yield _troubles(about)
    yield from _figures(view, seen)
    yield section("Partitions", _partitions(about, detail), kind="half")
    yield section("Budget", *_budget(view, seen, detail), kind="half")
    yield section("Decisions", _decisions(detail.decided), kind="half")
    yield section("Rejects", _rejects(seen), kind="half")
    if seen.correlated_series or seen.backward_loss.observations:
        yield section("Temporal loss", *_losses(view, seen, detail), kind="half")
    yield section("This worker", _about(about, seen.recovery_remaining, detail), kind="half")


def _troubles(about: AboutWorker) -> Markup:
    rows = []
    for number, reason in sorted(about.stopped.items()):
        known = [prose(_sentence(each)) for each in (about.advice[reason].meaning, about.advice[reason].remedy)]
        rows.append((f"Partition {number}", (element("code", reason), *known)))
    note = element(
        "p", "The events of these partitions are waiting. The worker's log shows what was found.", class_="note"
    )
    heads = ("", "reason", "what happened", "what to do")
    return section("Stopped", table("Stopped partitions", heads, rows), note, kind="trouble")


def _figures(view: View, seen: WorkerSnapshot) -> Iterator[Markup]:
    def card(
        name: str, now: Sequence[str], beside: str, drawn: Callable[[WorkerSnapshot], float | None], text: _Text
    ) -> Markup:
        course = lately(name, [*view.history.of(WorkerSnapshot, drawn), drawn(seen)], text)
        return section(name, element("p", *now, class_="now"), element("p", beside), *course, kind="figure")

    yield card(
        "Events per second",
        [figure.rate(seen.events_per_second)],
        joined(datum("events", seen.events, figure.count(seen.events)), " processed since the start"),
        lambda old: old.events_per_second,
        figure.rate,
    )
    yield card(
        "Not processed yet",
        ["unknown"]
        if seen.outside_group
        else [datum("lag-records", seen.lag_records, figure.count(seen.lag_records)), element("small", " records")],
        "nothing is fetched outside the consumer group" if seen.outside_group else "fetched and waiting",
        lambda old: old.lag_records,
        figure.count,
    )
    yield card(
        "Append to commit",
        [datum("lag-seconds", seen.lag_seconds, figure.duration(seen.lag_seconds if seen.events else None))],
        "last batch of the slowest partition",
        lambda old: old.lag_seconds,
        figure.duration,
    )
    yield card(
        "Commit of a batch",
        [figure.duration(seen.commit_seconds)],
        "mean of the last few seconds",
        lambda old: old.commit_seconds,
        figure.duration,
    )
    yield card(
        "Largest loss so far",
        [datum("used-nano", seen.used_nano, seen.most_used)],
        "epsilon, of the recently changed series with the largest share",
        lambda old: old.used_nano / old.promised_nano if old.promised_nano else None,
        figure.share,
    )
    rejected = sum(seen.rejects.values())
    yield card(
        "Rejects per second",
        [figure.rate(seen.rejects_per_second)],
        joined(datum("rejects", rejected, figure.count(rejected)), " since the start"),
        lambda old: old.rejects_per_second,
        figure.rate,
    )


def _partitions(about: AboutWorker, detail: WorkerDetail) -> Markup:
    columns: list[tuple[str, Callable[[PartitionFigures], str]]] = [
        ("events", lambda shown: figure.count(shown.events)),
        ("not processed yet", lambda shown: figure.count(shown.lag_records)),
        ("append to commit", lambda shown: figure.duration(shown.lag_seconds)),
        ("series in memory", lambda shown: figure.count(shown.cached_series)),
    ]
    if any(shown.open_steps for shown in detail.partitions.values()):
        columns.insert(3, ("open steps", lambda shown: figure.count(shown.open_steps)))
    rows = [
        (str(number), (pill(_state(about, number)), *(text(shown) for _, text in columns)))
        for number in sorted(about.partitions)
        for shown in (detail.partitions.get(str(number), PartitionFigures()),)
    ]
    if not rows:
        return element("p", "No partition is assigned to this worker.")
    heads = ("partition", "state", *(name for name, _ in columns))
    return table("Partitions", heads, rows, range(1, len(heads)))


def _state(about: AboutWorker, number: int) -> PageState:
    reason = about.partitions[number]
    if reason is not None:
        return PageState("bad", reason)
    return PageState("good", "running") if number in about.running else PageState("wait", "restoring")


def _budget(view: View, seen: WorkerSnapshot, detail: WorkerDetail) -> Iterator[Markup]:
    left = view.history.observed(WorkerMetric.BUDGET_LEFT_SHARE, detail)
    yield from _distribution("Share of budget remaining at the end of a batch", left, figure.share, ("none", "all"))
    rate = view.history.observed(WorkerMetric.SAMPLING_RATE, detail)
    if rate.observations:
        yield from _distribution("Sampling rate", rate, figure.share, ("never publishes", "always publishes"))
    yield element("p", _SAMPLES, class_="note")
    if seen.capped_members:
        capped = datum("capped", seen.capped_members, figure.count(seen.capped_members))
        claimed = datum("claimed", seen.claimed_members, figure.count(seen.claimed_members))
        yield facts((("people with a limit", capped), ("nine tenths reserved", claimed)))
    rows = list(_parts("spent", detail.spent, figure.epsilon, lambda policy: policy or figure.NONE))
    if rows:
        yield table("Sum over all steps", ("policy", "scheme", "sum over all steps", "share"), rows, (1, 2))
        summed = datum("spent-nano", seen.spent_nano, figure.epsilon(seen.spent_nano))
        now = f"; {figure.epsilon(seen.spend_nano_per_second)} per second now. No guarantee limits this sum."
        yield element("p", "Total: ", summed, now, class_="note")


def _parts(
    name: str, counts: Mapping[tuple[str, ...], int], text: Callable[[float], str], head: Callable[[str], str]
) -> Iterator[Row]:
    """Yield a row for each name and scheme, with the count and its share of the total."""
    total = sum(counts.values())
    for (whose, scheme), count in counts.items():
        counted = datum(f"{name}-{whose}-{scheme}", count, text(count))
        drawn = joined(figure.share(count / total), part(count / total))
        yield head(whose), (scheme or figure.NONE, counted, drawn)


def _distribution(
    name: str, found: Distribution, text: Callable[[float | None], str], sides: tuple[str, str]
) -> Iterator[Markup]:
    yield element("p", f"{name}, mean ", element("strong", text(found.mean)))
    yield bars(name, found, text)
    yield ends(*sides)


def _decisions(decided: Mapping[tuple[str, ...], int]) -> Markup:
    rows = list(_parts("decided", decided, figure.count, lambda name: _CONTROL if name == "control" else name))
    if not rows:
        return element("p", "No decisions yet.")
    return table("Decisions", ("decision", "scheme", "records", "share"), rows, (1, 2))


def _rejects(seen: WorkerSnapshot) -> Markup:
    known: Mapping[str, Advice] = dict(REJECTS.items())
    rows = [
        (reason, (datum(f"rejected-{reason}", number, figure.count(number)), _advice(known.get(reason))))
        for reason, number in seen.rejects.items()
    ]
    if not rows:
        return element("p", "No rejected records since the start.")
    return table("Rejects", ("reason", "records", "meaning and remedy"), rows, (0,))


def _advice(advice: Advice | None) -> Markup:
    if advice is None:
        return joined()
    return joined(prose(_sentence(advice.meaning)), " ", element("em", prose(_sentence(advice.remedy))))


def _losses(view: View, seen: WorkerSnapshot, detail: WorkerDetail) -> Iterator[Markup]:
    level: Level = "bad" if seen.alarmed_series else "good"
    yield element("p", pill(PageState(level, _counted(seen.alarmed_series, "series", "series") + " above the alarm")))
    correlated = datum("correlated", seen.correlated_series, figure.count(seen.correlated_series))
    alarmed = datum("alarmed", seen.alarmed_series, figure.count(seen.alarmed_series))
    yield facts((("series with a correlation", correlated), ("series above the alarm", alarmed)))
    found = view.history.observed(WorkerMetric.BACKWARD_LOSS, detail)
    yield from _distribution(
        "Backward loss", found, lambda loss: figure.NONE if loss is None else f"{loss:.3g}", ("0", "more")
    )
    note = "What an adversary who knows the correlation gains, for the first 50 correlated series of each batch."
    yield element("p", note, class_="note")


def _about(about: AboutWorker, remaining: int, detail: WorkerDetail) -> Markup:
    return facts(
        (
            ("version", __version__),
            ("Python", python_version()),
            ("up for", figure.duration(about.up_seconds)),
            ("local state", datum("state-bytes", detail.state_bytes, figure.size(detail.state_bytes))),
            ("rows restored", figure.count(detail.recovered_rows)),
            ("left to restore", figure.count(remaining)),
            ("signed checkpoints written", figure.count(detail.heads)),
            ("producers opened again", figure.count(detail.reopened)),
            ("first key epoch", figure.count(detail.first_key_epoch)),
            ("input kept for open steps", figure.count(detail.kept_records)),
        )
    )


def _counted(number: int, one: str, more: str = "") -> str:
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
