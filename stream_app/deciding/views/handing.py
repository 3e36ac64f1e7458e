"""Passes a record to a series and its views in one decision: first to the base, then to each view.

A view begins with the first reading or watermark it receives and uses no earlier records: its first entry names the
input at which it begins. The ledger itself therefore lists the views. After a restart under another configuration, no
view receives a record that was processed earlier.
"""

from dataclasses import replace
from typing import Final, final

from stream_app.deciding.adopting import adopt_default, adopt_version, adopt_view, drop_unread, policy_from
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, DefaultPolicy
from stream_app.deciding.members import FindMember, Member, MemberChange, member_of
from stream_app.deciding.outcome import (
    CountedContribution,
    ProcessedRecord,
    RejectedRecord,
    SeriesAndViews,
    Single,
    WatermarkAdvance,
    rejected,
    seal,
)
from stream_app.deciding.rows import Lookup, SeriesRow
from stream_app.deciding.views.agreement import protected_by, since_version, takes_part
from stream_app.deciding.views.single import applied, control, untaken
from stream_app.formats.records import (
    CloseRecord,
    EventRecord,
    InputRecord,
    LandmarksRecord,
    Observation,
    PolicyRecord,
    Watermark,
    of_series,
)
from stream_app.privacy import fold
from stream_app.privacy.landmarks import LandmarkSet, aligned
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason, Rejection
from stream_app.privacy.state import claim_of


