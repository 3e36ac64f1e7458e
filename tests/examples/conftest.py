"""What the tests of the examples share: an installation, made once."""

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.examples.published import (
    HOURS,
    PARTITIONS,
    POLICIES,
    Published,
    aborted,
    committed,
    compiled,
    observations,
    of_a_later_version,
    of_the_same_steps,
    produced,
    producers,
    read,
    strays,
)
from tests.kafka.installation import Installation
from tests.programs import program


@pytest.fixture(scope="session")
def published(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Published:
    """Let every producer send, a worker process records and die in a transaction, and the next one continue."""
    for needed in ("kcat", "jq", "javac"):
        program(needed)
    folder = tmp_path_factory.mktemp("examples")
    more = {"policies": POLICIES}
    installation = Installation(broker, folder / "run", f"{folder.name}-{worker_id}", PARTITIONS, more=more)
    commands = producers(compiled(folder / "classes"))
    with installation.worker() as worker:
        sent = strays(installation, folder) + send(installation, commands, range(HOURS))
        worker.await_committed(sent)
        assert worker.stop() == 0, worker.said()[-3000:]
    hidden = aborted(installation, of_the_same_steps(installation))
    with installation.worker() as worker:
        sent += send(installation, commands, range(HOURS, 2 * HOURS))
        worker.await_committed(sent)
        assert worker.stop() == 0, worker.said()[-3000:]
    committed(installation, of_a_later_version())
    return Published(installation, read(installation), hidden)


def send(installation: Installation, commands: dict[str, list[str]], hours: range) -> int:
    """Have every producer send its observations of some hours; return how many."""
    sent = {name: list(observations(name, hours)) for name in commands}
    for name, command in commands.items():
        produced(command, installation, sent[name])
    return sum(map(len, sent.values()))
