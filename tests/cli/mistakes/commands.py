"""Mistakes in the command line itself."""

from tests.cli.mistakes.mistake import REPLAY, Mistake

COMMANDS = (
    Mistake(
        "A command mistyped",
        "repaly energy.csv",
        "Write the command that you mean.",
    ),
    Mistake(
        "No command",
        "",
        "Name a command.",
    ),
    Mistake(
        "A sub-command mistyped",
        "kafka sart",
        "Write the one that you mean.",
    ),
    Mistake(
        "A topic in the singular",
        "read release",
        "Write the one that you mean.",
    ),
    Mistake(
        "An option mistyped",
        REPLAY.replace("--policies", "--polices"),
        "Write the option that you mean.",
    ),
    Mistake(
        "An unknown choice",
        "read releases --from begin",
        "Use one of those.",
    ),
    Mistake(
        "An option without a value",
        "replay energy.csv --out",
        "Add the value.",
    ),
    Mistake(
        "Columns with a space between them",
        REPLAY.replace("kwh", "latitude longitude"),
        "Join them by a comma without spaces.",
    ),
    Mistake(
        "Words where a number belongs",
        "read releases --limit ten",
        "Write digits.",
    ),
    Mistake(
        "An unknown shell",
        "completion tcsh",
        "Use one of those.",
    ),
    Mistake(
        "Nothing to register",
        "landmarks home-7",
        "Add --add or --ics.",
    ),
    Mistake(
        "A zone mistyped",
        "landmarks home-7 --add 2026-01-01 --zone Europe/Pariss --dry-run",
        "Write a zone of the IANA database.",
    ),
    Mistake(
        "A watermark at no time",
        "watermark home-7 --at noon",
        "Write a time.",
    ),
    Mistake(
        "A CSV in place of matrices",
        "loss energy.csv",
        "Write JSON.",
    ),
    Mistake(
        "Matrices with a comma too many",
        "loss my.json",
        "Remove it.",
        {"my.json": '{"backward": null,\n "epsilons": [1, 1],}\n'},
    ),
    Mistake(
        "Missing data to learn from",
        "correlate energi.csv --series home-7 --timestamp-column time --value-columns kwh",
        "Write the path of the file.",
    ),
    Mistake(
        "A missing public key",
        "audit --ledger energy.csv --heads energy.csv --public-key signer.pub",
        "Write the path of the file.",
    ),
    Mistake(
        "Brokers that do not answer",
        "read releases --config my.toml",
        "Start them, or name others.",
        {"my.toml": 'bootstrap_servers = "127.0.0.1:1"\n'},
    ),
    Mistake(
        "Brokers with an invalid port",
        "read releases --config my.toml",
        "Write HOST:PORT.",
        {"my.toml": 'bootstrap_servers = "kafka:localhost"\n'},
    ),
    Mistake(
        "An invalid port of a local broker",
        "kafka start --port 99999",
        "Use one up to 65535.",
    ),
    Mistake(
        "A local broker in a file",
        "kafka start --folder energy.csv",
        "Name a folder.",
    ),
    Mistake(
        "An invalid port",
        "kafka start --port 99999",
        "Use one up to 65535.",
    ),
    Mistake(
        "A watermark with an infinite lag",
        "watermark home-7 --lag inf",
        "Write a number of seconds.",
    ),
    Mistake(
        "A range of dummies that is not JSON",
        "dummies energy.csv",
        "Write JSON.",
    ),
    Mistake(
        "A broker setting without a value",
        "kafka start --set log.retention.hours",
        "Write NAME=VALUE.",
    ),
)
