"""Frauds that only signed heads show, or that forge the heads themselves: each yields what an auditor is shown.

The forger of a ledger knows the format and computes every hash anew: without heads nothing is found.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import orjson

from tests.audit.heads.signed import PARTITIONS, Signer, Story, heads_in
from tests.audit.written import LEDGERS, renumber, write

GONE = "signed-missing"
CHANGED = "signed-differs"


class Shown(NamedTuple):
    """What an auditor is shown, the codes of which one must be found, and whether the ledger alone would pass."""

    ledger: list[bytes]
    heads: list[bytes]
    codes: set[str]
    plausible: bool = True


Fraud = Callable[[Story], Iterator[Shown]]


def end_cut_off(story: Story) -> Iterator[Shown]:
    """The last entries of a series are gone, at least one that was signed among them."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for kept in range(1, story.signed(series)):
            written = true.copy()
            del written.entries[kept:]
            yield Shown(story.ledger({series: written}), heads, {GONE})


def series_gone(story: Story) -> Iterator[Shown]:
    """A whole series is gone; or all series of a partition with its heads."""
    heads = story.sign(Signer())
    for series in story.written:
        lines = set(story.written[series].lines())
        yield Shown([line for line in story.ledger() if line not in lines], heads, {GONE})
    for partition in range(PARTITIONS):
        gone = {
            line for name, each in story.written.items() if story.partition(name) == partition for line in each.lines()
        }
        others = [record for record in heads if orjson.loads(record)["partition"] != partition]
        yield Shown([line for line in story.ledger() if line not in gone], others, {"head-missing"})


def chain_rewritten(story: Story) -> Iterator[Shown]:
    """The whole chain of a series tells another true story, with every number and hash computed anew."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for text in LEDGERS.values():
            written = write(text, series)
            if written.entries != true.entries:
                yield Shown(story.ledger({series: written}), heads, {GONE, CHANGED})


def entry_left_out(story: Story) -> Iterator[Shown]:
    """An entry that can be missed is left out, and the chain numbered and hashed anew."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for index in range(1, story.signed(series)):
            written = true.copy()
            del written.entries[index]
            yield Shown(story.ledger({series: renumber(written)}), heads, {GONE, CHANGED}, plausible=False)


def release_replaced(story: Story) -> Iterator[Shown]:
    """An entry covers another release, which agrees with it, and all hashes after it are computed anew."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for index in range(1, story.signed(series)):
            if true.entries[index]["entry"] == "release":
                written = true.copy()
                written.entries[index]["release"] = "ab" * 32
                yield Shown(story.ledger({series: renumber(written)}), heads, {CHANGED})


def budget_raised(story: Story) -> Iterator[Shown]:
    """The first promise and all figures after it say a larger budget, as if it had been given."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        written = true.copy()
        version = written.entries[0]["policy"]
        for entry in written.entries:
            if entry["policy"] == version and "budget_nano" in entry:
                entry["budget_nano"] += 10
        written.entries[0]["parameters"]["epsilon"] += 1e-8
        yield Shown(story.ledger({series: renumber(written)}), heads, {CHANGED}, plausible=False)


def chain_forked(story: Story) -> Iterator[Shown]:
    """From a round on, the key's own holder signs another chain than before; the ledger has the one or the other."""
    for series, true in story.written.items():
        forked = write(next(text for text in LEDGERS.values() if write(text, series).entries != true.entries), series)
        # It goes on from an earlier entry than was signed, or has others in its place.
        for number in range(1, len(story.rounds)):
            twisted = Story(story.written, story.retold(series, forked).rounds)
            heads = twisted.sign(Signer(), {number: {series: forked}})
            if len({counts[series] for counts in twisted.rounds}) == len(twisted.rounds):
                yield Shown(twisted.ledger({series: forked}), heads, {CHANGED, "signed-twice"})
                yield Shown(twisted.ledger(), heads, {CHANGED, "signed-twice"})


