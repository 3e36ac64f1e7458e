"""Answers to a privacy officer's questions about a ledger, checked against the ledger itself."""

from collections import defaultdict
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit import Auditor
from stream_app.audit.answers.asked import Answers, answers_of, circumstances, for_a_person
from stream_app.audit.answers.sections import KeyTimes, document_of, plain_of, sections_of, text_of
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.cli import main
from stream_app.deciding.context import Context, Limits
from stream_app.words.amount import amount, of_limit
from stream_app.words.promise import in_words
from tests.audit.books.test_members import claimed, person
from tests.audit.books.test_members import series as claiming
from tests.audit.histories import History, histories
from tests.audit.written import LEDGERS, write
from tests.collected import STEP, collected, contribution, watermark
from tests.command import Cli
from tests.run import KEYS, Run, observation, policy
from tests.suite.speeds import scaled
from tests.used import literally_used

MANY = settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])


def audited(lines: list[bytes], lifetime_nano: int | None = None) -> tuple[Auditor, Answers]:
    """Return an auditor that has read a ledger, and its answers."""
    auditor = Auditor(lifetime_nano=lifetime_nano)
    auditor.entries(lines)
    auditor.finish()
    return auditor, answers_of(auditor.followed(), auditor.rules.members, lifetime_nano)


@MANY
@given(histories())
def test_every_series_has_a_promise_and_what_it_used(history: History) -> None:
    """Every series in the ledger has one.

    Its use is that of the version in force, by literal sums over its spends.
    """
    auditor, found = audited(history.ledger, history.lifetime_nano)
    literal = literally_used(history.ledger)
    latest = {series: max(version for name, version in literal if name == series) for series, _ in literal}
    assert sum(count for _, count in found.promises) == len(latest)
    assert (found.unknown, found.further, found.people) == (0, 0, ())
    assert {(one.series, one.policy, one.used) for one in found.used} == {
        (series, version, of_limit(*literal[series, version])) for series, version in latest.items()
    }
    assert found.closed == sum(b'"entry":"close"' in line for line in history.ledger)
    written = {
        entry["series"]: entry["parameters"]
        for entry in map(orjson.loads, history.ledger)
        if entry["entry"] == "policy"
    }
    for series in auditor.followed():
        known = circumstances(series, auditor.rules.members, history.lifetime_nano)
        assert dict(found.promises)[in_words(written[series.name], "", known)], "as the ledger's own parameters say it"
        text = for_a_person(series, auditor.rules.members, history.lifetime_nano)
        assert f"used so far is {of_limit(*literal[series.name, latest[series.name]])}" in text
        assert ("it was closed: nothing more is published" in text) == series.closed
        earlier = sum(used for (name, _), (used, _) in literal.items() if name == series.name)
        earlier -= literal[series.name, latest[series.name]][0]
        assert (f"earlier guarantees, which used epsilon {amount(earlier)}. " in text) == (earlier > 0)


@MANY
@given(histories())
def test_keys_are_told_with_their_first_and_last_step(history: History) -> None:
    """The times come only from the release entries, which have them; these ledgers have one key."""
    times = KeyTimes()
    times.entries(history.ledger)
    expected: dict[str, list[int]] = defaultdict(list)
    for entry in map(orjson.loads, history.ledger):
        if entry["entry"] == "release":
            expected[entry["key"]].append(entry["timestamp"])
    assert times.listed() == [(key, min(found), max(found)) for key, found in expected.items()]


def test_series_of_one_person_are_named_where_a_cap_tells_the_separator() -> None:
    """They are listed with their claims on the cap; without a cap, nobody knows them."""
    _, found = audited(person())
    (one,) = found.people
    assert one == ("p", ("p/glucose", "p/place"), 2, "0.00000003 of 0.00000003 reserved")
    assert "of them" in sections_of(found, [], [], holds=True)[2].note
    lines = write(LEDGERS["uniform"], "p/a").lines() + write(LEDGERS["event"], "p/b").lines()
    _, alone = audited(lines)
    assert (alone.separator, alone.people) == ("", ())
    assert "does not say which series belong to one person" in sections_of(alone, [], [], holds=True)[2].note


def test_series_of_no_member_and_members_that_are_not_listed_are_said() -> None:
    """Readers must see that the list of who has which series is incomplete."""
    _, found = audited(person())
    assert found.alone == 0
    for text in (text_of(found, [], [], holds=True), sections_of(found, [], [], holds=True)[2].note):
        assert "no person" not in text
        assert "not listed" not in text
    more = [claiming(f"m-{place}/a", 10) for place in range(20)]
    _, found = audited(person(write(LEDGERS["event"], "home-7"), *more))
    assert (found.alone, found.members, len(found.people)) == (1, 21, 20)
    for text in (text_of(found, [], [], holds=True), sections_of(found, [], [], holds=True)[2].note):
        said = " ".join(text.split())
        assert "1 more person is not listed." in said
        assert "1 series belongs to no person: the ledger does not say whose it is." in said


