"""Frauds in a ledger that only signed heads show: each yields an auditor's input.

The forger of a ledger knows the format and recomputes every hash, so nothing is found without heads.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import orjson

from tests.audit.frauds.forged import frauds_in
from tests.audit.heads.signed import PARTITIONS, Signer, Story
from tests.audit.written import LEDGERS, Written, renumber, write

GONE = "signed-missing"
CHANGED = "signed-differs"


class Shown(NamedTuple):
    """The auditor's input, the codes of which one must be found, and whether the ledger alone would pass."""

    ledger: list[bytes]
    heads: list[bytes]
    codes: set[str]
    plausible: bool = True


Fraud = Callable[[Story], Iterator[Shown]]


def others(story: Story, series: str) -> Iterator[Written]:
    """Yield the other true stories that a series could have told."""
    told = (write(text, series) for text in LEDGERS.values())
    return (written for written in told if written.entries != story.written[series].entries)


def end_cut_off(story: Story) -> Iterator[Shown]:
    """The last entries of a series are missing, including at least one that was signed."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for kept in range(1, story.signed(series)):
            written = true.copy()
            del written.entries[kept:]
            yield Shown(story.ledger({series: written}), heads, {GONE})


def series_gone(story: Story) -> Iterator[Shown]:
    """A whole series is missing, or all series of a partition with its heads."""
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
    """The whole chain of a series tells another true story, with every number and hash recomputed."""
    heads = story.sign(Signer())
    for series in story.written:
        for written in others(story, series):
            yield Shown(story.ledger({series: written}), heads, {GONE, CHANGED})


def entry_left_out(story: Story) -> Iterator[Shown]:
    """A dispensable entry is omitted, and the chain is renumbered and rehashed."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for index in range(1, story.signed(series)):
            written = true.copy()
            del written.entries[index]
            yield Shown(story.ledger({series: renumber(written)}), heads, {GONE, CHANGED}, plausible=False)


def release_replaced(story: Story) -> Iterator[Shown]:
    """An entry covers another release, which agrees with it, and all later hashes are recomputed."""
    heads = story.sign(Signer())
    for series, true in story.written.items():
        for index in range(1, story.signed(series)):
            if true.entries[index]["entry"] == "release":
                written = true.copy()
                written.entries[index]["release"] = "ab" * 32
                yield Shown(story.ledger({series: renumber(written)}), heads, {CHANGED})


def budget_raised(story: Story) -> Iterator[Shown]:
    """The first promise and all later figures state a larger budget, as if it had been granted."""
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
    """From one round on, the key's holder signs another chain than before; the ledger has either chain."""
    for series in story.written:
        forked = next(others(story, series))
        # It goes on from an earlier entry than was signed, or has others in its place.
        for number in range(1, len(story.rounds)):
            twisted = Story(story.written, story.retold(series, forked).rounds)
            heads = twisted.sign(Signer(), {number: {series: forked}})
            if len({counts[series] for counts in twisted.rounds}) == len(twisted.rounds):
                yield Shown(twisted.ledger({series: forked}), heads, {CHANGED, "signed-twice"})
                yield Shown(twisted.ledger(), heads, {CHANGED, "signed-twice"})


def rolled_back(story: Story) -> Iterator[Shown]:
    """The ledger was restored from a backup, after which fewer entries are signed than before."""
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


LEDGER_FRAUDS: tuple[Fraud, ...] = frauds_in(__name__, Shown)
