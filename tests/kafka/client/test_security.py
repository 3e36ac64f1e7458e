"""TLS, SCRAM, client certificates and ACLs on a real broker that denies by default, with each role's needs."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from stream_app.kafka.provision import ROLES, Access, Operation, needs
from stream_app.setup.settings import Settings
from tests.kafka.client.guarded import BEFORE_LANDMARKS, Guarded
from tests.kafka.client.secured import PASSWORD, Authority, secured_broker
from tests.kafka.installation import POLICY, readings
from tests.kafka.workerprocess import WorkerProcess
from tests.patience import awaited

ONLY_WITH_LOST_INPUT = {
    Access("topic", f"guarded.{topic}", "Write") for topic in ("ledger", "releases")
}  # what `recover` adopts of an aborted batch, which only --accept-lost-input can ask for


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Run a broker whose operator made the topics, whose roles have their rights, and whose worker has decided.

    Commands that recover or audit then find something, whichever test runs first.
    """
    folder = tmp_path_factory.mktemp("guarded")
    with secured_broker(folder / "broker", ROLES) as secured:
        guarded = Guarded(secured, folder)
        assert main(["keys", "new", str(folder / "noise.key")]) == 0
        assert main(["keys", "new", str(folder / "signing.key"), "--signing"]) == 0
        (folder / "policies.jsonl").write_text(json.dumps(POLICY) + "\n")
        for role in ROLES:
            secured.allow(role, guarded.needs(role))
        assert guarded.run("operator", "topics") == 0
        (folder / "public.pem").write_text(SigningKey.load(folder / "signing.key").public_pem())
        guarded.send(10)
        with guarded.worker() as worker:
            worker.await_committed(guarded.sent)
            assert guarded.run("producer", "watermark", "home-1", "--at", "0") == 0  # whoever reads rejects finds one
            guarded.send(1)
            worker.await_committed(guarded.sent)
            assert worker.stop() == 0, worker.said()
        yield guarded


def decided(guarded: Guarded, worker: WorkerProcess, capfdbinary: pytest.CaptureFixture[bytes]) -> list[Any]:
    """Wait until a worker has decided all that was sent; return the releases, read by the reader."""

    def read() -> list[Any]:
        capfdbinary.readouterr()
        assert guarded.run("reader", "read", "releases") == 0
        found = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
        assert len(found) >= guarded.sent or worker.process.poll() is None, worker.said()[-3000:]
        return found if len(found) >= guarded.sent else []

    found = awaited(read, worker.said)
    assert len({(one["series"], one["timestamp"]) for one in found}) == len(found) == guarded.sent
    return found


