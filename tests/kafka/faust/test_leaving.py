"""A worker ends while its group waits for another one."""

import signal
import time

from tests.kafka.installation import Installation, readings

MOST_SECONDS = 20.0
"""The longest time until a worker has ended, as docs/how-to/scale-out.md says."""


def test_a_worker_ends_while_its_group_waits_for_another(installation: Installation) -> None:
    """A sleeper delays the group's next agreement for its whole session; a worker that ends leaves anyway."""
    installation.more["session_timeout_ms"] = 45_000
    total = installation.send(readings(1_000))
    with installation.worker("sleeper") as sleeper, installation.worker("ends") as worker:
        for one in (sleeper, worker):
            one.await_ready(200, "partitions [")
        sleeper.process.send_signal(signal.SIGSTOP)
        with installation.worker("third") as third:
            time.sleep(5)  # a heartbeat tells the others of the newcomer: they join again, and wait for the sleeper
            began = time.monotonic()
            assert worker.stop() == 0
            assert time.monotonic() - began < MOST_SECONDS
            sleeper.process.send_signal(signal.SIGCONT)
            third.await_committed(total + installation.send(readings(200, start=total)))
            assert (sleeper.stop(), third.stop()) == (0, 0)
    installation.answered_once()
