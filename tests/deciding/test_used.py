"""How much of a guarantee was used, as reported by a run and as literal sums over its ledger's spends."""

import orjson
from hypothesis import HealthCheck, given, settings

from stream_app.deciding.used import MostUsed
from tests.audit.histories import History, histories
from tests.suite.speeds import scaled
from tests.used import literally_used, worst


@settings(max_examples=scaled(50), suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_what_was_used_follows_from_the_spends(history: History) -> None:
    """This holds for every level, scheme, registration, draw and version; usage never exceeds the guarantee."""
    most = MostUsed()
    for entry in map(orjson.loads, history.ledger):
        most.written(entry)
    literal = literally_used(history.ledger)
    assert most.policies == len(literal)
    assert most.series == len({series for series, _ in literal})
    if not literal:
        assert (most.found, most.sentence, most.document()) == (None, "", {})
        return
    assert most.found is not None
    assert (most.found.used_nano, most.found.epsilon_nano) == worst(literal)
    assert literal[most.found.series, most.found.policy] == worst(literal)
    assert most.found.used_nano <= most.found.epsilon_nano
    assert f"{most.found.series}" in most.sentence
    assert most.document() == {"used": most.found._asdict()}
