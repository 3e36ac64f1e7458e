"""The page of reject reasons."""

from docs.generator.markdown import code, pages_top, sentence, table
from stream_app.privacy.reason import REASONS

TOP = """\
A record of the events topic that changes nothing becomes a record of `landmark.rejects`. It names the record by topic,
partition and offset, and the reason; it never contains a value. `landmark-stream read rejects` prints them; the metric
`landmark_rejects_total` counts them by reason.

"""


def page() -> str:
    """Return the page: a row for each reason."""
    rows = [(code(reason), sentence(known.meaning), sentence(known.remedy)) for reason, known in REASONS.items()]
    return (
        pages_top("Reject reasons", "stream_app/privacy/reason.py")
        + TOP
        + table(("reason", "what it means", "what to do"), rows)
    )
