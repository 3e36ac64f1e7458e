"""Mistakes about files written by other programs: spreadsheets, meters, archives."""

import gzip

from tests.cli.mistakes.mistake import ENERGY, REPLAY, Mistake, in_csv, in_policies, in_records, records

HOURS = ("2012-06-01T16:00:00Z", "2012-06-01T17:00:00Z", "2012-06-01T18:00:00Z")


def cells(value: str) -> str:
    """Return a CSV file with the same quoted value in all rows."""
    return "time,kwh\n" + "".join(f'{hour},"{value}"\n' for hour in HOURS)


def at(time: str) -> str:
    """Return a CSV file with a single row, which has the given time."""
    return f"time,kwh\n{time},1\n"


EXPORTS = (
    in_csv("A mark of UTF-8 before the first letter", "Nothing.", "\ufeff" + ENERGY, code=0),
    in_csv("Line ends of Windows", "Nothing.", ENERGY.replace("\n", "\r\n"), code=0),
    in_csv("Numbers in quotes", "Nothing.", cells("1.5"), code=0),
    in_csv("Spaces beside the commas", "Nothing.", ENERGY.replace(",", ", "), code=0),
    in_csv(
        "A column without a name, and one more comma a row",
        "Nothing.",
        "time,,kwh,\n" + "".join(f"{hour},,1,\n" for hour in HOURS),
        code=0,
    ),
    in_records("Numbers in quotes, in records", "Remove the quotes.", records(1338566400000, value="1.5")),
    in_csv(
        "Decimal commas between semicolons",
        "Add --decimal.",
        "time;kwh\n" + "".join(f"{hour};1,5\n" for hour in HOURS),
    ),
    in_csv("Commas between thousands", "Show numbers without them.", cells("1,234.5")),
    in_csv("Points between thousands", "Show numbers without them.", cells("1.234,5")),
    in_csv("Spaces between thousands", "Show numbers without them.", cells("1\u202f234")),
    in_csv("A dash for a minus sign", "Write -.", cells("\u22121.5")),
    in_csv("Words for no value", "Add --missing.", cells("N/A")),
    in_csv("Values that are not finite", "Add --missing.", cells("NaN")),
    in_records(
        "Values that are not finite, in records",
        "Omit the record.",
        records(1338566400000).replace("1.011", "NaN"),
    ),
    in_csv("A column without values", "Name another column.", cells("")),
    in_csv(
        "Names in other letters, in the file", "Write them as the file does.", ENERGY.replace("time,kwh", "Time,kWh")
    ),
    in_csv(
        "Two columns of one name",
        "Give each its own name.",
        "time,kwh,kwh\n" + "".join(f"{hour},1,2\n" for hour in HOURS),
    ),
    in_csv("A title above the names", "Nothing.", f"Export of meter 5\n{ENERGY}", code=0),
    in_csv("An empty line above the names", "Nothing.", f"\n{ENERGY}", code=0),
    in_csv("A quote that is not closed", "Close it.", ENERGY.replace("1.011", '"1.011')),
    in_csv("Days with points", "Add --time-format.", at("23.11.2026")),
    in_csv("A zone by its letters", "Add --time-format and --zone.", at("2026-11-23 08:00:00 UTC")),
    in_csv("Times that a spreadsheet rounded", "Show whole numbers there.", at("1.33857E+12")),
    in_csv("Times with a point", "Add --time-format ms.", at("1338566400000.0")),
    in_csv("UTF-16 without its mark", "Save it as UTF-8.", ENERGY.encode("utf-16-le")),
    in_records("UTF-16, in records", "Save it as UTF-8.", records(1338566400000).encode("utf-16")),
    in_records(
        "Latin-1, in records",
        "Save it as UTF-8.",
        '{"series":"h\u00e4user","timestamp":1338566400000,"value":1}\n'.encode("latin-1"),
    ),
    Mistake(
        "A compressed file, known by its name",
        REPLAY.replace("energy.csv", "energy.csv.gz"),
        "Unpack it.",
        {"energy.csv.gz": gzip.compress(ENERGY.encode(), mtime=0)},
    ),
    Mistake(
        "A workbook, known by its name",
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
    in_policies("Policies of UTF-16", "Save them as UTF-8.", '{"series":"home-7"}\n'.encode("utf-16"), command=REPLAY),
)
