"""Mistakes about files: forms, columns, paths."""

from tests.cli.mistakes.mistake import ENERGY, REPLAY, Mistake, in_csv, in_records, records

FILES = (
    in_csv("Columns separated by semicolons", "Nothing.", ENERGY.replace(",", ";"), code=0),
    in_csv("Columns separated by tabs", "Nothing.", ENERGY.replace(",", "\t"), code=0),
    in_csv("Decimal commas, quoted", "Add --decimal, or no comma.", 'time,kwh\n2012-06-01T16:00:00Z,"1,011"\n'),
    in_csv("Decimal commas, not quoted", "Write points.", "time,kwh\n2012-06-01T16:00:00Z,1,011\n"),
    in_csv("Numbers with a unit", "Write only the number.", "time,kwh\n2012-06-01T16:00:00Z,1.011 kWh\n"),
    in_csv("Empty cells", "Add --missing.", "time,kwh\n2012-06-01T16:00:00Z,\n"),
    in_csv(
        "Words where the policy has numbers",
        "Add --words.",
        "time,kwh\n2012-06-01T16:00:00Z,low\n",
    ),
    in_csv("An empty file", "Check the program that wrote it.", ""),
    in_csv("A first line and no others", "Check the program that wrote it.", "time,kwh\n", code=0),
    in_records("An empty file of records", "Check the program that wrote it.", "", code=0),
    in_csv("No first line with names", "Write the names above the rows.", ENERGY.partition("\n")[2]),
    Mistake(
        "A column's name mistyped",
        REPLAY.replace("kwh", "khw"),
        "Write it as the file does.",
    ),
    Mistake(
        "A column's name in other letters",
        REPLAY.replace("kwh", "kWh"),
        "Write it as the file does.",
    ),
    Mistake(
        "No mapping of columns",
        "replay energy.csv --policies policies.jsonl --out private",
        "Name the columns.",
    ),
    Mistake(
        "No series",
        REPLAY.replace("--series home-7 ", ""),
        "Name the series, or its column.",
    ),
    in_csv(
        "Several series in one file, all called one",
        "Add --series-column in place of --series.",
        "time,home,kwh\n2012-06-01T16:00:00Z,home-7,1\n2012-06-01T16:00:00Z,home-8,2\n",
    ),
    Mistake(
        "A series mistyped",
        REPLAY.replace("home-7", "home7"),
        "Write it as the policy does.",
    ),
    in_csv("UTF-16", "Save it as UTF-8.", ENERGY.encode("utf-16")),
    in_csv("Latin-1", "Save it as UTF-8.", ENERGY.replace("kwh", "k\u00e4h").encode("latin-1")),
    in_csv("A workbook", "Save the sheet as CSV.", b"PK\x03\x04\xff\xfe"),
    in_csv("A compressed file", "Unpack it.", b"\x1f\x8b\x08\x00\xff"),
    Mistake(
        "A CSV file with another ending",
        REPLAY.replace("energy.csv", "energy.txt"),
        "Nothing.",
        {"energy.txt": ENERGY},
        0,
    ),
    in_records("A list of records", "Write one record per line.", "[\n" + records(1338566400000) + "]\n"),
    in_records(
        "A line that was cut",
        "Fix that line; the others are processed.",
        records(1338566400000) + '{"series":"home-7",\n',
    ),
    in_records(
        "A member of another name",
        "Write it as the reference does.",
        '{"series":"home-7","time":1338566400000,"value":1}\n',
    ),
    in_records("An unknown type", "Write it as the reference does.", records(1338566400000, type="observaton")),
    Mistake(
        "A missing file",
        REPLAY.replace("energy.csv", "energi.csv"),
        "Write the path of the file.",
    ),
    Mistake(
        "A folder in place of a file",
        REPLAY.replace("energy.csv", "."),
        "Write the path of the file.",
    ),
    Mistake(
        "A missing file of policies",
        REPLAY.replace("policies.jsonl", "policy.jsonl"),
        "Write the path of the file.",
    ),
    Mistake(
        "A missing ledger",
        "audit --ledger private/ledger.jsonl",
        "Write the path of the file.",
    ),
    Mistake(
        "A missing key",
        REPLAY + " --key landmark.key",
        "Create one with `keys new`.",
    ),
    Mistake(
        "A missing configuration",
        REPLAY + " --config my.toml",
        "Write the path of the file.",
    ),
    Mistake(
        "--out is a file",
        REPLAY.replace("--out private", "--out energy.csv"),
        "Name a folder.",
    ),
    Mistake(
        "Files in the wrong order",
        REPLAY.replace("energy.csv", "x").replace("policies.jsonl", "energy.csv").replace("x ", "policies.jsonl "),
        "Events first, policies after --policies.",
    ),
    Mistake(
        "Policies in place of the key",
        REPLAY + " --key policies.jsonl",
        "Name the file of `keys new`.",
    ),
    Mistake(
        "A key over another file",
        "keys new energy.csv",
        "Name a new file.",
    ),
    Mistake(
        "A key in a missing folder",
        "keys new a/b.key",
        "Create the folder.",
    ),
    Mistake(
        "The events in place of the ledger",
        "audit --ledger energy.csv",
        "Name ledger.jsonl.",
    ),
    Mistake(
        "An unknown format of pictures",
        "plan policies.jsonl --picture a.xyz",
        "Write .png or .svg.",
    ),
    Mistake(
        "A picture in a missing folder",
        "plan policies.jsonl --picture no/a.png",
        "Create the folder.",
    ),
)
