"""How the policy version stands that a series under audit is under, by the audit's own books."""

from stream_app.audit.books.period import Books
from stream_app.audit.series import Series
from stream_app.audit.standing.standing import VersionStanding


def version_of(series: Series, version: int, sequence: int, *, rules: bool) -> VersionStanding:
    """Return how a version of known terms stands; ``rules`` while it is in force. ``sequence`` is that of its entry."""
    spent, books = series.guarantee, series.books
    assert books is not None, "asked for a version whose terms are known"
    terms = books.terms
    left = held = 0
    if rules and terms.level in ("landmark", "user"):
        _, left = books.standing(books.next_step)
        share = terms.share(spent.landmark_nano, spent.peak_nano, left, True)  # noqa: FBT003 - as `Share` is called
        held = left * share
    return VersionStanding(
        version=version,
        sequence=sequence,
        rules=rules,
        level=terms.level,
        scheme=terms.scheme,
        step_ms=terms.step_ms,
        promised_nano=terms.budget_nano,
        landmark_spent_nano=spent.landmark_nano,
        regular_peak_nano=spent.peak_nano,
        landmarks_left=left,
        held_back_nano=held,
        first_ms=None if books.first_step is None else books.first_step * terms.step_ms,
        last_ms=None if books.last_step is None else books.last_step * terms.step_ms,
        ends_ms=_ends_ms(books),
        window=1 if terms.frame is None else terms.frame.steps,
        renews_ms=_renews_ms(books) if rules else None,
    )


def _renews_ms(books: Books) -> int | None:
    last_ms = -1 if books.last_step is None else books.last_step * books.terms.step_ms
    return next((bound for bound in books.terms.renew if bound > last_ms), None)


def _ends_ms(books: Books) -> int | None:
    terms = books.terms
    if terms.level == "user" and books.first_step is not None:
        return (books.first_step + terms.length) * terms.step_ms
    return books.landmarks.ends[-1] * terms.step_ms if terms.level == "landmark" and books.landmarks.ends else None
