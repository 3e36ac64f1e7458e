"""Addresses in messages and alerts: each leads to a heading of a page that is served, and nothing else is served."""

import ast
import http.client
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from stream_app.cli.operating.docs import DocsPages, page_of
from stream_app.kafka.stops import REASONS
from stream_app.localbroker.machine import free_ports
from stream_app.manual import BASE, PORT, page_url
from stream_app.monitoring.statuspage.markup import prose
from tests.command import Cli
from tests.deploy import ROOT
from tests.deploy.queries import rules
from tests.deploy.site import running, wait_for
from tests.loopback import ask

ADDRESS = re.compile(re.escape(page_url("")) + r"([\w/-]+\.md)(?:#([\w-]+))?")


@cache
def named() -> tuple[tuple[str, str], ...]:
    """Return page and anchor of every address that the program or an alert can name, in order."""
    texts = [rule["annotations"]["runbook_url"] for rule in rules() if "alert" in rule]
    code = [file.read_text() for file in (ROOT / "stream_app").rglob("*.py")]
    for text in (text for text in code if "page_at" in text or "page_url" in text):
        for node in ast.walk(ast.parse(text)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in {"page_at", "page_url"}:
                texts += [page_url(str(each.value)) for each in ast.walk(node) if isinstance(each, ast.Constant)]
    addresses = {text: ADDRESS.fullmatch(text) for text in texts}
    assert all(addresses.values()), addresses
    return tuple(sorted({(found[1], found[2] or "") for found in addresses.values() if found is not None}))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Serve the docs as an operator does."""
    log = tmp_path_factory.mktemp("docs") / "docs.log"
    (free,) = free_ports(1)
    with running([sys.executable, "-m", "stream_app", "docs", "--http-port", str(free)], log):
        wait_for(free, "/docs/README.md", log)
        yield free


@pytest.mark.parametrize(("page", "anchor"), named())
def test_every_address_leads_to_its_heading(port: int, page: str, anchor: str) -> None:
    """The page is served, and has the heading."""
    answer, body = ask(port, f"/docs/{page}")
    assert answer.status == http.client.OK
    assert not anchor or f' id="{anchor}"'.encode() in body


def test_addresses_are_found() -> None:
    """Alerts and remedies name pages; no sentence of the program names one in another way."""
    pages = {page for page, _ in named()}
    assert {"operating.md", "how-to/more-partitions.md", "alerts/LandmarkPartitionsMissing.md"} <= pages
    for file in (ROOT / "stream_app").rglob("*.py"):
        tree = ast.parse(file.read_text())
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
        assert not [text for text in texts if isinstance(text, str) and re.search(r"docs/[\w/-]+\.md", text)] or (
            file.name == "docs.py"
        )


def test_all_pages_are_served_with_their_pictures(port: int) -> None:
    """Each Markdown page becomes HTML, each picture comes as it is; the pages' own policy lets nothing else load."""
    for file in (ROOT / "docs").rglob("*"):
        if file.suffix in {".md", ".png", ".svg"}:
            answer, body = ask(port, f"/{file.relative_to(ROOT)}")
            assert answer.status == http.client.OK
            assert body.startswith(b"<!doctype html>") if file.suffix == ".md" else body == file.read_bytes()
    assert ask(port, "/")[0].status == http.client.FOUND


@pytest.mark.parametrize(
    "path",
    [
        *("/docs/../pyproject.toml", "/docs/%2e%2e/pyproject.toml", "/pyproject.toml", "/docs//etc/passwd", "/docs/x"),
        *("/docs/%00.md", "/docs/%ff.md", f"/docs/{'a' * 300}.md", "/docs/operating.md/x.md"),
    ],
)
def test_nothing_else_is_served(port: int, path: str) -> None:
    """No path leads out of the docs."""
    answer, body = ask(port, path)
    assert answer.status == http.client.NOT_FOUND
    assert b"landmark-stream" not in body.lower().replace(b"landmark stream", b"")


@pytest.mark.parametrize("sent", [b'{"series":"home-7","value":7.319}\r\n\r\n', b"GET /home-7 HTTP/7.319\r\n\r\n"])
def test_no_byte_of_a_request_is_logged(tmp_path: Path, sent: bytes) -> None:
    """A producer that takes this port for Kafka's finds its event nowhere."""
    log = tmp_path / "docs.log"
    (free,) = free_ports(1)
    with running([sys.executable, "-m", "stream_app", "docs", "--http-port", str(free)], log):
        wait_for(free, "/docs/README.md", log)
        with socket.create_connection(("127.0.0.1", free), timeout=10) as connection:
            connection.sendall(sent)
            assert b" 400 " in connection.recv(4096)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert not re.search(r"home-7|7\.319", log.read_text())


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in the folder shows nothing beside it."""
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "secret.md")
    assert DocsPages(tmp_path / "docs").file_of("docs/link.md") is None


def test_headings_have_their_anchors() -> None:
    """As the repository's renderer spells them, so that one address serves both."""
    assert '<h2 id="the-groups-offsets">The group\'s offsets</h2>' in page_of("## The group's offsets\n", "x")


def test_a_page_can_be_read_in_a_terminal(cli: Cli) -> None:
    """By its name or as a message names it; another one is refused with the way to the list."""
    for asked in ("operating.md", "docs/operating.md", page_url("operating.md#the-groups-offsets")):
        assert cli("docs", asked).out == (ROOT / "docs" / "operating.md").read_text()
    assert "`docs README.md` lists the pages" in cli("docs", "nothing.md", code=2).err


def test_a_port_in_use_is_told(port: int) -> None:
    """With what to do."""
    done = subprocess.run(
        [sys.executable, "-m", "stream_app", "docs", "--http-port", str(port)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Use another --http-port" in done.stderr


def test_the_workers_page_links_to_it() -> None:
    """A remedy's address can be followed from the status page, without what ends the sentence."""
    text = prose(f"{REASONS['row-behind'].remedy}.")
    assert f'<a href="{BASE}docs/operating.md#the-groups-offsets">' in text


def test_compose_publishes_the_address() -> None:
    """On loopback, under the port that messages name."""
    assert f'"127.0.0.1:{PORT}:{PORT}"' in (ROOT / "docker-compose.yml").read_text()