def test_nothing_is_handed_out_of_a_ledger_that_does_not_hold() -> None:
    """The paragraphs appear only on the page of a ledger that holds."""
    _, found = audited(write(LEDGERS["event"]).lines())
    told = sections_of(found, [], ["a <b>"], holds=True)[-1]
    assert told.content == "<p>a &lt;b&gt;</p>"
    assert sections_of(found, [], ["a <b>"], holds=False)[-1].content == ""


def test_what_wrong_books_used_is_said_as_at_least() -> None:
    """The page, the text and the document say so, because no sum includes what faulty entries spent."""
    _, found = audited(write(LEDGERS["event"]).lines())
    for holds in (True, False):
        page = sections_of(found, [], [], holds=holds)[1].content
        told = document_of(found, [], [], holds=holds)["used"][0]["used"]
        said = f"at least {found.used[0].used}"
        assert [said in page, said in text_of(found, [], [], holds=holds), said == told] == [not holds] * 3


def test_a_promise_out_of_wrong_books_is_said_to_be_theirs() -> None:
    """A policy entry may have been changed; in that case, nobody was promised the epsilon that it names."""
    lines = person()
    policy = next(place for place, line in enumerate(lines) if b'"p/glucose"' in line)
    changed = [*lines[:policy], lines[policy].replace(b'"epsilon":1e-8', b'"epsilon":9e-8'), *lines[policy + 1 :]]
    for read, holds in ((lines, True), (changed, False)):
        auditor, found = audited(read)
        assert auditor.finish().holds == holds
        page = sections_of(found, [], [], holds=holds)[0].note
        inquiry = StandingInquiry("p", None)
        inquiry.entries(read)
        told = [paragraph for title, paragraph in plain_of(inquiry) if title == "p/glucose: the guarantee"]
        for text in (page, text_of(found, [], [], holds=holds), *told):
            assert ("this is what the ledger says, but its audit failed" in " ".join(text.split()).lower()) != holds


@pytest.mark.parametrize(
    ("lifetime_nano", "claim", "promise", "person"),
    [
        (
            None,
            None,
            "most the configured lifetime (without one, epsilon 0.0000001).",
            "(about 1), unless the publisher allows more",
        ),
        (300, None, "cost at most epsilon 0.0000003.", "by a factor of at most e^0.0000003 (about 1)."),
        (None, 200, "cost at most epsilon 0.0000002.", "by a factor of at most e^0.0000002 (about 1)."),
        (100, None, "cost at most epsilon 0.0000001.", ""),
        (None, 100, "cost at most epsilon 0.0000001.", ""),
    ],
)
def test_what_later_versions_may_cost_is_told(
    lifetime_nano: int | None, claim: int | None, promise: str, person: str
) -> None:
    """Both the officer and the person are told; a ledger without claims does not state the configured lifetime."""
    written = write(LEDGERS["uniform"])
    del written.entries[-1]  # it was closed
    written = claimed(written, claim)
    auditor, found = audited(written.lines(), lifetime_nano)
    assert promise in found.promises[0][0]
    [series] = auditor.followed()
    told = for_a_person(series, auditor.rules.members, lifetime_nano)
    assert ("Later rules may give this guarantee again" in told) == bool(person)
    assert person in told


@pytest.mark.parametrize("level", ["event", "landmark"])
@pytest.mark.parametrize("lifetime_nano", [1_500_000_000, 3_000_000_000])
def test_what_versions_cost_together_is_of_one_difference_in_each(level: str, lifetime_nano: int) -> None:
    """At level event, more steps cost more than all versions together; the sentence says what its figure is of."""
    protection = {"level": level, "step": 1000}
    run = Run(Context(KEYS, limits=Limits(lifetime_nano=lifetime_nano)))
    run.feed(policy("home", epsilon=1.0, protection=protection))
    run.feed_all(observation("home", 1000 * step, 5) for step in range(4))
    run.feed(policy("home", 2, epsilon=0.5, protection=protection))
    run.feed_all(observation("home", 1000 * step, 5) for step in range(4, 8))
    spent = [entry.get("epsilon_nano", 0) for entry in map(orjson.loads, run.ledger) if entry["entry"] == "release"]
    together = max(spent[:4]) + 500_000_000
    assert len(spent) == 8
    assert max(spent[:4]) + max(spent[4:]) <= together < sum(spent)
    auditor = Auditor(lifetime_nano=lifetime_nano)
    auditor.entries(run.ledger)
    [series] = auditor.followed()
    told = for_a_person(series, auditor.rules.members, lifetime_nano)
    before = f"earlier guarantees, which used epsilon {amount(max(spent[:4]))}."
    only = (
        "For accounts that differ under each guarantee only as it describes, all guarantees together cost at most "
        "epsilon"
    )
    assert f"{before} {only} {amount(together)}. Other differences cost more." in told
    said = (
        "For accounts that differ under each of them only as its guarantee describes, all of them together change the "
        "odds"
    )
    assert (f"{said} by a factor of at most e^3 " in told) == (lifetime_nano > together)


