"""A reader who follows a page: one bash in a fresh folder, which does what the page says, block by block."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from stream_app.localbroker.broker import LocalBroker
from stream_app.localbroker.machine import free_ports
from tests.deploy import ROOT
from tests.docs.page import Block
from tests.docs.transcript import agrees

_TOPICS = ("events", "releases", "ledger", "rejects", "heads")
_INHERITED = frozenset({"HOME", "JAVA_HOME", "PYTHONPYCACHEPREFIX"})
_UNEXPECTED = 97  # no command of ours ends with it


@dataclass(frozen=True)
class Stand:
    """A stand-in, ``own``, for a default of the settings, which lets pages share a machine and a broker."""

    default: str
    own: str


class Reader:
    """A folder, a name, and a broker if the page wants one."""

    def __init__(self, folder: Path, name: str, broker: LocalBroker | None = None) -> None:
        """Prepare an empty folder; ``name`` has letters, digits and dashes, and differs between pages."""
        self.folder = folder / "page"
        self._aside = folder / "aside"
        self.folder.mkdir(parents=True)
        self._aside.mkdir()
        self._name = f"docs-{name}"
        (port,) = free_ports(1)
        self._settings = {
            "LANDMARK_STREAM_PREFIX": self._name,
            "LANDMARK_STREAM_APPLICATION": f"{self._name}-application",
            "LANDMARK_STREAM_HTTP_PORT": str(port),
            "LANDMARK_STREAM_BOOTSTRAP_SERVERS": "127.0.0.1:1",  # nobody listens: a page without a broker reaches none
        }
        self._stands = [
            Stand("127.0.0.1:9464", f"127.0.0.1:{port}"),
            *(Stand(f"landmark.{topic}", f"{self._name}.{topic}") for topic in _TOPICS),
        ]
        if broker is not None:
            self._settings["LANDMARK_STREAM_BOOTSTRAP_SERVERS"] = broker.bootstrap_servers
            self._stands.append(Stand("127.0.0.1:9092", broker.bootstrap_servers))
            (self.folder / ".landmark-stream").mkdir()
            (self.folder / ".landmark-stream" / "kafka").symlink_to(broker.folder)

    def follow(self, blocks: tuple[Block, ...], seconds: float = 500.0, grace: float = 30.0) -> str | None:
        """Follow the page for at most ``seconds``; return what differed from the page, or None.

        Everything that the page started has ended by then; it gets ``grace`` seconds to end by itself.
        """
        script = self._aside / "page.sh"
        script.write_text(self._script(blocks))
        with (self._aside / "bash").open("wb") as said:
            bash = subprocess.Popen(
                ["bash", str(script)],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        try:
            code = bash.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(bash, grace)
        return self._compared(blocks, code, seconds)

    def _compared(self, blocks: tuple[Block, ...], code: int | None, seconds: float) -> str | None:
        printed: str | None = None
        for number, block in enumerate(blocks):
            if block.language == "sh":
                printed = self._printed(number) if block.runs else None
                begun = self._out(number).exists()
                last = not any(self._out(later).exists() for later in range(number + 1, len(blocks)))
                if block.runs and begun and last and code != 0:
                    ended = f"did not end within {seconds:.0f} s" if code is None else f"ended with code {code}"
                    return f"line {block.line}: {ended}:\n{printed}"
            elif block.language == "text" and printed is not None and not agrees(block.text, printed):
                return f"line {block.line}: shown is\n{block.text}\nprinted was\n{printed}"
        return None if code == 0 else f"bash: {code}: {(self._aside / 'bash').read_text()}"

    def _script(self, blocks: tuple[Block, ...]) -> str:
        parts = ["set -euo pipefail"]
        for number, block in enumerate(blocks):
            if block.file is not None:
                content = self._aside / f"content-{number}"
                content.write_text(self._on_stand(block.text))
                name = shlex.quote(block.file)
                parts.append(f'mkdir -p "$(dirname {name})"\ncp {shlex.quote(str(content))} {name}')
            if block.runs:
                parts.append(f"exec > {shlex.quote(str(self._out(number)))} 2>&1")
                commands = self._on_stand(block.text)
                if block.exit:
                    commands = (
                        f"set +e\n(\nset -euo pipefail\n{commands})\nended=$?\nset -e\n"
                        f'[[ $ended == {block.exit} ]] || {{ echo "ended with $ended"; exit {_UNEXPECTED}; }}'
                    )
                parts.append(commands)
        return "\n".join(parts) + "\n"

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name in _INHERITED}  # noqa: TID251
        here = Path(sys.executable).parent
        path = f"{here}{os.pathsep}{os.environ['PATH']}"  # noqa: TID251 (the child's)
        ours = {"PATH": path, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100"}
        return inherited | ours | self._settings

    def _on_stand(self, text: str) -> str:
        for stand in self._stands:
            text = text.replace(stand.default, stand.own)
        return text

    def _printed(self, number: int) -> str:
        out = self._out(number)
        text = out.read_text(errors="replace") if out.exists() else ""
        for stand in self._stands:
            text = text.replace(stand.own, stand.default)
        return text.replace(f"{self._name}-application", "landmark-stream").replace(self._name, "landmark")

    def _out(self, number: int) -> Path:
        return self._aside / f"printed-{number}"


def wants_broker(blocks: tuple[Block, ...]) -> bool:
    """Return whether a page starts a broker."""
    return any(block.runs and "landmark-stream kafka start" in block.text for block in blocks)


def stops_broker(blocks: tuple[Block, ...]) -> bool:
    """Return whether a page would stop the broker that it shares with others."""
    return any(block.runs and "landmark-stream kafka stop" in block.text for block in blocks)


def _end(bash: "subprocess.Popen[bytes]", grace: float) -> None:
    """End the page's process group, gracefully at first."""
    deadline = time.monotonic() + grace
    with contextlib.suppress(ProcessLookupError):
        os.killpg(bash.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            bash.poll()
            os.killpg(bash.pid, 0)
            time.sleep(0.1)
        os.killpg(bash.pid, signal.SIGKILL)
    bash.wait()
