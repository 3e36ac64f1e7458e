"""Mistakes about files as other programs write them: spreadsheets, meters, archives."""

import gzip

from tests.cli.mistakes.mistake import ENERGY, LINES, REPLAY, Mistake, records

HOURS = ("2012-06-01T16:00:00Z", "2012-06-01T17:00:00Z", "2012-06-01T18:00:00Z")


def cells(value: str) -> str:
    """Return a CSV file with one value in all rows, quoted."""
    return "time,kwh\n" + "".join(f'{hour},"{value}"\n' for hour in HOURS)


def at(time: str) -> str:
    """Return a CSV file of one row at a time."""
    return f"time,kwh\n{time},1\n"


EXPORTS = (
    Mistake("A mark of UTF-8 before the first letter", REPLAY, "Nothing.", {"energy.csv": "\ufeff" + ENERGY}, 0),
    Mistake(
        "Line ends of Windows",
        REPLAY,
        "Nothing.",
        {"energy.csv": ENERGY.replace("\n", "\r\n")},
        0,
    ),
    Mistake("Numbers in quotes", REPLAY, "Nothing.", {"energy.csv": cells("1.5")}, 0),
    Mistake(
        "Spaces beside the commas",
        REPLAY,
        "Nothing.",
        {"energy.csv": ENERGY.replace(",", ", ")},
        0,
    ),
    Mistake(
        "A column without a name, and one more comma a row",
        REPLAY,
        "Nothing.",
        {"energy.csv": "time,,kwh,\n" + "".join(f"{hour},,1,\n" for hour in HOURS)},
        0,
    ),
    Mistake(
        "Numbers in quotes, in records",
        LINES,
        "Leave the quotes away.",
        {"events.jsonl": records(1338566400000, value="1.5")},
    ),
    Mistake(
        "Decimal commas between semicolons",
        REPLAY,
        "Save it with commas and points.",
        {"energy.csv": "time;kwh\n" + "".join(f"{hour};1,5\n" for hour in HOURS)},
    ),
    Mistake(
        "Commas between thousands",
        REPLAY,
        "Show numbers without them.",
        {"energy.csv": cells("1,234.5")},
    ),
    Mistake(
        "Points between thousands",
        REPLAY,
        "Show numbers without them.",
        {"energy.csv": cells("1.234,5")},
    ),
    Mistake(
        "Spaces between thousands",
        REPLAY,
        "Show numbers without them.",
        {"energy.csv": cells("1\u202f234")},
    ),
    Mistake("A dash for a minus sign", REPLAY, "Write -.", {"energy.csv": cells("\u22121.5")}),
    Mistake("Words for no value", REPLAY, "Leave the row out.", {"energy.csv": cells("N/A")}),
    Mistake("Values that are not finite", REPLAY, "Leave the row out.", {"energy.csv": cells("NaN")}),
    Mistake(
        "Values that are not finite, in records",
        LINES,
        "Leave the record out.",
        {"events.jsonl": records(1338566400000).replace("1.011", "NaN")},
    ),
    Mistake("A column without values", REPLAY, "Name another column.", {"energy.csv": cells("")}),
    Mistake(
        "Names in other letters, in the file",
        REPLAY,
        "Write them as the file does.",
        {"energy.csv": ENERGY.replace("time,kwh", "Time,kWh")},
    ),
    Mistake(
        "Two columns of one name",
        REPLAY,
        "Give each a name of its own.",
        {"energy.csv": "time,kwh,kwh\n" + "".join(f"{hour},1,2\n" for hour in HOURS)},
    ),
    Mistake("A title above the names", REPLAY, "Leave it away.", {"energy.csv": f"Export of meter 5\n{ENERGY}"}),
    Mistake("An empty line above the names", REPLAY, "Leave it away.", {"energy.csv": f"\n{ENERGY}"}),
    Mistake("A quote that is not closed", REPLAY, "Close it.", {"energy.csv": ENERGY.replace("1.011", '"1.011')}),
    Mistake("Days with points", REPLAY, "Write ISO 8601.", {"energy.csv": at("23.11.2026")}),
    Mistake("A zone by its letters", REPLAY, "Write the offset, or Z.", {"energy.csv": at("2026-11-23 08:00:00 UTC")}),
    Mistake(
        "Times that a spreadsheet rounded",
        REPLAY,
        "Show whole numbers there.",
        {"energy.csv": at("1.33857E+12")},
    ),
    Mistake("Times with a point", REPLAY, "Write whole milliseconds.", {"energy.csv": at("1338566400000.0")}),
    Mistake("UTF-16 without its mark", REPLAY, "Save it as UTF-8.", {"energy.csv": ENERGY.encode("utf-16-le")}),
    Mistake(
        "UTF-16, in records",
        LINES,
        "Save it as UTF-8.",
        {"events.jsonl": records(1338566400000).encode("utf-16")},
    ),
    Mistake(
        "Latin-1, in records",
        LINES,
        "Save it as UTF-8.",
        {"events.jsonl": '{"series":"h\u00e4user","timestamp":1338566400000,"value":1}\n'.encode("latin-1")},
    ),
    Mistake(
        "A compressed file by its name",
        REPLAY.replace("energy.csv", "energy.csv.gz"),
        "Unpack it.",
        {"energy.csv.gz": gzip.compress(ENERGY.encode(), mtime=0)},
    ),
    Mistake(
        "A workbook by its name",
        REPLAY.replace("energy.csv", "energy.xlsx"),
        "Save the sheet as CSV.",
        {"energy.xlsx": b"PK\x03\x04\x14\x00\x06\x00"},
    ),
    Mistake(
        "Parquet",
        REPLAY.replace("energy.csv", "energy.parquet"),
        "Write it as CSV.",
        {"energy.parquet": b"PAR1\x15\x04\x15\x00"},
    ),
    Mistake(
        "Policies of UTF-16",
        REPLAY,
        "Save them as UTF-8.",
        {"policies.jsonl": '{"series":"home-7"}\n'.encode("utf-16")},
    ),
)
