"""Files and the command: read side by side in bounded memory, with verdict first and agreed exit codes."""

from functools import partial
from operator import ne
from pathlib import Path

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_app.audit import Auditor
from stream_app.audit.files import LONGEST_LINE, read_files
from stream_app.audit.finding import LISTED
from stream_app.cli import main
from tests.audit.ways import audit, codes
from tests.audit.written import LEDGERS, Written, renumber, seal, write
from tests.command import Cli

BOTH = ("audit", "--ledger", "ledger.jsonl", "--releases", "releases.jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a true ledger and its releases, in which commands run."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, write(LEDGERS["uniform"]))
    return tmp_path


def save(folder: Path, written: Written) -> None:
    """Write the two files."""
    (folder / "ledger.jsonl").write_bytes(b"".join(line + b"\n" for line in written.lines()))
    (folder / "releases.jsonl").write_bytes(b"".join(line + b"\n" for line in written.release_lines()))


@pytest.mark.usefixtures("folder")
def test_a_true_ledger_exits_0(cli: Cli) -> None:
    """The verdict is the first line."""
    assert cli(*BOTH).out.startswith("HOLDS: no findings\n")


WHOLE = {
    "holds": True,
    "audited": True,
    "series": 1,
    "entries": 14,
    "findings": [],
    "remarks": [],
    "counts": {},
    "broken": {"promise": 0, "books": 0},
    "used": {"series": "home-7", "policy": 1, "used_nano": 100, "epsilon_nano": 100},
    "summed_nano": 148,
    "keys": {"used": {"0123456789abcdef": 1}, "changed_series": 0, "changes": []},
}
"""The output of ``--json`` for a ledger that holds."""


def test_a_claim_is_no_entry(folder: Path, cli: Cli) -> None:
    """In its exact form it is ignored anywhere; in any other form it is an unknown entry."""
    claim = b'{"entry":"claim","application":"landmark-stream","prefix":"landmark"}\n'
    lines = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_bytes(b"".join([claim, *lines[:5], claim, *lines[5:], claim]))
    assert cli(*BOTH, "--json").document == WHOLE
    (folder / "ledger.jsonl").write_bytes(claim)
    assert main([*BOTH[:3]]) == 3
    longer = claim.replace(b'"}', b'","spent":1}')
    for other in (longer, claim.replace(b":", b": ", 1), claim.replace(b'"landmark"', b"1")):
        (folder / "ledger.jsonl").write_bytes(b"".join([*lines, other]))
        cli.said()
        assert [finding["code"] for finding in cli(*BOTH, "--json", code=1).document["findings"]] == ["unknown-entry"]


def test_the_json_contract(folder: Path, cli: Cli) -> None:
    """The members are exactly those agreed, with findings as objects."""
    assert cli(*BOTH, "--json").document == WHOLE
    written = write(LEDGERS["uniform"])
    del written.entries[2]
    save(folder, written)
    report = cli(*BOTH, "--json", code=1).document
    assert report["holds"] is False
    assert report["findings"][0] == {
        "code": "gap",
        "series": "home-7",
        "sequence": 4,
        "message": "sequence 3 is missing before this entry",
    }


def test_findings_exit_1(folder: Path, cli: Cli) -> None:
    """The verdict states the number of findings, and each has its code, series and sequence."""
    written = write(LEDGERS["uniform"])
    written.releases[0]["value"] = 9.0
    save(folder, written)
    lines = cli(*BOTH, code=1).out.splitlines()
    assert lines[0] == "DOES NOT HOLD: 1 finding"
    assert lines[1:3] == [
        (
            "guarantee violated: no finding says so, but a ledger with integrity errors cannot show that the guarantee "
            "holds"
        ),
        "integrity errors: changed-release 1",
    ]
    assert lines[4].startswith("changed-release  home-7 #2  ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ledger", "no-such-file"],
        ["--ledger", "."],
        ["--releases", "releases.jsonl"],
        ["--ledger", "releases.jsonl"],
        ["--ledger", "ledger.jsonl", "--no-releases"],
        ["--ledger", "ledger.jsonl", "--picture", "no-such-folder/picture.png"],
        ["--ledger", "ledger.jsonl", "--picture", "picture.nonsense"],
        ["--ledger", "ledger.jsonl", "--picture", "."],
        ["--ledger", "ledger.jsonl", "--picture", "picture"],
        ["--config", "no-such-file"],
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_read_exits_2(arguments: list[str], cli: Cli) -> None:
    """No report is printed, and the error names what to fix."""
    captured = cli("audit", *arguments, code=2)
    assert captured.out == ""
    assert captured.err.startswith("landmark-stream audit: ")


@pytest.mark.parametrize("lifetime", ["0", "-1", "nan", "much", "1e309", "1e9999", "1e999999999"])
@pytest.mark.usefixtures("folder")
def test_a_lifetime_is_a_number_above_0(cli: Cli, lifetime: str) -> None:
    """The error names the argument."""
    cli.ended(*BOTH, f"--lifetime={lifetime}")


