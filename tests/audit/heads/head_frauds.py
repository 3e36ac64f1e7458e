"""Frauds that forge the heads themselves, beside those that only heads show: an auditor's inputs."""

from collections.abc import Iterator
from itertools import pairwise

import orjson

from tests.audit.frauds.forged import frauds_in
from tests.audit.heads.ledger_frauds import CHANGED, GONE, LEDGER_FRAUDS, Fraud, Shown, others
from tests.audit.heads.signed import PARTITIONS, Signer, Story, heads_in
from tests.audit.written import LEDGERS, renumber, write


def head_forged(story: Story) -> Iterator[Shown]:
    """One figure of a head is changed and the signature kept, or the signature is changed."""
    true = story.sign(Signer())
    for index, head in heads_in(true):
        for member, value in (
            ("time", head["time"] + 1),
            ("ledger_offset", head["ledger_offset"] + 1),
            ("root", "ab" * 32),
            ("previous", "cd" * 32),
            ("leaves", head["leaves"] + 1),
            ("number", head["number"] + 1),
            ("partitions", head["partitions"] + 1),
            ("topic", "other.ledger"),
            ("signature", "00" * 64),
        ):
            forged = orjson.dumps({**head, member: value})
            yield Shown(story.ledger(), _instead(true, index, forged), {"head-signature"})


def head_of_another_key(story: Story) -> Iterator[Shown]:
    """Ledger and heads are rewritten under the forger's key, whether or not it claims to be the true key."""
    series = next(iter(story.written))
    forged = story.retold(series, write(LEDGERS["adaptive"], series))
    yield Shown(forged.ledger(), forged.sign(Signer(bytes(32))), {"head-signature"})
    posing = Signer(bytes(32))
    records = forged.sign(posing)
    for index, head in heads_in(records):
        del head["signature"]
        records = _instead(records, index, posing.sign({**head, "key": Signer().fingerprint}))
    yield Shown(forged.ledger(), records, {"head-signature"})
    for index, head in heads_in(story.sign(Signer())):
        del head["signature"]
        other = Signer(bytes(32))
        heads = _instead(story.sign(Signer()), index, other.sign({**head, "key": other.fingerprint}))
        yield Shown(story.ledger(), heads, {"head-signature"})


def head_removed(story: Story) -> Iterator[Shown]:
    """A head is missing, alone or with its leaves; only a witness shows the last with leaves (test_witness)."""
    true = story.sign(Signer())
    ends = {max(index for index, head in heads_in(true) if head["partition"] == number) for number in range(PARTITIONS)}
    for index, head in heads_in(true):
        if head["leaves"]:
            yield Shown(story.ledger(), _instead(true, index), {"head-leaves", "head-missing"})
        if index not in ends:
            mine = (head["partition"], head["number"])
            heads = [record for record in true if _of(record) != mine]
            yield Shown(story.ledger(), heads, {"head-missing"})
    yield Shown(story.ledger(), [], {"head-missing"})


def leaf_removed(story: Story) -> Iterator[Shown]:
    """A leaf, or a whole record of leaves, is missing, doubled or moved."""
    true = story.sign(Signer())
    for index, record in enumerate(true):
        document = orjson.loads(record)
        if document["type"] != "leaves":
            continue
        yield Shown(story.ledger(), _instead(true, index), {"head-leaves"})
        yield Shown(story.ledger(), _instead(true, index, record, record), {"head-leaves"})
        for place in range(len(document["leaves"])):
            rest = document["leaves"][:place] + document["leaves"][place + 1 :]
            heads = _instead(true, index, orjson.dumps({**document, "leaves": rest}))
            yield Shown(story.ledger(), heads, {"head-leaves", "malformed-head"})


def leaf_changed(story: Story) -> Iterator[Shown]:
    """A leaf names what the forged ledger contains, but the signed root does not."""
    true = story.sign(Signer())
    for index, record in enumerate(true):
        document = orjson.loads(record)
        for place, (series, sequence, _) in enumerate(document["leaves"] if document["type"] == "leaves" else ()):
            written = story.written[series].copy()
            del written.entries[sequence:]
            written.entries[-1]["key"] = "f" * 16
            leaves = list(document["leaves"])
            leaves[place] = [series, sequence, renumber(written).entries[-1]["hash"]]
            heads = _instead(true, index, orjson.dumps({**document, "leaves": leaves}))
            yield Shown(story.ledger({series: written}), heads, {"head-leaves"})


