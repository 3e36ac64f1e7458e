"""Mistakes about files: forms, columns, paths."""

from tests.cli.mistakes.mistake import ENERGY, LINES, REPLAY, Mistake, records

FILES = (
    Mistake(
        "Columns separated by semicolons",
        REPLAY,
        "Save it with commas.",
        {"energy.csv": ENERGY.replace(",", ";")},
    ),
    Mistake(
        "Columns separated by tabs",
        REPLAY,
        "Save it with commas.",
        {"energy.csv": ENERGY.replace(",", "\t")},
    ),
    Mistake(
        "Decimal commas, quoted",
        REPLAY,
        "Write points.",
        {"energy.csv": 'time,kwh\n2012-06-01T16:00:00Z,"1,011"\n'},
    ),
    Mistake(
        "Decimal commas, not quoted",
        REPLAY,
        "Write points.",
        {"energy.csv": "time,kwh\n2012-06-01T16:00:00Z,1,011\n"},
    ),
    Mistake(
        "Numbers with a unit",
        REPLAY,
        "Write the number alone.",
        {"energy.csv": "time,kwh\n2012-06-01T16:00:00Z,1.011 kWh\n"},
    ),
    Mistake(
        "Empty cells",
        REPLAY,
        "Leave the row out.",
        {"energy.csv": "time,kwh\n2012-06-01T16:00:00Z,\n"},
    ),
    Mistake(
        "Words where the policy has numbers",
        REPLAY,
        "Compare the column with the policy.",
        {"energy.csv": "time,kwh\n2012-06-01T16:00:00Z,low\n"},
    ),
    Mistake(
        "An empty file",
        REPLAY,
        "Look at what wrote it.",
        {"energy.csv": ""},
    ),
    Mistake(
        "A first line and no others",
        REPLAY,
        "Look at what wrote it.",
        {"energy.csv": "time,kwh\n"},
        code=0,
    ),
    Mistake(
        "An empty file of records",
        LINES,
        "Look at what wrote it.",
        {"events.jsonl": ""},
        code=0,
    ),
    Mistake(
        "No first line with names",
        REPLAY,
        "Write the names above the rows.",
        {"energy.csv": ENERGY.partition("\n")[2]},
    ),
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
    Mistake(
        "Several series in one file, all called one",
        REPLAY,
        "Give --series-column in place of --series.",
        {"energy.csv": "time,home,kwh\n2012-06-01T16:00:00Z,home-7,1\n2012-06-01T16:00:00Z,home-8,2\n"},
    ),
    Mistake(
        "A series mistyped",
        REPLAY.replace("home-7", "home7"),
        "Write it as the policy does.",
    ),
    Mistake(
        "UTF-16",
        REPLAY,
        "Save it as UTF-8.",
        {"energy.csv": ENERGY.encode("utf-16")},
    ),
    Mistake(
        "Latin-1",
        REPLAY,
        "Save it as UTF-8.",
        {"energy.csv": ENERGY.replace("kwh", "k\u00e4h").encode("latin-1")},
    ),
    Mistake(
        "A workbook",
        REPLAY,
        "Save the sheet as CSV.",
        {"energy.csv": b"PK\x03\x04\xff\xfe"},
    ),
    Mistake(
        "A compressed file",
        REPLAY,
        "Unpack it.",
        {"energy.csv": b"\x1f\x8b\x08\x00\xff"},
    ),
    Mistake(
        "A CSV file of another ending",
        REPLAY.replace("energy.csv", "energy.txt"),
        "Name it .csv.",
        {"energy.txt": ENERGY},
    ),
    Mistake(
        "A list of records",
        LINES,
        "One record a line.",
        {"events.jsonl": "[\n" + records(1338566400000) + "]\n"},
    ),
    Mistake(
        "A line that was cut",
        LINES,
        "Mend that line; the others are decided.",
        {"events.jsonl": records(1338566400000) + '{"series":"home-7",\n'},
    ),
    Mistake(
        "A member of another name",
        LINES,
        "Write it as the reference does.",
        {"events.jsonl": '{"series":"home-7","time":1338566400000,"value":1}\n'},
    ),
    Mistake(
        "A type that there is not",
        LINES,
        "Write it as the reference does.",
        {"events.jsonl": records(1338566400000, type="observaton")},
    ),
    Mistake(
        "A file that is not there",
        REPLAY.replace("energy.csv", "energi.csv"),
        "Write the path of the file.",
    ),
    Mistake(
        "A folder in place of a file",
        REPLAY.replace("energy.csv", "."),
        "Write the path of the file.",
    ),
    Mistake(
        "Policies that are not there",
        REPLAY.replace("policies.jsonl", "policy.jsonl"),
        "Write the path of the file.",
    ),
    Mistake(
        "A ledger that is not there",
        "audit --ledger private/ledger.jsonl",
        "Write the path of the file.",
    ),
    Mistake(
        "A key that is not there",
        REPLAY + " --key landmark.key",
        "Make one with `keys new`.",
    ),
    Mistake(
        "Settings that are not there",
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
        "Events first, policies behind --policies.",
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
        "A key in a folder that is not there",
        "keys new a/b.key",
        "Make the folder.",
    ),
    Mistake(
        "The events in place of the ledger",
        "audit --ledger energy.csv",
        "Name ledger.jsonl.",
    ),
    Mistake(
        "A picture of a form that there is not",
        "plan policies.jsonl --picture a.xyz",
        "Write .png or .svg.",
    ),
    Mistake(
        "A picture in a folder that is not there",
        "plan policies.jsonl --picture no/a.png",
        "Make the folder.",
    ),
)
