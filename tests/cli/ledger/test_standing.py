"""``standing``: text, JSON and exit codes, from files and from topics; its figures agree with the ledger's."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from tests.audit.books.test_members import claimed, lines, member
from tests.audit.decided import chains
from tests.audit.test_topic import producing, send, topics
from tests.audit.written import LEDGERS, write
from tests.command import Cli
from tests.run import Run, observation, policy

TEXT = """\
p-17: a person with a limit of 0.00000025; amounts are in epsilon
  reserved   0.00000022, by 2 series, permanently
  left       0.00000003 for new series

p-17/glucose: open; largest loss so far: 0.000000064 (limit 0.0000001)
  policy 1, in force: level landmark, uniform, steps of 1 s
  limit      0.0000001 for all landmarks and any one other step together
  used       0.000000064: 0.000000046 on landmarks, 0.000000018 on the costliest
             other step; others may cost as much without adding to the total
  reserved   0.000000036 for 2 future landmarks, including unused spare
             landmarks
  left       0.0 more
  ends       the last landmark known so far ends 1970-01-01T00:00:12Z; other
             steps continue until the series is closed
  lifetime   0.00000012, reserved by its first entry: 0.000000064 used, a later
             version may have at most 0.000000056

p-17/place: closed; largest loss so far: 0.0000001 (limit 0.0000001)
  policy 1, ended: largest loss so far: 0.0000001 (limit 0.0000001)
  lifetime   0.0000001, reserved by its first entry: 0.0000001 used, nothing
             more is spent
"""
LIST = """\
person       limit    reserved         left  part  series
q        0.0000002   0.0000002          0.0  100 %       1
p-17    0.00000025  0.00000022   0.00000003   88 %       2
p-1              -   0.0000001            -     -       1
"""


def people() -> list[bytes]:
    """Return a ledger with three members: one has two series, one gets its cap last, one has no cap."""
    glucose = write(LEDGERS["uniform"], "p-17/glucose")
    del glucose.entries[9:]  # two landmarks are still to come, and no spare
    return lines(
        member("p-17/", 300, 250),
        claimed(glucose, 120),
        claimed(write(LEDGERS["user"], "p-17/place"), 100),
        claimed(write(LEDGERS["adaptive"], "p-1/x"), 100),
        claimed(write(LEDGERS["distributed"], "q"), 200),
        member("q/", 200),
    )


def save(folder: Path, ledger: list[bytes]) -> list[str]:
    """Write a ledger; return the options that name it."""
    (folder / "ledger.jsonl").write_bytes(b"".join(line + b"\n" for line in ledger))
    return ["--ledger", f"{folder}/ledger.jsonl"]


def document_of(cli: Cli, *words: str) -> Any:
    """Return the JSON document that the command prints."""
    return cli("standing", *words, "--json").document


def test_the_text_of_a_member(tmp_path: Path, cli: Cli) -> None:
    """Every figure was checked by hand; `p-1` and `p-17` are different members."""
    assert cli("standing", "p-17", *save(tmp_path, people())).out == TEXT


def test_the_text_of_a_series(tmp_path: Path, cli: Cli) -> None:
    """The text is the part of the member's text about this series."""
    assert cli("standing", "p-17/place", *save(tmp_path, people())).out == TEXT[TEXT.index("p-17/place") :]


def test_the_list_of_members(tmp_path: Path, cli: Cli) -> None:
    """Members with the largest claimed share of their cap come first; those without a cap come last."""
    options = save(tmp_path, people())
    assert [" ".join(line.split()) for line in cli("standing", "--members", *options).out.splitlines()] == [
        " ".join(line.split()) for line in LIST.splitlines()
    ]
    assert document_of(cli, "--members", *options)["members"][1] == {
        "member": "p-17",
        "cap_nano": 250,
        "claims_nano": 220,
        "left_nano": 30,
        "series": 2,
    }


def test_a_member_who_may_not_begin(tmp_path: Path, cli: Cli) -> None:
    """A cap of zero is a cap, and a member with one is known even without series."""
    options = save(tmp_path, [*people(), *member("p-99/", 0).lines()])
    assert cli("standing", "p-99", *options).out.splitlines() == [
        "p-99: a person with a limit of 0.0; amounts are in epsilon",
        "  reserved   0.0, by 0 series, permanently",
        "  left       0.0 for new series",
    ]
    assert main(["standing", "--members", *options]) == 0
    assert ["p-99", "0.0", "0.0", "0.0", "0", "%", "0"] in map(str.split, cli.said().out.splitlines())


def test_versions_and_lifetimes(tmp_path: Path, cli: Cli) -> None:
    """The first policy's epsilon limits a series without a claim; a named lifetime also limits a claim."""
    [one] = document_of(cli, "home-7", *save(tmp_path, write(LEDGERS["adaptive"]).lines()))["series"]
    assert [(each["version"], each["rules"], each["used_nano"]) for each in one["versions"]] == [
        (1, False, 84),
        (3, True, 16),
    ]
    assert one["lifetime"] == {"from": "first policy", "promised_nano": 100, "used_nano": 100, "left_nano": 0}
    options = save(tmp_path, people())
    for given, said, bound in (((), "claim", 120), (("--lifetime", "1.1e-7"), "lifetime", 110)):
        [one] = document_of(cli, "p-17/glucose", *options, *given)["series"]
        assert (one["lifetime"]["from"], one["lifetime"]["promised_nano"], one["claim_nano"]) == (said, bound, 120)