def heads_swapped(story: Story) -> Iterator[Shown]:
    """Two heads of a partition are swapped, with or without their leaves."""
    true = story.sign(Signer())
    for partition in range(PARTITIONS):
        mine = [index for index, head in heads_in(true) if head["partition"] == partition]
        for first, second in pairwise(mine):
            heads = _instead(_instead(true, first, true[second]), second, true[first])
            yield Shown(story.ledger(), heads, {"head-missing", "head-leaves"})
            one, other = (_of(true[index]) for index in (first, second))
            rest = [record for record in true if _of(record) != one]
            place = 1 + max(index for index, record in enumerate(rest) if _of(record) == other)
            moved = [record for record in true if _of(record) == one]
            yield Shown(story.ledger(), [*rest[:place], *moved, *rest[place:]], {"head-missing", "head-conflict"})


def heads_renumbered(story: Story) -> Iterator[Shown]:
    """A head is removed and later ones are renumbered; the signatures are unchanged, or the forger's."""
    true = story.sign(Signer())
    for index, head in heads_in(true):
        heads = []
        for record in true:
            document = orjson.loads(record)
            member = "number" if document["type"] == "head" else "head"
            if _of(record) == (head["partition"], head["number"]):
                continue
            if document["partition"] == head["partition"] and document[member] > head["number"]:
                document[member] -= 1
            heads.append(orjson.dumps(document))
        if any(orjson.loads(record)["partition"] == head["partition"] for record in true[index + 1 :]):
            yield Shown(story.ledger(), heads, {"head-signature"})


def heads_replayed(story: Story) -> Iterator[Shown]:
    """A head from another partition, installation or history replaces a head or follows the last one."""
    true = story.sign(Signer())
    other = Story(story.written, story.rounds).sign(Signer(topic="other.ledger"))
    wider = story.sign(Signer(partitions=PARTITIONS + 1))
    for index, head in heads_in(true):
        for foreign in (other, wider):
            for heads in (_instead(true, index, foreign[index]), [*true, foreign[index]]):
                yield Shown(story.ledger(), heads, {"head-place", "head-conflict"})
        if head["partition"]:
            continue
        posing = orjson.dumps({**head, "partition": 1})
        yield Shown(story.ledger(), [*true, posing], {"head-conflict"})
        number = 1 + max(each["number"] for _, each in heads_in(true))
        yield Shown(story.ledger(), [*true, orjson.dumps({**head, "number": number})], {"head-signature"})


def history_replaced(story: Story) -> Iterator[Shown]:
    """The heads of another true history under the same key do not fit this ledger."""
    for series in story.written:
        yield Shown(story.ledger(), story.retold(series, next(others(story, series))).sign(Signer()), {CHANGED, GONE})


def spelt_otherwise(story: Story) -> Iterator[Shown]:
    """A record in another spelling, or something that is no record, is not read."""
    true = story.sign(Signer())
    for index, record in enumerate(true):
        for odd in (record.replace(b":", b": ", 1), record[:-1], b"[]", record.replace(b'{"type"', b'{"kind"', 1)):
            yield Shown(story.ledger(), _instead(true, index, odd), {"malformed-head"})


def _instead(records: list[bytes], index: int, *others: bytes) -> list[bytes]:
    """Return the records with one of them replaced by others, or by none."""
    return [*records[:index], *others, *records[index + 1 :]]


def _of(record: bytes) -> tuple[int, int]:
    """Return the partition and number of the head that a record is or belongs to."""
    document = orjson.loads(record)
    return document["partition"], document["number" if document["type"] == "head" else "head"]


FRAUDS: tuple[Fraud, ...] = (*LEDGER_FRAUDS, *frauds_in(__name__, Shown))
