"""Mistakes in the command line itself."""

from tests.cli.mistakes.mistake import REPLAY, Mistake

COMMANDS = (
    Mistake(
        "A command mistyped",
        "repaly energy.csv",
        "Write the command that is meant.",
    ),
    Mistake(
        "No command",
        "",
        "Name a command.",
    ),
    Mistake(
        "A sub-command mistyped",
        "kafka sart",
        "Write the one that is meant.",
    ),
    Mistake(
        "A topic in the singular",
        "read release",
        "Write the one that is meant.",
    ),
    Mistake(
        "An option mistyped",
        REPLAY.replace("--policies", "--polices"),
        "Write the option that is meant.",
    ),
    Mistake(
        "A choice that there is not",
        "read releases --from begin",
        "Take one of those.",
    ),
    Mistake(
        "An option without its value",
        "replay energy.csv --out",
        "Add the value.",
    ),
    Mistake(
        "Columns with a space between them",
        REPLAY.replace("kwh", "latitude longitude"),
        "Join them by a comma alone.",
    ),
    Mistake(
        "Words where a number belongs",
        "read releases --limit ten",
        "Write digits.",
    ),
    Mistake(
        "A shell that there is not",
        "completion tcsh",
        "Take one of those.",
    ),
    Mistake(
        "Nothing to register",
        "landmarks home-7",
        "Say --add or --ics.",
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
        "Data to evaluate without a policy",
        "evaluate energy.csv",
        "Name the policy.",
    ),
    Mistake(
        "A CSV in place of matrices",
        "loss energy.csv",
        "Write JSON.",
    ),
    Mistake(
        "Matrices with a comma too many",
        "loss my.json",
        "Leave it away.",
        {"my.json": '{"backward": null,\n "epsilons": [1, 1],}\n'},
    ),
    Mistake(
        "Data to learn from that are not there",
        "correlate energi.csv --series home-7 --timestamp-column time --value-columns kwh",
        "Write the path of the file.",
    ),
    Mistake(
        "A public key that is not there",
        "audit --ledger energy.csv --heads energy.csv --public-key signer.pub",
        "Write the path of the file.",
    ),
    Mistake(
        "Brokers that are away",
        "read releases --config my.toml",
        "Start them, or name others.",
        {"my.toml": 'bootstrap_servers = "127.0.0.1:1"\n'},
    ),
    Mistake(
        "Brokers at a port that is none",
        "read releases --config my.toml",
        "Write HOST:PORT.",
        {"my.toml": 'bootstrap_servers = "kafka:localhost"\n'},
    ),
    Mistake(
        "A local broker at a port that is none",
        "kafka start --port 99999",
        "Take one up to 65535.",
    ),
    Mistake(
        "A local broker in a file",
        "kafka start --folder energy.csv",
        "Name a folder.",
    ),
    Mistake(
        "Pages at a port that is none",
        "docs --http-port 99999",
        "Take one up to 65535.",
    ),
    Mistake(
        "A watermark that lags for ever",
        "watermark home-7 --lag inf",
        "Say how many seconds.",
    ),
    Mistake(
        "A range of dummies that is no JSON",
        "dummies energy.csv",
        "Write JSON.",
    ),
    Mistake(
        "A broker setting without its value",
        "kafka start --set log.retention.hours",
        "Write NAME=VALUE.",
    ),
)
