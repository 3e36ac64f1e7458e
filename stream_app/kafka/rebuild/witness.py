"""Who can tell that a ledger without its beginning misses no series: signed heads, or releases that are whole.

Rows are rebuilt from the ledger, so a series whose entries all stood in what is gone would be forgotten, and begin anew
with its whole budget. Heads name the last entry of every series below the offset that they cover; releases name every
series that published something. A series with a policy that never released anything is known to heads alone.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from stream_app.formats import wire
from stream_app.heads.head import decode
from stream_app.heads.merkle import Tree
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.ends import Ends, Shortage
from stream_app.kafka.rebuild.folding import Folded

Witness = Literal["ledger", "heads", "releases", "nobody"]
"""Who told that no series is missing; nobody: that was accepted."""

TOLD: Final[Mapping[Witness, str]] = {
    "ledger": "",
    "heads": "; the ledger lost its beginning, and signed heads tell that no series is missing",
    "releases": "; the ledger lost its beginning, and the releases tell that no series that released is missing",
    "nobody": "; the ledger lost its beginning, and nobody can tell whether series are missing",
}


class Covered(NamedTuple):
    """What the signed heads of a partition tell."""

    offset: int
    """The ledger offset below which they name every series."""
    sequences: Mapping[str, int]
    """The sequence of each series' last entry."""


async def covered(reader: LogReader, names: TopicNames, partition: int, key: SigningKey | None) -> Covered | None:
    """Return what the heads tell; None where there are none, or one is missing or not signed by ``key``.

    ``reader`` reads committed records.
    """
    if key is None:
        return None
    sequences: dict[str, int] = {}
    number = offset = 0
    tree, leaves = Tree(), list[Any]()
    async for records in reader.records(names.heads, partition, 0):
        for record in records:
            found: Any = wire.load(record.value)
            if found["type"] == "leaves":
                leaves += found["leaves"]
                continue
            for leaf in leaves:
                tree.add(wire.dump(leaf))
            head = decode(record.value, key)
            place = (number + 1, names.ledger, partition, key.fingerprint, tree.root().hex())
            if head is None or (head.number, head.topic, head.partition, head.key, head.root) != place:
                return None
            sequences.update((series, sequence) for series, sequence, _ in leaves)
            number, offset = head.number, head.ledger_offset
            tree, leaves = Tree(), []
    return Covered(offset, sequences) if number else None


def missing(told: Folded, heads: Covered | None) -> set[str]:
    """Return the series that heads, releases or entries name and that have no row, or an older one than heads sign."""
    signed = heads.sequences if heads is not None else {}
    behind = {
        series for series, sequence in signed.items() if series in told.rows and told.rows[series].sequence < sequence
    }
    return ((signed.keys() | told.published | told.cut) - told.rows.keys()) | behind


def vouched(
    ends: Ends, heads: Covered | None, lacking: int, *, held: int | None, expected: bool, accepted: bool
) -> Witness | Shortage:
    """Return who tells that no series is missing, or why nobody can.

    ``lacking`` is how many series are missing. ``held``: the ledger offset up to which the rows hold it that were gone
    on from; None: there were none. ``expected``: the state is whole, and says that the ledger may begin where it does.
    ``accepted``: the operator said to go on where nobody can tell.
    """
    ledger, releases = ends.ledger, ends.releases
    # Rows and ledger then both lack what a series spent between them; a release names it, and not how far it had come.
    stale = held is not None and ledger.first > held
    if lacking:
        asked = "a row of every series that heads, releases or entries name"
        return Shortage("ledger-short", asked, f"none of {lacking}, whose entries are gone")
    if ledger.first == 0 or (expected and not stale):
        return "ledger"
    if heads is not None and heads.offset >= ledger.first:
        return "heads"
    if releases.first == 0 < releases.end and not stale:
        return "releases"
    if accepted:
        return "nobody"
    if stale:
        asked = (
            f"a ledger from offset {held} on, up to which the rows that are left hold it, or signed heads that reach it"
        )
        return Shortage(
            "ledger-short", asked, f"one that begins at {ledger.first}, and none: what was spent between is lost"
        )
    asked = "a ledger from offset 0 on, or signed heads or whole releases that tell of every series"
    return Shortage("ledger-short", asked, f"one that begins at {ledger.first}, and neither")
