"""The reference pages agree with the code."""

import re
from collections.abc import Callable
from typing import get_args

import pytest

from docs.generator import metrics
from docs.generator.pages import FOLDER, PAGES
from stream_app.audit.finding import CODES, Code
from stream_app.kafka import stops
from stream_app.privacy import reason
from tests.schemas.catalogue import schema, schemas


@pytest.mark.parametrize(("name", "page"), PAGES.items(), ids=list(PAGES))
def test_page_is_what_the_code_says(name: str, page: Callable[[], str]) -> None:
    """A committed page is the same as the one generated from the code; `make reference` updates it."""
    assert (FOLDER / name).read_text() == page(), "the code moved on: run `make reference`"


def test_no_other_pages() -> None:
    """Each page of the folder is written from the code."""
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


@pytest.mark.parametrize(
    ("words", "explained"),
    [(reason.Reason, reason.REASONS), (stops.StopReason, stops.REASONS), (Code, CODES)],
    ids=["rejects", "stops", "findings"],
)
def test_every_word_is_explained(words: object, explained: dict[str, object]) -> None:
    """Every reason and every code has an explanation."""
    assert list(explained) == list(get_args(words))


def test_the_schema_explains_reasons_alike() -> None:
    """The schema of rejected records explains the reasons as the code does."""
    said = ". ".join(f"{name}: {known.meaning}" for name, known in reason.REASONS.items())
    assert schema("reject")["$defs"]["reason"]["description"] == f"{said}."


def test_records_name_every_member() -> None:
    """The page has a row for every member of every object of every schema."""
    rows = re.findall(r"^\| `(\w+)` \|", (FOLDER / "records.md").read_text(), re.MULTILINE)
    members = {
        name
        for document in schemas().values()
        for part in (document, *document.get("$defs", {}).values())
        for name in part.get("properties", ())
    }
    assert len(members) > 50
    assert members <= set(rows)


def test_alerts_are_found_through_recording_rules() -> None:
    """An alert on a recorded figure uses the metrics behind that figure, not others whose names begin alike."""
    rules = [
        {"record": "share", "expr": "rate(landmark_a_total[5m])"},
        {"alert": "Direct", "expr": "landmark_a_bucket > 1"},
        {"alert": "Recorded", "expr": "share > 1"},
        {"alert": "Other", "expr": "landmark_ab + shares > 1"},
    ]
    assert metrics.alerts_on("landmark_a", rules) == ["Direct", "Recorded"]
