"""Records without a trusted signature do not count, and cost no memory beyond their own bytes."""

import orjson
import pytest

from tests.audit.heads.signed import TOPIC, Signer, attest, heads_in, tell_story
from tests.audit.ways import codes
from tests.audit.written import LEDGERS, write


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("signed", ["before", "after", "forged"])
def test_leaves_count_only_under_a_signed_head(signed: str, *, late: bool) -> None:
    """Leaves are a finding and cover nothing if their head is not theirs, never comes, or is not trusted."""
    story = tell_story()
    heads = story.sign(Signer())
    stranger = write(LEDGERS["uniform"], "stranger")
    ledger = [*story.ledger(), *stranger.lines()]
    forger = Signer(bytes(32), numbers={0: 4})
    forger.head(0, {"stranger": (len(stranger.entries), stranger.entries[-1]["hash"])}, 10**6)
    leaves, head = forger.heads
    shown = {"before": [leaves, *heads], "after": [*heads, leaves], "forged": [*heads, leaves, head]}
    report = attest(ledger, shown[signed], late=late)
    assert codes(report) == {"head-signature" if signed == "forged" else "head-leaves"}
    true = attest(ledger, heads, late=late)
    assert report.heads is not None
    assert true.heads is not None
    assert report.heads == true.heads
    assert true.heads.unsigned(true.entries) > len(stranger.entries)


def test_unsigned_heads_say_nothing_of_topic_and_partitions() -> None:
    """Claiming the largest possible number of partitions or head number does not cost what it claims either."""
    story = tell_story()
    (index, first), *_ = heads_in(story.sign(Signer()))
    claims: list[dict[str, object]] = [{"partitions": 2**31 - 1}, {"topic": "other"}]
    claims += [{"number": part * 2**46} for part in range(1, 120)]
    forged = [orjson.dumps({**first, **claim}) for claim in claims]
    heads = story.sign(Signer())
    report = attest(story.ledger(), [*forged, *heads[index:]])
    assert (codes(report), report.found) == ({"head-signature"}, len(forged))
    assert report.heads == attest(story.ledger(), heads).heads
    assert report.heads is not None
    assert report.heads.topic == TOPIC


def test_missing_partitions_are_told_as_ranges() -> None:
    """This holds however many partitions a signed head names."""
    signer = Signer(partitions=2**31 - 1)
    for partition in (1, 2, 4):
        signer.head(partition, {}, 0)
    said = [finding.message.partition(":")[0] for finding in attest([], signer.heads).findings]
    missing = ("partition 0", "partition 3", "partitions 5..2147483646")
    assert said == [f"no head of {some}" for some in missing]
