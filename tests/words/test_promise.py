"""Policies in words: each sentence compared with the policy that it describes."""

from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.audit.answers.asked import for_the_person, later
from stream_app.privacy.policy import policy_of
from stream_app.words.promise import Circumstances, epsilon_nano_of, in_words, landmark_steps
from tests.audit.histories import policies

HOUR = 3_600_000
NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}


def parameters(level: str = "event", /, **members: Any) -> dict[str, Any]:
    """Return a policy's parameters; members of its protection are among `members`."""
    inside = ("landmarks", "spare", "window", "length", "within", "open_steps", "absent", "step", "unit", "offset")
    protection = {"level": level, "step": HOUR} | {name: members.pop(name) for name in inside if name in members}
    return {"epsilon": 1.0, "scheme": {"name": "uniform"}, "value": NUMBER, "protection": protection} | members


def first(found: dict[str, Any], series: str = "home-7") -> str:
    """Return the first sentence of a policy that the core accepts."""
    text = in_words(policy_of(found, 1).parameters, series)
    return text.partition(". Whatever")[0]


LANDMARKS = [[17 * HOUR, 20 * HOUR], 30 * HOUR + 5]
DAILY: dict[str, Any] = {"unit": HOUR, "step": 24 * HOUR, "open_steps": 2, "value": NUMBER | {"statistic": "mean"}}
HOURLY = DAILY | {"value": NUMBER | {"statistic": "sum", "by": "hour-of-week"}, "window": 6, "offset": HOUR}
COUNTS = {"kind": "counts", "keys": ["a", "b"]}
PLACE = {"kind": "location", "radius": 500, "resolution": 10}
PLACE |= {"bounds": {"south": -10.95, "west": -37.1, "north": -10.9, "east": -37}}
WARD = {"neighbours": "replace", "open_steps": 2}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (parameters("landmark", landmarks=LANDMARKS), "at its 4 landmarks and at one other hour"),
        (parameters("landmark", landmarks=[5]), "at its 1 landmark and at one other hour"),
        (parameters("landmark"), "at its landmarks (none so far) and at one other hour"),
        (
            parameters("landmark", landmarks=LANDMARKS, window=24),
            "at its 4 landmarks and at any 24 hours in a row",
        ),
        (parameters(), "at one hour"),
        (parameters(step=86_400_000), "at one day"),
        (parameters(step=300_000), "at one step of 5 min"),
        (parameters(**DAILY), "at one hour"),
        (
            parameters("landmark", landmarks=LANDMARKS, **DAILY),
            "at its 4 landmarks, which are left out, and at one other hour",
        ),
        (
            parameters("landmark", landmarks=LANDMARKS, **HOURLY),
            "at its 4 landmarks, which are left out, and at any 6 hours in a row",
        ),
        (parameters("w-event", window=24), "at any 24 hours in a row"),
        (parameters("w-event", window=1), "at one hour"),
        (parameters("user", length=1000), "at the 1,000 hours that start with its first event"),
        (parameters(value=NUMBER | {"sensitivity": 0.5}), "at one hour, and there by at most 0.5"),
        (parameters(value=NUMBER | {"sensitivity": 99.0}), "at one hour"),
        (
            parameters(value=NUMBER | {"sensitivity": 0.5}, within="mean", open_steps=1),
            "at one hour, and there by at most 0.5 in the aggregate of the readings",
        ),
        (parameters(value=COUNTS | {"sensitivity": 3}), "at one hour, and there by counts that sum to at most 3"),
        (parameters(value=PLACE), "at one hour, and there by at most 500 m, inside its bounds"),
        (
            parameters(value=COUNTS, collect=WARD),
            "at one hour, and at each such hour only in the item of one contributor",
        ),
        (
            parameters(collect=WARD | {"neighbours": "add-remove", "statistic": "mean"}),
            "at one hour, and at each such hour only in whether one contributor takes part",
        ),
    ],
)
def test_where_two_histories_may_differ(found: dict[str, Any], sentence: str) -> None:
    """For each level, kind and way of collecting, it follows the definition of neighbours in docs/guarantee.md."""
    assert first(found) == f"Take two histories of home-7 that differ only {sentence}"


