"""The systemd unit: accepted by systemd, hardened by its own measure, and consistent with the settings."""

import re
import subprocess
from pathlib import Path

import pytest

from stream_app.setup.settings import PREFIX, Settings
from tests.deploy import ROOT
from tests.programs import program

UNIT = ROOT / "deploy" / "systemd" / "landmark-stream@.service"
MOST_EXPOSED = 15
"""Tenths, on systemd's scale from 0 to 100: a network and a place in the host's tree remain."""


@pytest.fixture
def analyze() -> str:
    """Return the path of systemd's own checker, which must exist in CI."""
    return program("systemd-analyze")


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return the unit with a program from this machine, since the checker also looks for the program."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/landmark-stream/bin/landmark-stream", "/usr/bin/true"))
    return copy


def test_systemd_accepts_it(analyze: str, unit: Path) -> None:
    """There are no complaints, but a directive that does not exist would cause one."""
    command = [analyze, "verify", str(unit)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    unit.write_text(unit.read_text().replace("[Service]", "[Service]\nProtectHom=yes"))
    assert "ProtectHom" in subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_it_is_hardened(analyze: str, unit: Path) -> None:
    """Its exposure is below the bound; without the kernel protections it is not."""
    command = [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(unit)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    text = re.sub(r"^(ProtectKernel\w+|SystemCallFilter|PrivateUsers)=.*\n", "", unit.read_text(), flags=re.MULTILINE)
    unit.write_text(text)
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_variables_are_settings() -> None:
    """Each variable names a field; keys are read from the place to which they are copied."""
    text = UNIT.read_text()
    fields = {name.lower() for name in re.findall(rf"^Environment={PREFIX}(\w+)=", text, re.MULTILINE)}
    assert {"data_folder", "key_file", "signing_key_file"} == fields
    assert fields <= set(Settings.model_fields)
    credentials = re.findall(r"^LoadCredential=([\w.]+):", text, re.MULTILINE)
    copied = re.findall(r"\$\{CREDENTIALS_DIRECTORY\}/([\w.]+)", text)
    read = re.findall(r"KEY_FILE=%t/landmark-stream-%i/([\w.]+)$", text, re.MULTILINE)
    assert credentials == copied == read
    assert "RuntimeDirectory=landmark-stream-%i\n" in text
    assert "Environment=LANDMARK_STREAM_DATA_FOLDER=%S/landmark-stream/%i\n" in text
    assert "StateDirectory=landmark-stream/%i\n" in text


def test_it_dumps_no_core() -> None:
    """A core dump would copy the keys, and the worker only prevents dumps itself once it runs."""
    assert re.search(r"^LimitCORE=0$", UNIT.read_text(), re.MULTILINE)
