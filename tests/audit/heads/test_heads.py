"""Signed heads: true ones hold, whoever wrote them; what a witness adds; and what stays invisible."""

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit import Auditor
from stream_app.audit.heads.publickey import PublicKeys
from stream_app.formats.encoding import NO_HASH, digest
from stream_app.heads.records import Head, Leaf, LeafPages, Tree, decode
from stream_app.heads.signing import SigningKey
from tests.audit.heads.signed import KEYS, PARTITIONS, TOPIC, Signer, attest, heads_in, tell_story
from tests.audit.histories import History, histories
from tests.audit.ways import codes
from tests.audit.written import LEDGERS, write

KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def of_the_worker(ledger: list[bytes], moments: list[int]) -> list[bytes]:
    """Return the heads that the worker would write for one partition, each after one of these entry counts."""
    records: list[bytes] = []
    number, previous, before = 0, NO_HASH, 0
    for moment in moments:
        entries = [orjson.loads(line) for line in ledger[before:moment]]
        ends = {entry["series"]: Leaf(entry["series"], entry["sequence"], entry["hash"]) for entry in entries}
        number, before = number + 1, moment
        leaves = LeafPages(0, number)
        records += [record for series in sorted(ends) if (record := leaves.add(ends[series])) is not None]
        records += [] if (rest := leaves.rest()) is None else [rest]
        place, tree = (TOPIC, 0, 1, number, 1000 * number, moment), leaves.tree
        head = Head(*place, tree.size, tree.root().hex(), previous, KEY.fingerprint)
        records.append(head.encode(KEY))
        assert decode(records[-1], KEY) == head
        previous = digest(records[-1])
    return records


def test_what_the_worker_signs_holds(ledgers: int) -> None:
    """True ledgers with heads at any moments, including copies of both, have no findings, and all is counted."""

    @settings(max_examples=ledgers, suppress_health_check=[HealthCheck.too_slow])
    @given(histories(), st.data())
    def holds(history: History, data: st.DataObject) -> None:
        moments = sorted(data.draw(st.lists(st.integers(0, len(history.ledger)), min_size=1, max_size=5)))
        heads = of_the_worker(history.ledger, moments)
        heads += heads[data.draw(st.integers(0, len(heads))) :]
        end = data.draw(st.integers(0, len(history.ledger)))
        ledger = [*history.ledger[:end], *history.ledger[data.draw(st.integers(0, end)) :]]
        auditor = Auditor(lifetime_nano=history.lifetime_nano, keys=KEYS)
        assert auditor.heads is not None
        for record in heads:
            auditor.heads.record(record, 0)
        auditor.entries(ledger)
        report = auditor.finish()
        assert report.findings == ()
        assert report.heads is not None
        assert report.heads.unsigned(report.entries) == len(history.ledger) - moments[-1]

    holds()


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_partitions_holds(seed: int) -> None:
    """Partitions may come one after another or mixed, in heads and ledger alike."""
    story = tell_story()
    heads = story.sign(Signer())
    lines = [line for written in story.written.values() for line in written.lines()]
    order = sorted(range(PARTITIONS), key=lambda number: hash((seed, number)))
    sorted_heads = [record for number in order for record in heads if orjson.loads(record)["partition"] == number]
    assert attest(lines if seed % 2 else story.ledger(), sorted_heads).findings == ()


def test_many_leaves_lie_in_records_far_under_the_limit() -> None:
    """Leaves are split into records of about 64 KiB, whatever the series' names contain."""
    names = sorted("\x01" * 190 + f"{number:05}" for number in range(3000))
    leaves = LeafPages(0, 1)
    records = [record for name in names if (record := leaves.add(Leaf(name, 1, "ab" * 32))) is not None]
    rest = leaves.rest()
    assert rest is not None
    assert len(records) > 10
    assert max(map(len, [*records, rest])) < 128 * 1024
    assert leaves.rest() is None
    head = Head(TOPIC, 0, 1, 1, 5, 9, leaves.tree.size, leaves.tree.root().hex(), NO_HASH, KEY.fingerprint)
    report = attest([], [*records, rest, head.encode(KEY)])
    assert codes(report) == {"signed-missing"}
    assert report.found == len(names)


def test_a_head_is_decoded_only_with_its_signature() -> None:
    """The worker does not continue from a changed head; it accepts a head of an earlier key as it is."""
    head = Head(TOPIC, 0, 1, 1, 5, 9, 0, Tree().root().hex(), NO_HASH, KEY.fingerprint)
    record = head.encode(KEY)
    other = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    assert decode(record, other) == head
    for odd in (
        record.replace(b'"time":5', b'"time":6'),
        b"[]",
        b"{}",
        b"no JSON",
        record.replace(b"head", b"hood", 1),
    ):
        assert decode(odd, KEY) is None