def test_the_page_answers(tmp_path: Path) -> None:
    """All answers are on the page that the command writes, in the order of the questions."""
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(line + b"\n" for line in write(LEDGERS["uniform"]).lines()))
    assert main(["audit", "--ledger", str(ledger), "--html", str(tmp_path / "report.html")]) == 0
    shown = (tmp_path / "report.html").read_text()
    titles = [
        "What is guaranteed, and for how many series",
        "Epsilon used, and the limit",
        "Which series belong to one person",
        "Which noise key was used when",
        "What to tell the person",
    ]
    places = [shown.index(f"<h2>{title}</h2>") for title in titles]
    assert places == sorted(places)
    assert "Take two histories of a series that differ only at " in shown
    assert "<p>Values about you (home-7) are published" in shown
    assert "0123456789abcdef" in shown


def test_the_answers_in_a_terminal_and_for_programs(tmp_path: Path, cli: Cli) -> None:
    """They are those of the page, without matplotlib; if a ledger does not hold, nobody is told anything."""
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(line + b"\n" for line in person()))
    text = cli("audit", "--ledger", ledger, "--plain").out
    assert text.startswith("HOLDS: no findings\n")
    assert "\n  p, 0.00000003 of 0.00000003 reserved: p/glucose, p/place\n" in text
    assert "A fully used limit is not a fault." in text
    assert "for each series that was examined closely (use --series to choose other series)." in " ".join(text.split())
    assert "\nWhat to tell the person\n  One paragraph for the person" in text
    assert "\n\n  Values about you (p/glucose) are published" in text
    assert "\n  2 series:\n    Take two histories of a series" in text or text.count("\n  1 series:\n") == 2
    found = cli("audit", "--ledger", ledger, "--plain", "--json").document["answers"]
    assert sum(each["series"] for each in found["promises"]) == 2
    assert [len(found[name]) for name in ("used", "members", "keys", "people")] == [2, 1, 1, 2]
    ledger.write_bytes(b"".join(line + b"\n" for line in person()[:-2] + person()[-1:]))
    assert cli("audit", "--ledger", ledger, "--plain", "--json", code=1).document["answers"]["people"] == []
    assert main(["audit", "--ledger", str(ledger), "--plain"]) == 1
    assert "Nothing, until the faults that were found are explained" in cli.said().out


@pytest.mark.parametrize(("neighbours", "factor"), [("replace", "e^1 "), ("add-remove", "e^2 ")])
def test_a_replaced_item_is_told_at_its_price(neighbours: str, factor: str, tmp_path: Path, cli: Cli) -> None:
    """`plan`, `check` and `standing --plain` state it; a contributor is told only the larger figure."""
    collect = {"neighbours": neighbours, "open_steps": 1}
    rules = collected(series="ward-3", collect=collect, epsilon=1.0)
    run = Run(Context(KEYS)).feed_all([rules, watermark(0), contribution(1, "ada", "walk"), watermark(2 * STEP)])
    ledger, policies = tmp_path / "ledger.jsonl", tmp_path / "policies.jsonl"
    ledger.write_bytes(b"\n".join(run.ledger))
    policies.write_bytes(orjson.dumps(rules))
    twice = "Replacing one contributor's item removes one item and adds one. This can cost twice as much"
    said = ""
    for words in (["plan", f"{policies}"], ["check", f"{policies}"], ["standing", "ward-3", "--plain", "--ledger"]):
        said = " ".join(cli(*words, *([f"{ledger}"] if words[-1] == "--ledger" else [])).out.split())
        assert (twice in said) == (neighbours == "add-remove")
    assert (
        "What is published about ward-3 changes anyone's odds of one account against the other by a factor of at "
        f"most {factor}"
    ) in said