def test_every_role_with_what_it_needs(guarded: Guarded, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Topics, events, releases, audit, explanation, recovery and erasure each work for a user of their own."""
    guarded.send(40)
    with guarded.worker() as worker:
        releases = decided(guarded, worker, capfdbinary)
        assert worker.stop() == 0, worker.said()
    assert "not authorized" not in worker.said().lower()
    assert PASSWORD not in worker.said()
    public = guarded.folder / "public.pem"
    assert guarded.run("auditor", "audit", "--heads", "--public-key", str(public)) == 0
    first = releases[0]
    assert guarded.run("auditor", "explain", first["series"], str(first["timestamp"])) == 0
    assert guarded.run("eraser", "keys", "erase", str(guarded.folder / "noise.key"), "--before", "1", "--dry-run") == 0
    assert guarded.run("recoverer", "recover") == 0
    assert guarded.run("recoverer", "read", "events") == 0
    guarded.send(10)
    with guarded.worker(certified=True) as worker:  # now by certificate: the same name
        decided(guarded, worker, capfdbinary)
        assert worker.stop() == 0, worker.said()
    assert guarded.run("auditor", "audit", "--heads", "--public-key", str(public)) == 0
    for role in ("worker", "auditor", "eraser", "recoverer"):
        unused = set(guarded.needs(role)) - guarded.secured.used(role)
        assert unused == (ONLY_WITH_LOST_INPUT if role == "recoverer" else set()), role


def commands_of(guarded: Guarded, role: str) -> Iterable[tuple[str, ...]]:
    """Return the commands for which a role exists."""
    events = guarded.folder / "one.jsonl"
    events.write_text("".join(json.dumps(event) + "\n" for event in readings(1)))  # late by now: rejected
    file = str(guarded.folder / "noise.key")
    commands: Mapping[str, Iterable[tuple[str, ...]]] = {
        "producer": [("send", str(events), *BEFORE_LANDMARKS), ("watermark", "home-1", "--at", "0")],
        "recoverer": [("recover",)],
        "eraser": [("keys", "erase", file, "--before", "1", "--dry-run")],
        "reader": [("read", "releases", "--limit", "1")],
        "auditor": [("audit", "--heads", "--public-key", str(guarded.folder / "public.pem"))],
    }
    return commands[role]


def test_backups_need_no_role_of_their_own(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    """Users who may recover may read all events and rejects; users who may send may send them again.

    Sending them again works only where nothing was sent before.
    """
    files = []
    for topic in ("events", "rejects"):
        capfd.readouterr()
        assert guarded.run("recoverer", "read", topic) == 0
        files.append(guarded.folder / f"{topic}.backup")
        files[-1].write_text(capfd.readouterr().out)
        assert files[-1].read_text().splitlines()[-1].startswith('{"end":{')
    assert guarded.run("producer", "resend", str(files[0]), "--rejects", str(files[1])) == 2
    assert "must come first" in capfd.readouterr().err


def test_a_worker_may_check_the_topics(guarded: Guarded) -> None:
    """Its pod does so before it starts (deploy/kubernetes/worker.yaml), without the operator's rights."""
    assert guarded.run("worker", "topics", "--check") == 0


@pytest.mark.parametrize("role", [role for role in ROLES if role not in ("operator", "worker", "registrar")])
def test_no_role_is_given_more_than_it_needs(guarded: Guarded, role: str) -> None:
    """If any right is removed from a role, one of the role's commands fails."""
    needed = guarded.needs(role)
    for taken in needed:
        if role == "recoverer" and taken in ONLY_WITH_LOST_INPUT:
            continue
        guarded.secured.allow(role, [access for access in needed if access != taken])
        assert any(guarded.run(role, *words) != 0 for words in commands_of(guarded, role)), taken
    guarded.secured.allow(role, needed)
    assert all(guarded.run(role, *words) == 0 for words in commands_of(guarded, role))


def test_who_registers_landmarks_may_read_the_answer(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    """Users who cannot ask for the answer send nothing; with all rights, and no worker, it is sent and awaited."""
    landmarks = ("landmarks", "home-1", "--add", "5", "--wait", "0.1")
    file = guarded.folder / "waiting.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in readings(1)))
    sending = ("send", str(file), *BEFORE_LANDMARKS, "--wait", "0.1")

    def held() -> int:
        capfd.readouterr()
        assert guarded.run("recoverer", "read", "events") == 0
        return len(capfd.readouterr().out.splitlines())

    needed = guarded.needs("registrar")
    before = held()
    for taken in needed:
        guarded.secured.allow("registrar", [access for access in needed if access != taken])
        capfd.readouterr()
        for words in (sending,) if taken.resource == "group" else (landmarks, sending):
            assert guarded.run("registrar", *words) == 2, taken
            said = capfd.readouterr().err
            assert said.startswith(f"landmark-stream {words[0]}: nothing was sent: brokers at "), said
            assert f"user registrar is not allowed to do this ({taken.resource} {taken.name}). Allow it: " in said, said
            assert said.endswith("; waiting for answers needs the role registrar\n")
            assert "topics --acls" in said
    assert guarded.run("producer", *sending) == 2
    assert held() == before
    ledger = Access("topic", f"{guarded.name}.ledger", "Read")
    guarded.secured.allow("registrar", [*needed, ledger._replace(operation="Describe")])
    guarded.secured.allow("registrar", [*(set(needed) - {ledger}), ledger._replace(operation="Describe")])
    capfd.readouterr()
    assert guarded.run("registrar", *landmarks) == 2, "who may ask for the ledger's end, but not read it"
    said = capfd.readouterr().err
    assert re.match(r"landmark-stream landmarks: sent \(partition 0, offset [0-9]+\), so do not send it again", said)
    assert f"user registrar is not allowed to do this (topic {ledger.name})" in said
    assert held() == before + 1
    guarded.secured.allow("registrar", needed)
    assert guarded.run("registrar", *landmarks) == 3
    assert guarded.run("registrar", *sending) == 3


def test_the_operator_is_given_no_more_than_it_needs(guarded: Guarded) -> None:
    """It cannot create what it may not create, and reports as wrong what it may not look at."""
    for taken in guarded.needs("operator"):
        # A topic that is there needs not be made: making is tried where none is.
        name = f"fresh-{guarded.name}" if taken.operation == "Create" else guarded.name
        if taken.operation == "Create" and not taken.name.endswith("ledger"):
            continue  # the others were made at the first attempt
        needed = needs("operator", Settings.load(guarded.config("operator", prefix=name, application=name)))
        without = taken._replace(name=taken.name.replace(guarded.name, name))
        guarded.secured.allow("operator", [access for access in needed if access != without])
        assert guarded.run("operator", "topics", prefix=name, application=name) == 2, taken
    guarded.secured.allow("operator", guarded.needs("operator"))


@pytest.mark.long
def test_a_worker_is_given_no_more_than_it_needs(guarded: Guarded, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """If any right is removed, the worker ends by itself and names it; a worker that has it again continues."""
    needed = guarded.needs("worker")
    for taken in needed:
        guarded.secured.allow("worker", [access for access in needed if access != taken])
        guarded.send(1)
        assert guarded.run("producer", "watermark", "home-1", "--at", "0") == 0  # rejected
        with guarded.worker() as worker:
            assert worker.await_end() in (1, 2), taken
            assert taken.name in worker.said(), taken
            assert "allow" in worker.said().lower(), taken
            assert "Report this as a bug" not in worker.said(), taken
    guarded.secured.allow("worker", needed)
    with guarded.worker() as worker:
        decided(guarded, worker, capfdbinary)
        assert worker.stop() == 0


@pytest.mark.parametrize("operation", ["Write", "Read"])
def test_a_running_worker_that_loses_a_right(
    guarded: Guarded, capfdbinary: pytest.CaptureFixture[bytes], operation: Operation
) -> None:
    """The worker ends and says why; nothing is decided twice or lost once it has the right again."""
    needed = guarded.needs("worker")
    taken = Access("topic", f"{guarded.name}.{'ledger' if operation == 'Write' else 'events'}", operation)
    assert taken in needed
    with guarded.worker() as worker:
        guarded.send(5)
        decided(guarded, worker, capfdbinary)
        guarded.secured.allow("worker", [access for access in needed if access != taken])
        guarded.send(5)
        assert worker.await_end() == 1
        assert worker.said().rstrip().endswith("stream_app.kafka.worker: stopped")  # by itself, with nothing amiss
        assert "forcing the exit." not in worker.said()
        assert f"TopicAuthorizationFailedError({taken.name!r})" in worker.said().replace("{", "").replace("}", "")
    guarded.secured.allow("worker", needed)
    with guarded.worker() as worker:
        decided(guarded, worker, capfdbinary)
        assert worker.stop() == 0
    assert guarded.run("auditor", "audit") == 0


def test_refusals_say_what_to_do(guarded: Guarded, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A wrong password, foreign certificate, other host name or missing right: exit 2, remedy, no password."""
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("not-the-password")
    stranger = Authority.make(tmp_path, "stranger")
    certificate, key = stranger.sign("reader")
    by_name = guarded.secured.sasl.replace("127.0.0.1", "localhost")
    shown = {"certificate_file": str(certificate), "certificate_key_file": str(key)}
    cases: list[tuple[str, tuple[str, ...], dict[str, Any], tuple[str, ...]]] = [
        (
            "producer",
            ("watermark", "home-1"),
            {"sasl_password_file": str(wrong)},
            ("user producer", "sasl_password_file"),
        ),
        ("auditor", ("audit",), {"sasl_password_file": str(wrong)}, ("user auditor", "sasl_password_file")),
        ("operator", ("topics",), {"ca_file": str(stranger.file)}, ("not trusted", "ca_file")),
        ("producer", ("watermark", "home-1"), {"bootstrap_servers": by_name}, ("localhost", "bootstrap_servers")),
        ("reader", ("read", "releases"), shown, ("certificate_file, which must be trusted",)),
        ("reader", ("read", "ledger"), {}, ("reader.crt", "guarded.ledger", "topics --acls")),
        ("eraser", ("topics", "--check"), {}, ("user eraser", "topics --acls")),
        ("producer", ("recover",), {}, ("user producer", "topics --acls")),
        ("producer", ("audit",), {}, ("guarded.ledger", "topics --acls")),
        ("producer", ("landmarks", "home-1", "--add", "5"), {}, ("guarded.ledger", "topics --acls")),
    ]
    for role, words, more, remedies in cases:
        capfd.readouterr()
        assert guarded.run(role, *words, **more) == 2, (role, words)
        said = capfd.readouterr().err
        assert all(remedy in said for remedy in remedies), (role, words, said)
        assert "Traceback" not in said
        assert "Unclosed" not in said
        assert PASSWORD not in said
        assert "not-the-password" not in said