@pytest.mark.parametrize(
    ("series", "whose"),
    [("", "a series"), ("home-7", "home-7"), ("home-*", "a series whose name matches home-*")],
)
def test_whose_histories(series: str, whose: str) -> None:
    """They are those of one series, those of a default policy, or any."""
    assert first(parameters(), series).startswith(f"Take two histories of {whose} that")


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        (
            parameters("landmark", spare=2),
            ("registered later are also protected, and budget is reserved for 2 of them.",),
        ),
        (
            parameters("landmark"),
            (
                "registered later are also protected.",
                "where the landmarks are.",
                "and what other series of the same person or of other people reveal.",
            ),
        ),
        (parameters("event"), ("Each further hour at which they differ multiplies this limit by the same factor.",)),
        (parameters("w-event", window=3), ("Nothing limits what many such windows reveal together.",)),
        (parameters("user", length=3), ("Nothing more is measured after these hours.",)),
        (
            parameters(within="mean", open_steps=2, absent=0),
            (
                "All readings of an hour count as one event.",
                "Visible to everyone: that records arrive, but not in which hours, except for readers of",
            ),
        ),
        (parameters(within="mean", open_steps=2), ("Visible to everyone: which hours have readings; whether",)),
        (parameters(value=NUMBER | {"invalid": 0}), ("Visible to everyone: which hours have events. Not covered",)),
        (
            parameters(value=COUNTS, collect=WARD | {"intrusion_nano": 250_000_000}),
            (
                "at announced times learns up to epsilon 0.25 more about each hour that was exposed.",
                "which hours are published and how many items each of them has; whether an item was valid.",
            ),
        ),
        (
            parameters("landmark", landmarks=LANDMARKS, **DAILY),
            (
                "All readings of an hour count as one event; its value is its last reading.",
                "Each day publishes the mean of its hours.",
                "Visible to everyone: which hours have readings, and how many of them are counted; whether",
                (
                    "about it. Choose a unit, or a window of several units, that is at least as long as values stay "
                    "alike. Not covered:"
                ),
            ),
        ),
        (parameters("landmark", **HOURLY), ("Each day publishes the sum of its hours for each hour of the week.",)),
        (parameters(lifetime=3.5), ("all versions together cost at most epsilon 3.5.",)),
        (parameters("user", length=9, renew=[0, 2 * HOUR]), ("2 moments, 1970-01-01T00:00Z to 1970-01-01T02:00Z",)),
        (
            parameters("user", length=9, renew=[HOUR]),
            ("Its next version starts automatically at 1970-01-01T01:00Z if this limit permits",),
        ),
        (parameters(epsilon=8), ("is at most e^8 times as likely",)),
        (parameters(epsilon=0.5), ("is at most e^0.5 (about 1.65) times as likely",)),
    ],
)
def test_what_else_is_said(found: dict[str, Any], sentences: tuple[str, ...]) -> None:
    """The sentences say what happens to further differences, what is public, and what limits all versions."""
    text = in_words(policy_of(found, 1).parameters, "home-7")
    for sentence in sentences:
        assert sentence in text
    assert text.endswith(
        "The guarantee is computational: the noise comes from a secret key, and anyone who has the key can remove it."
    )


def test_dummies_hide_how_many_landmarks_are_true() -> None:
    """Before the draw nothing is said about true ones, although the record has them; then all of them count."""
    asked = {"method": "padding", "probability": 0.5, "start": 0, "end": 40 * HOUR}
    found = parameters("landmark", landmarks=LANDMARKS, dummies=asked)
    for source in (found, dict(policy_of(found, 1).parameters)):
        text = in_words(source)
        assert "differ only at its landmarks, dummies included, and at one other hour" in text
        assert "Each true landmark may leak another ln(1/p) = 0.693 about the fact" in text
        assert "where the landmarks are" not in text
    drawn = parameters("landmark", landmarks=[[0, 9 * HOUR]])
    assert "This is not differential privacy for their positions." in told(drawn, Circumstances(dummies="drawn"))
    assert "at its 9 landmarks, dummies included, and" in in_words(drawn, "a", Circumstances(dummies="padding"))


def test_what_the_settings_and_the_ledger_add() -> None:
    """They add the smaller of two lifetimes, the cap of a member, and landmarks registered since."""
    found = parameters("landmark", landmarks=LANDMARKS, lifetime=3)
    text = in_words(found, "p-1/a", Circumstances(lifetime_nano=2 * 10**9, cap_nano=5 * 10**9, landmarks=6))
    assert "together cost at most epsilon 2.0." in text
    assert "All series of one person together cost at most epsilon 5.0." in text
    assert "at its 6 landmarks and" in text
    assert "and what is published about the same person in any other way, or about other people." in text


@given(policies("a", 1))
def test_the_figures_are_those_of_the_core(record: dict[str, Any]) -> None:
    """Epsilon and the number of landmark steps are those that the core compiles from the same parameters."""
    found = {name: part for name, part in record.items() if name not in {"type", "series", "version"}}
    policy = policy_of(found, 1)
    assert epsilon_nano_of(policy.parameters) == policy.epsilon_nano
    assert landmark_steps(policy.parameters) == len(policy.landmarks)
    power = in_words(policy.parameters).partition("at most e^")[2].partition(" ")[0]
    assert Decimal(power) * 10**9 == policy.epsilon_nano


