"""Terms derived from a policy with another epsilon are the same as those from reading the whole policy."""

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from stream_app.audit.books.terms import Terms, TermsError, read_terms
from stream_app.audit.form.entry import ZEROS, PolicyEntry
from stream_app.audit.rules import Rules
from tests.audit.books.test_policy import true_policies

READABLE: Final[list[dict[str, Any]]] = []
"""Policies of every level, scheme and kind with known terms."""
for _policy in true_policies():
    try:
        read_terms(2, _policy)
    except TermsError:
        continue
    READABLE.append(_policy)

EPSILONS: Final[st.SearchStrategy[Any]] = st.one_of(
    st.floats(1e-9, 1e6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 10**6 + 1),
    st.sampled_from((1e-9, 9e-10, 5e-9, 6e-9, 1, 1.0, True, None, "1", [], {})),
)


def _entry(parameters: dict[str, Any], version: int = 2) -> PolicyEntry:
    return PolicyEntry(
        "s",
        1,
        version,
        0,
        0,
        None,
        view=False,
        weaker=False,
        parameters=parameters,
        key="0" * 16,
        epoch=0,
        previous=ZEROS,
        hash=ZEROS,
    )


def _told(read: Any) -> Terms | str:
    """Return terms, or the sentence that refuses them."""
    try:
        terms = read()
    except TermsError as error:
        return str(error)
    assert isinstance(terms, Terms)
    return terms


@given(st.sampled_from(READABLE), st.lists(EPSILONS, min_size=1, max_size=4))
def test_another_epsilon(policy: dict[str, Any], epsilons: list[Any]) -> None:
    """Whatever epsilons came before, the terms or the refusal are the same as for a policy that is read first."""
    rules = Rules(None)
    rules.terms(_entry(policy))
    for epsilon in epsilons:
        parameters = policy | {"epsilon": epsilon}
        assert _told(lambda: rules.terms(_entry(parameters))) == _told(lambda: read_terms(2, parameters))  # noqa: B023


def test_every_policy() -> None:
    """This includes policies whose windows charge part of the epsilon and refuse one that is too small."""
    assert any(policy["scheme"].get("dissimilarity") == "private" for policy in READABLE)
    for policy in READABLE:
        test_another_epsilon.hypothesis.inner_test(policy, [4, 3e-9, 1e-10, 0.5])  # type: ignore[attr-defined]


def test_another_version_or_member() -> None:
    """Nothing else may differ: a policy with another version or another member is read in full."""
    rules = Rules(None)
    policy = READABLE[0]
    rules.terms(_entry(policy))
    other = policy | {"epsilon": 3, "correlation": "street"}
    assert rules.terms(_entry(other)) == read_terms(2, other)
    assert rules.terms(_entry(policy, 3)) == read_terms(3, policy)