def rolled_back(story: Story) -> Iterator[Shown]:
    """The ledger was set back to a backup, after which fewer entries are signed than before."""
    for series in story.written:
        if story.rounds[0][series] < story.rounds[1][series]:
            signer = Signer()
            story.sign(signer)
            count = story.rounds[0][series]
            entry = story.written[series].entries[count - 1]
            signer.head(story.partition(series), {series: (count, entry["hash"])}, 10**6)
            yield Shown(story.ledger(), signer.heads, {"signed-twice"})
            nothing = Signer()
            story.sign(nothing)
            nothing.head(story.partition(series), {}, 0)
            yield Shown(story.ledger(), nothing.heads, {"head-order"})


def head_forged(story: Story) -> Iterator[Shown]:
    """One figure of a head is changed and the signature left; or the signature itself."""
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
            heads = list(true)
            heads[index] = orjson.dumps({**head, member: value})
            yield Shown(story.ledger(), heads, {"head-signature"})


def head_of_another_key(story: Story) -> Iterator[Shown]:
    """Ledger and heads are rewritten under the forger's key, whether or not it claims to be the true one."""
    series = next(iter(story.written))
    forged = story.retold(series, write(LEDGERS["adaptive"], series))
    yield Shown(forged.ledger(), forged.sign(Signer(bytes(32))), {"head-signature"})
    posing = Signer(bytes(32))
    records = []
    for record in forged.sign(posing):
        document = orjson.loads(record)
        if document["type"] == "head":
            document = {**document, "key": Signer().fingerprint}
            del document["signature"]
        records.append(posing.sign(document) if document["type"] == "head" else record)
    yield Shown(forged.ledger(), records, {"head-signature"})
    for index, head in heads_in(story.sign(Signer())):
        heads = story.sign(Signer())
        del head["signature"]
        other = Signer(bytes(32))
        heads[index] = other.sign({**head, "key": other.fingerprint})
        yield Shown(story.ledger(), heads, {"head-signature"})


def head_removed(story: Story) -> Iterator[Shown]:
    """A head is gone, alone or with its leaves; the last with its leaves only a witness tells (test_witness)."""
    true = story.sign(Signer())
    ends = {max(index for index, head in heads_in(true) if head["partition"] == number) for number in range(PARTITIONS)}
    for index, head in heads_in(true):
        if head["leaves"]:
            yield Shown(story.ledger(), true[:index] + true[index + 1 :], {"head-leaves", "head-missing"})
        if index not in ends:
            mine = (head["partition"], head["number"])
            heads = [record for record in true if _of(record) != mine]
            yield Shown(story.ledger(), heads, {"head-missing"})
    yield Shown(story.ledger(), [], {"head-missing"})


def leaf_removed(story: Story) -> Iterator[Shown]:
    """A leaf, or a whole record of leaves, is gone, doubled, or in another place."""
    true = story.sign(Signer())
    for index, record in enumerate(true):
        document = orjson.loads(record)
        if document["type"] != "leaves":
            continue
        yield Shown(story.ledger(), true[:index] + true[index + 1 :], {"head-leaves"})
        yield Shown(story.ledger(), [*true[: index + 1], *true[index:]], {"head-leaves"})
        for place in range(len(document["leaves"])):
            rest = document["leaves"][:place] + document["leaves"][place + 1 :]
            heads = list(true)
            heads[index] = orjson.dumps({**document, "leaves": rest})
            yield Shown(story.ledger(), heads, {"head-leaves", "malformed-head"})


