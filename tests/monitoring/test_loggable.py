"""What a log contains of errors, through every way that they reach it."""

import subprocess
import sys

import orjson
import pytest

ALONE = """
import asyncio, logging, sys, threading, warnings
from mode import Service
from stream_app.monitoring.logs import configure_logs
configure_logs("info", sys.argv[1])
logging.getLogger("faust").warning("of a library")
warnings.warn("a warning")

def never():
    try:
        float("6.0secret")
    except ValueError as error:
        raise KeyError("secret") from error
async def fails(): never()
class Crashing(Service):
    @Service.task
    async def run_it(self): never()

async def main():
    loop = asyncio.get_running_loop()
    loop.call_exception_handler({"message": "of the loop"})
    forgotten = asyncio.create_task(fails())
    loop.call_soon(never)
    await asyncio.sleep(0)
    del forgotten
    crashing = Crashing(loop=loop)
    await crashing.start()
    await asyncio.sleep(0.1)
    await crashing.stop()
asyncio.run(main())
logging.getLogger("faust").error("of %r and %(name)s", {"name": ValueError("secret")})
try:
    raise ExceptionGroup("secret", [ValueError("secret"), KeyError("secret")])
except ExceptionGroup as error:
    logging.getLogger("aiokafka").exception("a group: %s", error)
logging.getLogger("aiokafka").error("several: %s %r", [ValueError("secret")], {1: (KeyError("secret"), 5)})
logging.getLogger("asyncio").error("one: %r", ValueError("secret"))
thread = threading.Thread(target=never)
thread.start()
thread.join()
class Never:
    def __del__(self): never()
Never()
never()
"""


@pytest.fixture(scope="module", params=["json", "text"])
def alone(request: pytest.FixtureRequest) -> tuple[str, subprocess.CompletedProcess[str]]:
    """Return a form of log, and a process that failed in every way with a secret in its errors."""
    run = [sys.executable, "-c", ALONE, request.param]
    return request.param, subprocess.run(run, capture_output=True, text=True, check=False)


def test_no_message_of_an_error_is_written(alone: tuple[str, subprocess.CompletedProcess[str]]) -> None:
    """Tracebacks of libraries, the loop, services, threads and the process show only kinds and places."""
    _, done = alone
    assert done.returncode == 1
    assert done.stdout == ""
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count(", which followed ValueError at <string>:11 (<string>:11 never)") == 6
    assert "Crashed reason=KeyError at <string>:13" in done.stderr
    assert "ExceptionGroup at <string>:33 of [ValueError, KeyError]" in done.stderr


def test_nothing_stands_beside_the_lines(alone: tuple[str, subprocess.CompletedProcess[str]]) -> None:
    """Warnings, the loop's complaints and the error that ends the process are lines too."""
    form, done = alone
    if form == "text":
        assert "WARNING faust: of a library" in done.stderr
        return
    lines = [orjson.loads(line) for line in done.stderr.splitlines()]
    assert [line["logger"] for line in lines[:3]] == ["faust", "py.warnings", "asyncio"]
    assert [line["logger"] for line in lines[-3:]] == ["stream_app.uncaught"] * 3
    assert {line["message"].partition("<string>")[0] for line in lines[-3:]} == {
        "exiting because of an error: KeyError at "
    }