def test_when_it_ends(tmp_path: Path, cli: Cli) -> None:
    """Level user ends with its length, which starts at its first event; its later steps' budget is held back."""
    written = write(LEDGERS["user"])
    del written.entries[2:]
    options = save(tmp_path, written.lines())
    [version] = document_of(cli, "home-7", *options)["series"][0]["versions"]
    figures = ("used_nano", "landmarks_left", "held_back_nano", "left_nano", "ends_ms")
    assert [version[name] for name in figures] == [25, 3, 75, 0, 6000]
    assert "ends       1970-01-01T00:00:06Z; nothing is spent after that\n" in cli("standing", "home-7", *options).out
    windows = write(LEDGERS["absorbed"])
    del windows.entries[-1]
    assert "ends       not by itself" in cli("standing", "home-7", *save(tmp_path, windows.lines())).out


@pytest.mark.slow
def test_the_figures_are_the_ledgers(ledgers: int) -> None:
    """For folded series, the used amount is S + M of the last figures, R is theirs, and everything adds up."""
    compared = 0
    for true in chains(ledgers):
        inquiry = StandingInquiry(true.entries[0]["series"], true.lifetime_nano)
        inquiry.entries(true.lines())
        [one] = inquiry.answer().series
        assert one.findings == ()
        policies = [entry for entry in true.entries if entry["entry"] == "policy"]
        assert [version.promised_nano for version in one.versions] == [entry["budget_nano"] for entry in policies]
        for version in one.versions:
            mine = [entry for entry in true.entries if entry["policy"] == version.version]
            for last in [entry for entry in mine if "landmarks_left" in entry][-1:]:
                assert version.used_nano == last["landmark_spent_nano"] + last["regular_peak_nano"]
                if version.rules and version.level in ("landmark", "user"):
                    assert version.landmarks_left == last["landmarks_left"]
                    compared += 1
            if version.rules:
                assert version.used_nano + version.held_back_nano + version.left_nano == version.promised_nano
    assert compared > 5


def test_findings(tmp_path: Path, cli: Cli) -> None:
    """The exit code is 1 if the ledger does not hold for the requested series or member."""
    ledger = people()
    forged = [line.replace(b'"cap_nano":250', b'"cap_nano":900') for line in ledger]
    options = save(tmp_path, forged)
    assert "THE LEDGER HAS FAULTS here: 2 findings" in cli("standing", "p-17", *options, code=1).out
    assert main(["standing", "q", *options]) == 0
    assert "DOES NOT HOLD: 2 findings; `audit` lists all findings" in cli("standing", "--members", *options, code=1).out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("home-8",), "home-8: neither a series nor a person in this ledger; check the spelling,"),
        (
            ("p",),
            (
                "p: neither a series nor a person in this ledger; 3 series begin with this name (of other members); "
                "the first is 'p-1/x'"
            ),
        ),
        (("p-17", "--lifetime", "none"), "'none' is not a number"),
        ((), "one of the arguments NAME --members is required"),
        (("p-17", "--members"), "--members and NAME exclude each other"),
    ],
)
def test_unusable_questions(tmp_path: Path, cli: Cli, words: tuple[str, ...], sentence: str) -> None:
    """An unusable question gives exit code 2 and no standard output."""
    try:
        code = main(["standing", *words, *save(tmp_path, people())])
    except SystemExit as error:  # of argparse
        code = int(error.code or 0)
    output = cli.said()
    assert (code, output.out) == (2, "")
    assert sentence in output.err


def test_unusable_files(tmp_path: Path, cli: Cli) -> None:
    """A missing file and a file with aborted entries are both refused."""
    assert "specify a readable file" in cli("standing", "p-17", "--ledger", f"{tmp_path}/nothing", code=2).err
    assert main(["standing", "p-17", *save(tmp_path, [b'{"ledger":"uncommitted"}', *people()])]) == 2
    assert "was read with --uncommitted" in cli.said().err


async def test_from_topics(broker: LocalBroker, tmp_path: Path, cli: Cli) -> None:
    """The topic comes from a real broker, and no file is named."""
    names = await topics(broker, "standing")
    async with producing(broker, "standing") as producer, producer.transaction():
        await send(producer, names, claimed(write(LEDGERS["user"], "p/place"), 100), 1)
        await send(producer, names, member("p/", 150), 1)
    config = tmp_path / "settings.toml"
    config.write_text(f'bootstrap_servers = "{broker.bootstrap_servers}"\nprefix = "standing"\npartitions = 2\n')
    assert await asyncio.to_thread(main, ["standing", "p", "--json", "--config", str(config)]) == 0
    assert cli.said().document["member"]["left_nano"] == 50
    assert await asyncio.to_thread(main, ["standing", "--members", "--config", str(config)]) == 0
    assert cli.said().out.splitlines()[1].split()[0] == "p"


def test_windows_and_renewals(tmp_path: Path, cli: Cli) -> None:
    """Landmarks and steps in a row count with the largest window; only the next renewal bound is mentioned."""
    protection = {"level": "landmark", "step": 1000, "landmarks": [9000], "window": 2}
    run = Run().feed_all(
        [
            policy("home-7", epsilon=1e-7, protection=protection, renew=[3000, 9000]),
            *(observation("home-7", 1000 * step, 1) for step in (1, 2, 3)),
        ]
    )
    ledger = save(tmp_path, run.ledger)
    [version] = document_of(cli, "home-7", *ledger)["series"][0]["versions"]
    last = json.loads(run.ledger[-1])
    assert (version["window"], version["renews_ms"], version["regular_peak_nano"]) == (
        2,
        9000,
        last["regular_peak_nano"],
    )
    assert version["promised_nano"] == version["used_nano"] + version["held_back_nano"] + version["left_nano"]
    said = " ".join(cli("standing", "home-7", *ledger).out.split())
    assert "limit 0.0000001 for all landmarks and any 2 steps in a row together" in said
    assert " in the costliest window; others may cost as much without adding to the total" in said
    assert "renewed by the first event from 1970-01-01T00:00:09Z on, if the lifetime has room" in said