def test_what_follows_the_last_head_can_be_cut_unseen() -> None:
    """The report states this limit: it counts what is not yet signed."""
    story = tell_story()
    heads = story.sign(Signer())
    kept = {line for name, each in story.written.items() for line in each.lines()[: story.signed(name)]}
    report = attest([line for line in story.ledger() if line in kept], heads)
    assert report.findings == ()
    assert "0 entries follow the last checkpoints" in report.text()


def last_heads_gone(heads: list[bytes]) -> list[bytes]:
    """Return the heads without the last one of each partition and its leaves."""
    last = {head["partition"]: head["number"] for _, head in heads_in(heads)}
    documents = [(record, orjson.loads(record)) for record in heads]
    return [record for record, each in documents if each.get("head", each.get("number")) != last[each["partition"]]]


def test_a_witness_shows_what_the_heads_alone_do_not() -> None:
    """Only a witness shows missing last heads with all they cover, or a full rewrite under the true key."""
    story = tell_story()
    true = story.sign(Signer())
    shorter = {name: each.copy() for name, each in story.written.items()}
    for name, each in shorter.items():
        del each.entries[story.rounds[1][name] :]
    series = next(iter(story.written))
    anew = story.retold(series, write(LEDGERS["adaptive"], series))
    for ledger, heads in (
        (story.ledger(shorter), last_heads_gone(true)),
        (anew.ledger(), anew.sign(Signer())),
    ):
        assert attest(ledger, heads).findings == ()
        report = attest(ledger, heads, witness=true)
        assert codes(report) == {"witness"}


def test_a_true_witness_agrees() -> None:
    """It may be old, doubled or full of leaves."""
    story = tell_story()
    heads = story.sign(Signer())
    older = [record for record in heads[: len(heads) // 2] if b'"type":"head"' in record]
    for witness in ([], heads, [*heads, *heads], older, [*older, *heads]):
        report = attest(story.ledger(), heads, witness)
        assert report.findings == ()
        assert report.heads is not None
        assert report.heads.witnessed == len({record for record in witness if b'"type":"head"' in record})


def test_a_forged_witness_is_told() -> None:
    """It contains a head signed by an untrusted key, two heads for one place, or something that is no record."""
    story = tell_story()
    heads = story.sign(Signer())
    index, head = next(iter(heads_in(heads)))
    unsigned = orjson.dumps({**head, "time": 1})
    assert codes(attest(story.ledger(), heads, [unsigned])) == {"head-signature", "witness"}
    assert "head-conflict" in codes(attest(story.ledger(), heads, [heads[index], unsigned]))
    assert codes(attest(story.ledger(), heads, [b"{}"])) == {"malformed-head"}


def test_keys_may_follow_each_other() -> None:
    """If the signer took a new key, both keys must be trusted."""
    story = tell_story()
    signer = Signer()
    story.sign(signer)
    signer.secret = bytes(32)
    series = next(iter(story.written))
    entry = story.written[series].entries[-1]
    signer.head(story.partition(series), {series: (entry["sequence"], entry["hash"])}, 10**6)
    assert codes(attest(story.ledger(), signer.heads)) == {"head-signature"}
    both = PublicKeys([Signer().private.public_key(), signer.private.public_key()])
    assert attest(story.ledger(), signer.heads, keys=both).findings == ()


def test_on_a_topic_the_place_counts() -> None:
    """A record on a partition other than its own is reported and not counted."""
    story = tell_story()
    auditor = Auditor(keys=KEYS, topic="other.ledger")
    assert auditor.heads is not None
    for record in story.sign(Signer()):
        auditor.heads.record(record, orjson.loads(record)["partition"] ^ 1)
    assert codes(auditor.finish()) == {"head-place", "head-missing"}
    auditor = Auditor(keys=KEYS, topic="other.ledger")
    assert auditor.heads is not None
    for record in story.sign(Signer()):
        auditor.heads.record(record, orjson.loads(record)["partition"])
    auditor.entries(story.ledger())
    assert codes(auditor.finish()) == {"head-place"}


@given(st.binary(max_size=80), st.lists(st.integers(0, 255), max_size=40))
def test_any_bytes_are_answered(data: bytes, flips: list[int]) -> None:
    """Bytes that are no record, and true records with flipped bytes, are findings, never errors."""
    auditor = Auditor(keys=KEYS)
    assert auditor.heads is not None
    auditor.heads.record(data)
    auditor.heads.witness(data)
    record = bytearray(Signer().sign(next(heads_in(tell_story().sign(Signer())))[1]))
    for flip in flips:
        record[flip % len(record)] ^= flip
        auditor.heads.record(bytes(record))
    assert not auditor.finish().holds


@given(st.sampled_from((b"", b"1", b"9" * 5000, b"-1", b"1.0", "\u0664".encode())))
def test_any_sequence_is_answered(digits: bytes) -> None:
    """A ledger line with any sequence whatever produces a finding, never an error."""
    story = tell_story()
    series = next(iter(story.written))
    odd = b'{"series":"%b","sequence":%b,"entry":"close"}' % (series.encode(), digits)
    report = attest([odd, *story.ledger()], story.sign(Signer()))
    assert codes(report) == {"malformed-entry"}