def told(found: dict[str, Any], known: Circumstances, versions: str = "") -> str:
    """Return the text shown to the person of a series."""
    return for_the_person(found, "p-17/heart", known, 0, "Never.", versions)


@pytest.mark.parametrize("found", [parameters(), parameters("user", length=3), parameters("w-event", window=3)])
def test_what_becomes_of_further_differences_stands_beside_the_odds(found: dict[str, Any]) -> None:
    """Otherwise "they" would be another sentence's versions, and what they multiply would be the cap."""
    text = told(found, Circumstances(cap_nano=3 * 10**9), "Of versions.")
    _, _, after = text.partition("90 % then thinks that the first is at most 23.2 % likely. ")
    assert after.startswith(("Each further hour", "Nothing more is measured after", "Nothing limits"))
    _, _, after = after.partition(". ")
    assert after.startswith("For accounts that differ in each of your series")
    assert after.partition(". ")[2].startswith("Of versions. Visible to everyone:")


@given(st.integers(1, 6_900_000_000))
def test_the_chance_that_is_told_is_never_too_small(epsilon_nano: int) -> None:
    """Its odds are those of a tenth times e^epsilon, in 50 digits; it is rounded up to a tenth of a per cent."""
    text = told(parameters() | {"epsilon": epsilon_nano / 10**9}, Circumstances())
    said = Decimal(text.partition("then thinks that the first is at most ")[2].partition(" %")[0])
    with localcontext() as digits:
        digits.prec = 50
        factor = Decimal(epsilon_nano_of({"epsilon": epsilon_nano / 10**9})).scaleb(-9).exp()
        true = 100 * factor / (factor + 9)
    assert true <= said < true + Decimal("0.1000001")


def test_no_chance_is_told_where_nearly_all_may_be_learnt() -> None:
    """A factor of a thousand or more says that by itself."""
    assert "% likely" not in told(parameters() | {"epsilon": 7.0}, Circumstances())


def test_a_person_is_told_of_all_their_series() -> None:
    """The factor is for one series; that for all series is the cap's, and without a cap they are not counted."""
    capped, free = (told(parameters(), Circumstances(cap_nano=cap)) for cap in (3 * 10**9, None))
    for text in (capped, free):
        assert (
            "What is published about p-17/heart changes anyone's odds of one account against the other by a factor "
            "of at most e^1 (about 2.72)."
        ) in text
    together = (
        "For accounts that differ in each of your series as its guarantee describes, all your series together change "
        "the odds by a factor of at most e^3 (about 20.1)."
    )
    assert together in capped
    assert "all your series" not in free
    assert "and what is published about you outside these series or about people near you." in capped
    assert "and what is published about you in any other way or about people near you." in free


ADDED = {"neighbours": "add-remove", "open_steps": 2}


def test_an_item_that_is_replaced_costs_two_that_come_or_go() -> None:
    """Under add-remove, the promise gives it beside its own factor, and a person only sees the larger one."""
    added, replaced = (parameters(value=COUNTS, collect=collect) for collect in (ADDED, WARD))
    twice = (
        "Replacing one contributor's item removes one item and adds one. This can cost twice as much: a factor of e^2"
    )
    assert f"{twice} (about 7.39)." in in_words(added, "ward-3")
    assert "twice" not in in_words(replaced, "ward-3")
    assert "changes anyone's odds of one account against the other by a factor of at most e^1 (about 2.72)." in told(
        replaced, Circumstances()
    )
    text = told(added, Circumstances())
    assert "and at each such hour only in whether you took part and what you sent. What" in text
    assert (
        "changes anyone's odds of one account against the other by a factor of at most e^2 (about 7.39). Someone "
        "who thought that one account was 10 %"
    ) in text
    assert "used so far is 0.0 of 1.0, which counts a change to what you sent as two changes." in text
    assert "by a factor of at most e^6 (about 403)." in later(10**9, Circumstances(lifetime_nano=3 * 10**9), added)


@given(st.lists(st.integers(0, 30) | st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=6), st.integers(1, 4))
def test_landmark_steps_are_counted_once(drawn: list[Any], step_ms: int) -> None:
    """This holds however spans overlap, compared with the set of all steps that any of them touches."""
    spans = [span if isinstance(span, int) else [span[0], sum(span)] for span in drawn]
    touched = {at // step_ms for span in spans for at in ([span] if isinstance(span, int) else range(*span))}
    assert landmark_steps(parameters("landmark", landmarks=spans, step=step_ms)) == len(touched)