@final
class Handing:
    """Passes one record to the series it concerns and to its views."""

    def __init__(
        self, context: Context, lookup: Lookup, find_member: FindMember, collection: Collection, record: InputRecord
    ) -> None:
        self._context: Final = context
        self._lookup: Final = lookup
        self._find_member: Final = find_member
        self._collection: Final = collection
        self._record: Final = record
        self._joined: Final[dict[str, Member]] = {}  # including reservations by earlier parts

    def handed(self, row: SeriesRow | None, found: EventRecord) -> Single | SeriesAndViews | Rejection:
        """Process a record of a series that is a view or has views; ``row`` is that series' row.

        Raises:
            LostCountersError: if a row has an open step whose counters are not in the collection.
            LostUnitsError: if a row has an open step whose sealed rows are not in the table.
        """
        if isinstance(found, PolicyRecord):
            is_view = self._context.is_view(row, found.series)
            return self._view_version(row, found) if is_view else self._base_version(row, found)
        if isinstance(found, LandmarksRecord):
            return self._registered(row, found)
        closed = row is not None and row.state.closed
        base = self._single(row, found)
        if closed or not isinstance(found, Observation | Watermark | CloseRecord):
            return base
        if isinstance(found, CloseRecord):
            return base if row is None or isinstance(base, Rejection) else self._ended(row, base, found)
        after = base.row if isinstance(base, ProcessedRecord | WatermarkAdvance) else row
        if after is None:
            assert isinstance(base, Rejection), "a record without a row was refused"
            return base  # no view exists without its base
        return self._shared(after, base, found)

    def _shared(self, base: SeriesRow, outcome: Single | Rejection, found: Observation | Watermark) -> SeriesAndViews:
        """Pass a reading or a watermark to the views; ``base`` is the base's row after the record."""
        parts: list[Single] = []
        views, passed = base.views, 0
        for series, default in self._context.views_of(base.series).items():
            row, adopted = self._lookup(series), None
            if row is None or not row.view:
                begun = self._begun(base, series, default, row)
                if isinstance(begun, Rejection):
                    if default.view in views.refused:
                        passed += 1
                    else:
                        views = views.with_refused(default.view)
                        parts.append(self._reject(series, found, begun.reason))
                    continue
                row, adopted = begun.row, begun
            if untaken(row.policy, found):
                continue
            part = self._single(row, of_series(found, series), adopted)
            if isinstance(part, Rejection):
                parts.append(self._reject(series, found, part.reason))
                continue
            parts.append(part)
            if adopted is not None:
                self._join(adopted.joined)
                views = views.with_begun(default.view)
        first = self._first(base.series, outcome, parts, found)
        if views != base.views:
            first = _with_row(first, replace(base, views=views))
        return SeriesAndViews((*first, *parts), passed)

    def _first(
        self, series: str, outcome: Single | Rejection, parts: list[Single], found: Observation | Watermark
    ) -> list[Single]:
        """Return the base's outcomes for a record; ``parts`` are the views' outcomes."""
        if not isinstance(outcome, Rejection):
            return [outcome]
        if outcome.reason == "wrong-type" and any(not isinstance(part, RejectedRecord) for part in parts):
            return []  # only the views accept watermarks: the base needs none
        return [self._reject(series, found, outcome.reason)]

    def _begun(
        self, base: SeriesRow, series: str, default: DefaultPolicy, row: SeriesRow | None
    ) -> ProcessedRecord | Rejection:
        """Begin a view; ``row`` is the row of an ordinary series that already has the view's id, if any."""
        policy = default.policy
        if row is not None or protected_by(policy) != protected_by(base.policy):
            return Rejection("invalid-policy")
        if not (takes_part(policy) and takes_part(base.policy)):
            return Rejection("invalid-policy")
        if not self._has_room(series, policy):  # checked first: landmarks and readings may be many
            return Rejection("member-cap")
        landmarks = policy.grid.taken_over(base.state.promise.landmarks, base.policy.grid)
        begun = adopt_view(self._context, self._member, series, default, landmarks, self._record)
        return begun if isinstance(begun, Rejection) else replace(begun, row=since_version(begun.row, base))

    def _has_room(self, series: str, policy: Policy) -> bool:
        """Return whether the person has a limit that allows one more series with this policy."""
        limits = self._context.limits
        member = self._member(member_of(series, limits.member_separator) + (limits.member_separator or ""))
        claim_nano = claim_of(policy, limits.lifetime_nano, claims=True)
        if member is None or member.cap_nano is None or claim_nano is None:
            return False
        return not member.with_claim(claim_nano).exceeding

    def _ended(self, row: SeriesRow, base: Single, found: CloseRecord) -> SeriesAndViews:
        """Close the views of a base together with it."""
        parts = [self._single(view, of_series(found, view.series)) for view in self._begun_views(row)]
        return SeriesAndViews((base, *(part for part in parts if not isinstance(part, Rejection))))

    def _registered(self, row: SeriesRow | None, found: LandmarksRecord) -> SeriesAndViews | Rejection:
        """Register landmarks in a base and all of its views, or in none of them."""
        adopted: ProcessedRecord | None = None
        if row is None:
            first = adopt_default(self._context, self._member, found.series, self._record)
            if isinstance(first, Rejection):
                return first
            row, adopted = first.row, first
        outcome = control(row, found)
        if isinstance(outcome, Rejection):
            return outcome
        views = self._added(row, aligned(found.add, *row.policy.grid))
        if isinstance(views, Rejection):
            return views
        return SeriesAndViews((seal(self._context, row, adopted, outcome, self._record.timestamp_ms), *views))

    def _added(self, base: SeriesRow, landmarks: LandmarkSet) -> list[ProcessedRecord] | Rejection:
        """Register the landmarks that the base does not have yet, in all views or in none.

        ``landmarks`` are counted on the grid of the base. Guarantee: views have the landmarks of their base, even views
        that the configuration no longer lists, so budgets add up over one set of landmarks.
        """
        spans = [base.policy.grid.span_of(each) for each in landmarks.without(base.state.promise.landmarks).intervals]
        parts: list[ProcessedRecord] = []
        for view in self._begun_views(base) if spans else ():
            if view.state.closed and spans[0][0] >= view.state.clock.decided_end_ms:
                continue  # it ended and spends nothing on these
            moved = fold.register(view.policy, view.state, spans)
            if isinstance(moved, Rejection):
                return Rejection("refused-landmark")
            parts.append(seal(self._context, view, None, moved, self._record.timestamp_ms))
        return parts

    def _base_version(self, row: SeriesRow | None, found: PolicyRecord) -> SeriesAndViews | Rejection:
        """Begin a version of a base, and register its new landmarks in all views."""
        policy = policy_from(self._context, row, found)
        if isinstance(policy, Rejection):
            return policy
        begun = {} if row is None else {view.series: view.policy for view in self._begun_views(row)}
        made = self._context.views_of(found.series).items()
        policies = {**{series: default.policy for series, default in made}, **begun}.values()
        if not takes_part(policy) or any(protected_by(one) != protected_by(policy) for one in policies):
            return Rejection("invalid-policy")
        adopted = adopt_version(self._context, row, self._member, policy, found, self._record)
        if isinstance(adopted, Rejection):
            return adopted
        views = [] if row is None else self._added(row, row.policy.grid.taken_over(policy.landmarks, policy.grid))
        if isinstance(views, Rejection):
            return views
        drop_unread(self._collection, row, adopted)
        return SeriesAndViews((adopted, *views))

    def _view_version(self, row: SeriesRow | None, found: PolicyRecord) -> ProcessedRecord | Rejection:
        """Begin a later version of a view, with the remaining landmarks of its base."""
        policy = policy_from(self._context, row, found)
        if isinstance(policy, Rejection):
            return policy
        name = self._context.base_of(found.series)
        base = None if name is None else self._lookup(name)
        if row is None or base is None or protected_by(policy) != protected_by(base.policy):
            return Rejection("invalid-policy")
        if not takes_part(policy) or policy.landmarks:
            return Rejection("invalid-policy")
        ruling = _with_landmarks(policy, row)
        adopted = adopt_version(self._context, row, self._member, ruling, found, self._record)
        if not isinstance(adopted, Rejection):
            drop_unread(self._collection, row, adopted)
        return adopted

    def _begun_views(self, base: SeriesRow) -> list[SeriesRow]:
        """Return the rows of all existing views, in the configuration's order, followed by those not listed there."""
        separator, made = self._context.limits.member_separator, list(self._context.views_of(base.series))
        begun = [base.id_of(name, separator) for name in base.views.begun]
        known = [series for series in made if series in begun]
        rows = map(self._lookup, [*known, *(series for series in begun if series not in made)])
        return [row for row in rows if row is not None]

    def _single(
        self, row: SeriesRow | None, found: EventRecord, adopted: ProcessedRecord | None = None
    ) -> ProcessedRecord | CountedContribution | WatermarkAdvance | Rejection:
        outcome = applied(self._context, row, self._member, self._collection, found, self._record, adopted)
        if row is None and isinstance(outcome, ProcessedRecord | WatermarkAdvance):
            first = outcome.adopted if isinstance(outcome, WatermarkAdvance) else outcome
            self._join(None if first is None else first.joined)
        return outcome

    def _member(self, chain: str) -> Member | None:
        """Return a person's state after the earlier parts of this record."""
        return self._joined.get(chain) or self._find_member(chain)

    def _join(self, joined: MemberChange | None) -> None:
        if joined is not None:
            self._joined[joined.member.chain] = joined.member

    def _reject(self, series: str, found: Observation | Watermark, reason: Reason) -> RejectedRecord:
        return rejected(series, found.timestamp_ms, reason, self._record)


def _with_row(parts: list[Single], row: SeriesRow) -> list[Single]:
    """Return the base's outcomes with its row replaced by ``row``, which the views changed."""
    match parts:
        case [ProcessedRecord() as one]:
            return [replace(one, row=row)]
        case [WatermarkAdvance() as one]:
            return [one._replace(row=row)]
        case _:
            return [WatermarkAdvance(row, None, ()), *parts]


def _with_landmarks(policy: Policy, row: SeriesRow) -> Policy:
    """Return a version of a view with its remaining landmarks."""
    landmarks = policy.grid.taken_over(row.state.promise.landmarks, row.policy.grid)
    coming = landmarks.from_index(policy.grid.ceiling_of(row.state.clock.decided_end_ms))
    return policy.ruling(coming) if coming else policy
