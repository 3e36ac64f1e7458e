"""The rules about sealed rows of open units whose absence the simulation must notice, one by one."""

from typing import Final

from tests.simulation.planting import Planted

_OWNER: Final = "stream_app.kafka.owner"

OF_UNITS: Final = (
    Planted(
        "a sealed row of another version taken",
        "a step's first reading of a row looks at nothing that lies in the row's place",
        "stream_app.deciding.units.blocks:Blocks.fresh",
        700,
        (
            (
                "return Block(_place(key, policy, step, number), epoch, -1, bytearray(BLOCK_BYTES))",
                (
                    "place, table = _place(key, policy, step, number), self._table; "
                    "row = table.read(place.row_key) if table else None; "
                    "was = place._replace(version=int.from_bytes(row[8:16])) if row else place; "
                    "secret = table.keys.sealing_of(epoch) if table else None; "
                    "return Block(place, epoch, *(opened(secret, table.topic, was, row) "
                    "if row else (-1, bytearray(BLOCK_BYTES))))"
                ),
            ),
        ),
    ),
    Planted(
        "a row lost and its step decided all the same",
        "a step whose sealed row is missing is not decided, and takes no reading",
        "stream_app.deciding.units.blocks:Blocks.find",
        4,
        (
            ("table.read(row_key)", "(table.read(row_key) if row_key[-1] % 2 else None)"),
            ('raise LostUnitsError(key, "is missing")', "return self.fresh(key, policy, step, number, epoch)"),
        ),
    ),
    Planted(
        "a unit counted twice after a crash",
        "sealed rows are stored with the row of their partition, after the transaction has committed",
        f"{_OWNER}.transaction:Transactions.commit",
        93,
        (
            (
                "self._write_rows(batch, encoded)\n",
                (
                    "self._write_rows(batch, encoded); "
                    "self._parts.rows.write(self._partition, batch.sealed.items(), None)\n"
                ),
            ),
        ),
    ),
    Planted(
        "sealed rows of a running commit forgotten",
        "what a batch read into units is known to the next one while it commits",
        f"{_OWNER}.cache:RowReader.sealed",
        4,
        (("self._sealed[key] if key in self._sealed else self._read(key)", "self._read(key)"),),
    ),
    Planted(
        "sealed rows not in the changelog",
        "what open steps have read is written to the changelog in the transaction of its batch",
        f"{_OWNER}.transaction:Transactions._write_rows",
        4,
        (("*batch.sealed.items(), ", ""),),
    ),
    Planted(
        "rows of dropped steps kept",
        "the sealed rows of steps that are over are deleted",
        "stream_app.deciding.units.blocks:Blocks.drop",
        4,
        (("self._changed[row_key] = None", "pass"),),
    ),
)
