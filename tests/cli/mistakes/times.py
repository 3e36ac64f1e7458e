"""Mistakes about times: units, zones, formats, and steps or landmarks that do not match the data."""

from tests.cli.mistakes.mistake import REPLAY, Mistake, in_csv, in_policies, in_records, policy, records, rows

TIMES = (
    in_csv("Times of a CSV in seconds", "Add --time-format s.", rows(1338566400, 1338570000, 1338573600)),
    in_csv("Times of a CSV in seconds, with decimals", "Add --time-format s.", rows("1338566400.0", "1338570000.0")),
    in_csv(
        "Times of a CSV in microseconds",
        "Add --time-format us.",
        rows(1338566400000000, 1338570000000000),
    ),
    in_csv(
        "Times of a CSV in nanoseconds, as pandas has them",
        "Add --time-format ns.",
        rows(1338566400000000000),
    ),
    in_records(
        "Times of records in seconds", "Write milliseconds: times 1,000.", records(1338566400, 1338570000, 1338573600)
    ),
    in_records("Times of records in microseconds", "Write milliseconds: divide by 1,000.", records(1338566400000000)),
    in_records(
        "Times of records as ISO 8601", "Records hold integers; a CSV takes ISO 8601.", records("2012-06-01T16:00:00Z")
    ),
    in_records("Times of records as text", "Remove the quotes.", records("1338566400000")),
    in_csv("ISO 8601 without a zone", "Name the zone.", rows("2012-06-01T16:00:00Z", "2012-06-01T17:00:00")),
    in_csv("A space in place of the T, and no zone", "Name the zone.", rows("2012-01-02 03:04")),
    in_csv("A day as a time", "Name the zone.", rows("2012-01-02")),
    in_csv("Days with slashes", "Add --time-format.", rows("02/01/2012", "03/01/2012")),
    in_csv("Days with points, and hours", "Add --time-format.", rows("02.01.2012 16:00")),
    in_csv("Years first, with slashes", "Add --time-format.", rows("2012/01/02 03:04")),
    in_csv("Times as in e-mails (RFC 2822)", "Add --time-format.", 'time,kwh\n"Mon, 02 Jan 2012 03:04:00 +0100",1.2\n'),
    in_csv("Months by name", "Add --time-format.", rows("Jan 2 2012 03:04")),
    in_csv(
        "One invalid time",
        "Fix that line; the others are processed.",
        rows("2012-06-01T16:00:00Z", "noon", "2012-06-01T18:00:00Z"),
    ),
    in_csv("A time before 1970", "Omit the row.", rows(-5)),
    in_csv(
        "Rows that are not sorted by time",
        "Sort the file.",
        rows("2012-06-01T17:00:00Z", "2012-06-01T16:00:00Z", "2012-06-01T18:00:00Z"),
    ),
    in_csv(
        "The newest rows first",
        "Nothing: the file is read from its end.",
        rows("2012-06-01T18:00:00Z", "2012-06-01T17:00:00Z", "2012-06-01T16:00:00Z"),
        code=0,
    ),
    in_policies(
        "Landmarks in seconds",
        "Write milliseconds.",
        policy(protection__landmarks=[[1338570000, 1338580800]]),
        command=REPLAY,
    ),
    Mistake(
        "Landmarks in seconds, sent",
        "policy policies.jsonl --config my.toml",
        "Write milliseconds, in a later version.",
        {
            "policies.jsonl": policy(protection__landmarks=[1338570000]),
            "my.toml": 'bootstrap_servers = "127.0.0.1:1"\n',
        },
    ),
    in_policies(
        "Landmarks in microseconds",
        "Write milliseconds.",
        policy(protection__landmarks=[[1338570000000000, 1338580800000000]]),
    ),
    in_policies("A step in seconds", "Write milliseconds.", policy(protection__step=3600), command=REPLAY, code=0),
    in_policies(
        "A step in seconds, checked before there are data", "Write milliseconds.", policy(protection__step=3600), code=0
    ),
    in_policies("A step in microseconds", "Write milliseconds.", policy(protection__step=3600000000), command=REPLAY),
    in_policies(
        "No step: one is 1 ms", "Add the length of a step.", policy(protection__step=None), command=REPLAY, code=0
    ),
    in_policies(
        "Landmarks out of the data's range",
        "Compare zones, years and units.",
        policy(protection__landmarks=[[1438570000000, 1438580800000]]),
        command=REPLAY,
    ),
    in_policies(
        "Landmarks without a zone",
        "Name the zone.",
        policy(protection__landmarks=["2012-06-01T17:00/2012-06-01T20:00"]),
    ),
    Mistake(
        "Late landmarks without a zone",
        "landmarks home-7 --add 2012-06-01T17:00 --dry-run",
        "Name the zone, with --zone or in the time.",
    ),
    Mistake(
        "Late landmarks in seconds",
        "landmarks home-7 --add 1338570000 --dry-run",
        "Write milliseconds.",
        code=0,
    ),
)