def leaf_changed(story: Story) -> Iterator[Shown]:
    """A leaf names what the forged ledger holds; the signed root does not."""
    true = story.sign(Signer())
    for index, record in enumerate(true):
        document = orjson.loads(record)
        for place, (series, sequence, _) in enumerate(document["leaves"] if document["type"] == "leaves" else ()):
            written = story.written[series].copy()
            del written.entries[sequence:]
            written.entries[-1]["key"] = "f" * 16
            leaves = list(document["leaves"])
            leaves[place] = [series, sequence, renumber(written).entries[-1]["hash"]]
            heads = list(true)
            heads[index] = orjson.dumps({**document, "leaves": leaves})
            yield Shown(story.ledger({series: written}), heads, {"head-leaves"})


def heads_swapped(story: Story) -> Iterator[Shown]:
    """Two heads of a partition change places, with their leaves; or only the heads."""
    true = story.sign(Signer())
    for partition in range(PARTITIONS):
        mine = [index for index, head in heads_in(true) if head["partition"] == partition]
        for first, second in pairwise(mine):
            heads = list(true)
            heads[first], heads[second] = heads[second], heads[first]
            yield Shown(story.ledger(), heads, {"head-missing", "head-leaves"})
            one, other = (_of(true[index]) for index in (first, second))
            rest = [record for record in true if _of(record) != one]
            place = 1 + max(index for index, record in enumerate(rest) if _of(record) == other)
            moved = [record for record in true if _of(record) == one]
            yield Shown(story.ledger(), [*rest[:place], *moved, *rest[place:]], {"head-missing", "head-conflict"})


def heads_renumbered(story: Story) -> Iterator[Shown]:
    """A head is taken out and those after it are numbered down; signatures are as they were, or the forger's."""
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
    """A head of another partition, installation or history takes a head's place or follows the last."""
    true = story.sign(Signer())
    other = Story(story.written, story.rounds).sign(Signer(topic="other.ledger"))
    wider = story.sign(Signer(partitions=PARTITIONS + 1))
    for index, head in heads_in(true):
        for foreign, codes in ((other, {"head-place", "head-conflict"}), (wider, {"head-place", "head-conflict"})):
            heads = list(true)
            heads[index] = foreign[index]
            yield Shown(story.ledger(), heads, codes)
            yield Shown(story.ledger(), [*true, foreign[index]], codes)
        if head["partition"]:
            continue
        posing = orjson.dumps({**head, "partition": 1})
        yield Shown(story.ledger(), [*true, posing], {"head-conflict"})
        number = 1 + max(each["number"] for _, each in heads_in(true))
        yield Shown(story.ledger(), [*true, orjson.dumps({**head, "number": number})], {"head-signature"})


def history_replaced(story: Story) -> Iterator[Shown]:
    """The heads of another true history under the same key: they do not fit this ledger."""
    for series in story.written:
        text = next(text for text in LEDGERS.values() if write(text, series).entries != story.written[series].entries)
        yield Shown(story.ledger(), story.retold(series, write(text, series)).sign(Signer()), {CHANGED, GONE})


def spelt_otherwise(story: Story) -> Iterator[Shown]:
    """A record of other spelling, or none at all, is not read."""
    true = story.sign(Signer())
    for index, record in enumerate(true):
        for odd in (record.replace(b":", b": ", 1), record[:-1], b"[]", record.replace(b'{"type"', b'{"kind"', 1)):
            yield Shown(story.ledger(), [*true[:index], odd, *true[index + 1 :]], {"malformed-head"})


def _of(record: bytes) -> tuple[int, int]:
    """Return partition and number of the head that a record is, or belongs to."""
    document = orjson.loads(record)
    return document["partition"], document["number" if document["type"] == "head" else "head"]


FRAUDS: tuple[Fraud, ...] = (
    end_cut_off,
    series_gone,
    chain_rewritten,
    entry_left_out,
    release_replaced,
    budget_raised,
    chain_forked,
    rolled_back,
    head_forged,
    head_of_another_key,
    head_removed,
    leaf_removed,
    leaf_changed,
    heads_swapped,
    heads_renumbered,
    heads_replayed,
    history_replaced,
    spelt_otherwise,
)
