"""The table of kinds in `tests.run`: it has every kind, and each row says what the product says."""

from types import ModuleType
from typing import Any, get_args

import pytest

from stream_app.api import parts
from stream_app.audit.kinds import KINDS as AUDITED
from stream_app.privacy.kinds import ValueForm, of_one, takes_filter
from stream_app.privacy.kinds.form import Form
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import Raw
from tests.cli.records import test_replay_csv
from tests.privacy.kinds import test_even_time, test_independence, test_loss
from tests.run import SAMPLES, UNIFORM

KIND_FORMS: dict[str, type[Form]] = {
    get_args(form.model_fields["kind"].annotation)[0]: form for form in get_args(get_args(ValueForm)[0])
}
"""The form of every kind, by name."""
OWN_VALUES = {
    test_even_time: test_even_time.VALUES.keys(),
    test_independence: test_independence.VALUES.keys(),
    test_loss: {*test_loss.MECHANISMS, "category"},
    test_replay_csv: test_replay_csv.CSVS.keys(),
}
"""The kinds that tests with values or noise of their own have; randomized response has a test of its own."""


def test_every_kind_has_a_row() -> None:
    """Only a choice has none: it has no single values because it is always collected."""
    assert SAMPLES.keys() == KIND_FORMS.keys() - {"choice"}, "add a row to SAMPLES in tests/run.py"
    assert all(sample.declared["kind"] == name for name, sample in SAMPLES.items())


def test_audit_and_library_have_every_kind() -> None:
    """The audit refuses a policy of another kind; the library cannot say one."""
    assert AUDITED.keys() == KIND_FORMS.keys()
    assert {part.NAMED[1] for part in get_args(parts.Kind)} == KIND_FORMS.keys()
    assert {part.__name__ for part in get_args(parts.Kind)} <= set(parts.__all__)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_row_says_what_the_product_says(name: str) -> None:
    """Filter, clamping and substitute are those of the kind; values are valid, and invalid ones are not."""
    sample = SAMPLES[name]
    members: dict[str, Any] = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": UNIFORM}
    kind = of_one(policy_of(members | {"value": sample.declared}, 1).kind)
    assert sample.has_filter == takes_filter(kind)
    assert sample.has_clamp == ("clamp" in KIND_FORMS[name].model_fields)
    assert kind.takes_substitute == (sample.substitute is not None)
    assert kind.takes_substitute == (kind.quantise(Raw(sample.substitute)) is not None)
    cells = [kind.quantise(Raw(value)) for value in sample.values]
    assert None not in cells
    assert cells[0] != cells[1]
    assert len({*cells}) >= 3
    assert all(kind.quantise(Raw(value)) is not None for value in sample.outside)
    assert sample.invalid
    assert all(kind.quantise(Raw(value)) is None for value in sample.invalid)


@pytest.mark.parametrize("module", OWN_VALUES, ids=lambda module: module.__name__)
def test_tests_with_values_of_their_own_have_every_kind(module: ModuleType) -> None:
    """These tests cannot take their values from the table, and would not miss a kind."""
    assert OWN_VALUES[module] >= SAMPLES.keys(), f"add the kind to the table in {module.__file__}"