@pytest.mark.usefixtures("folder")
def test_a_lifetime_is_heeded(cli: Cli) -> None:
    """If it is below the first epsilon, even the first policy is too much."""
    cli(*BOTH, "--lifetime", "1e-7")
    cli(*BOTH, "--lifetime", "9.9e-8", code=1)


def test_the_lifetime_needed_is_told(folder: Path, cli: Cli) -> None:
    """A ledger lacks the lifetime it was written under; the report says which would do, and that one does."""
    written = write(LEDGERS["adaptive"])
    policy = next(entry for entry in written.entries if entry["policy"] == 3)
    policy["parameters"]["epsilon"], policy["budget_nano"] = 5e-8, 50
    del written.entries[written.entries.index(policy) + 1 :]
    renumber(written)
    (folder / "ledger.jsonl").write_bytes(b"\n".join(written.lines()))
    audit = BOTH[:3]
    assert (
        "need a lifetime of epsilon 0.000000134 (home-7); if lifetime_epsilon was set to that much"
        in cli(*audit, code=1).out
    )
    assert main([*audit, "--lifetime", "1.33e-7"]) == 1
    assert main([*audit, "--lifetime", "1.34e-7"]) == 0
    config = folder / "configuration.toml"
    config.write_text("lifetime_epsilon = 1.34e-7\n")
    cli.said()
    assert "; epsilon 0.000000134 is allowed" in cli(*audit, "--config", config).out


def test_a_picture_is_drawn(folder: Path, cli: Cli) -> None:
    """If matplotlib is installed, the file is written in the format of its name."""
    pytest.importorskip("matplotlib")
    cli(*BOTH, "--picture", "picture.png")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_odd_ends_of_lines(folder: Path, cli: Cli) -> None:
    """Empty lines and carriage returns are not records; a last line needs no end; half a line is a finding."""
    lines = write(LEDGERS["uniform"]).lines()
    ledger = folder / "ledger.jsonl"
    ledger.write_bytes(b"\r\n\n".join(lines))
    cli(*BOTH)
    ledger.write_bytes(b"\n".join([*lines[:-1], lines[-1][:50]]))
    cli(*BOTH, code=1)


def test_a_giant_line_is_one_finding(tmp_path: Path) -> None:
    """A line too long for any record is skipped without loading it into memory, and the next lines are read."""
    lines = write(LEDGERS["uniform"]).lines()
    ledger = tmp_path / "ledger.jsonl"
    giant = b'{"series":"' + b"x" * (3 * LONGEST_LINE)
    ledger.write_bytes(b"\n".join([lines[0], giant, *lines[1:]]))
    auditor = Auditor()
    assert read_files(auditor, ledger, None) == len(lines) + 1
    report = auditor.finish()
    assert [finding.code for finding in report.findings] == ["malformed-entry"]
    assert report.entries == len(lines)


def test_findings_are_bounded(tmp_path: Path) -> None:
    """A hostile ledger cannot fill the memory with findings: further ones are only counted."""
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(write(LEDGERS["uniform"]).lines()[0] + b"\nno entry" * (LISTED + 7))
    auditor = Auditor()
    read_files(auditor, ledger, None)
    report = auditor.finish()
    assert (len(report.findings), report.found) == (LISTED + 1, LISTED + 7)
    assert report.findings[-1].code == "unlisted"
    assert report.findings[-1].message == "7 further findings"


@given(st.binary(max_size=45))  # a byte too short for a claim
@example(b'{"":""}')
@example(b'{"entry":"close"}')
@example(b'{"entry":[]}')
def test_any_bytes_are_answered(data: bytes) -> None:
    """Bytes that are no record are findings, never errors; an object of unknown kind is an unknown entry."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = None
    kinds = ("release", "policy", "dummies", "landmarks", "intrusion", "close")
    unknown = isinstance(found, dict) and found.get("entry") not in kinds
    report = audit([data], [data])
    assert codes(report) == {"unknown-entry" if unknown else "malformed-entry", "malformed-release"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(list(LEDGERS)), st.data())
def test_any_member_of_any_type_is_answered(name: str, data: st.DataObject) -> None:
    """Whatever a member contains, resealed or not, the audit ends with a finding, never with an error."""
    written = write(LEDGERS[name])
    lines, releases = written.lines(), written.release_lines()
    for records, forged in ((written.entries, lines), (written.releases, releases)):
        place = data.draw(st.integers(0, len(records) - 1))
        record = dict(records[place])
        member = data.draw(st.sampled_from(sorted(record)))
        record[member] = data.draw(json_values.filter(partial(ne, record[member])))
        forged[place] = orjson.dumps(record)
    assert not audit(lines, releases).holds


@given(st.recursive(json_values, lambda inner: st.fixed_dictionaries({"protection": inner, "value": inner})))
def test_any_parameters_are_answered(parameters: object) -> None:
    """Parameters of any shape are either unknown terms or a malformed entry."""
    written = write(LEDGERS["event"])
    written.entries[0]["parameters"] = parameters
    assert not audit(seal(written).lines()).holds
