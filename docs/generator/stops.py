"""The page about the reasons why a partition stopped."""

import re

from docs.generator.markdown import code, pages_top, sentence, table
from stream_app.kafka.stops import REASONS
from stream_app.manual import page_at

TOP = """\
A partition stops rather than decide something twice. The worker's log says what was wanted, what was found and the
remedy; `/readyz` fails, the `landmark_partitions_stopped` metric counts it by reason, its input is not acknowledged,
and other partitions go on; after `disk-full`, `file-limit` and `local-state` the worker ends, so another one takes
all of its partitions, unless `exit_when_stopped` is `never`. Before a worker ends for
stopped partitions it serves its metrics for `exit_delay_ms` more. [Operating](../operating.md#when-a-partition-stops)
says how to go about it.

"""


def page() -> str:
    """Return the page: a row for each reason."""
    rows = [
        (code(reason), sentence(known.meaning), _linked(sentence(known.remedy))) for reason, known in REASONS.items()
    ]
    return (
        pages_top("Stopped partitions", "stream_app/kafka/stops.py")
        + TOP
        + table(("reason", "what it means", "what to do"), rows)
    )


def _linked(text: str) -> str:
    """Replace each address of a documentation page with a relative link."""
    address = re.escape(page_at("PAGE")).replace("PAGE", r"(?P<page>[\w/-]+\.md)(?P<anchor>#[\w-]+)?")
    return re.sub(address, r"[\g<page>](../\g<page>\g<anchor>)", text)
