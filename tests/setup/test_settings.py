"""Settings: the file, the environment overriding it, all errors together, no secret shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.setup.configuration import context_of
from stream_app.setup.settings import InvalidSettingsError, Settings
from tests.command import Cli
from tests.kafka.client.secured import Authority


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    """Write the default settings file."""
    file = Path("landmark-stream.toml")
    file.write_text(text)
    return file


def private(name: str, text: str, mode: int = 0o600) -> None:
    """Write a file that only its owner may read, or with another mode."""
    Path(name).write_text(text)
    Path(name).chmod(mode)


def password_file(text: str, mode: int = 0o600) -> None:
    """Write a file with a password, and settings that name the file."""
    private("password", text, mode)
    write('security_protocol = "SASL_SSL"\nsasl_user = "u"\nsasl_password_file = "password"')


def test_everything_has_a_default() -> None:
    """The settings are usable without a file or environment."""
    assert Settings.load().prefix == "landmark"


def test_environment_lies_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's value overrides the file's for the same field."""
    write('partitions = 3\nprefix = "file"')
    monkeypatch.setenv("LANDMARK_STREAM_PREFIX", "environment")
    settings = Settings.load()
    assert (settings.partitions, settings.prefix) == (3, "environment")


@pytest.mark.parametrize(
    ("field", "largest"),
    [
        ("lifetime_epsilon", 1_000_000),
        ("max_epsilon", 1_000_000),
        ("key_epoch_ms", LAST_TIMESTAMP_MS),
        ("max_future_ms", LAST_TIMESTAMP_MS),
    ],
)
def test_what_decisions_depend_on_is_bounded(field: str, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like a policy's epsilon or a timestamp, all of it is put into a document, whose integers have 64 bits."""
    write(f"{field} = {largest}")
    found = Settings.load()
    assert context_of(found, KeyRing("f" * 16, 0, bytes(32), found.key_epoch_ms)).fingerprint
    for above in (largest + 1, 10**20):
        monkeypatch.setenv(f"LANDMARK_STREAM_{field.upper()}", str(above))
        with pytest.raises(InvalidSettingsError, match=f"{field}.*up to {largest:,}"):
            Settings.load()


def test_every_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All problems of file and environment are reported together."""
    write('partitions = 0\nunknown = 1\nsecurity_protocol = "SASL_PLAINTEXT"\nca_file = "missing.pem"')
    monkeypatch.setenv("LANDMARK_STREAM_PARTITION", "4")
    with pytest.raises(InvalidSettingsError) as caught:
        Settings.load()
    assert {problem.field for problem in caught.value.problems} == {
        "LANDMARK_STREAM_PARTITION",
        "partitions",
        "unknown",
        "allow_plaintext_credentials",
        "ca_file",
        "sasl_user",
        "sasl_password_file",
    }


@pytest.mark.parametrize("text", ["partitions = ", "\x00"])
def test_no_toml(text: str) -> None:
    """A file that is not TOML is named."""
    write(text)
    with pytest.raises(InvalidSettingsError, match="is not valid TOML"):
        Settings.load()


def test_named_file_must_exist() -> None:
    """A file that was asked for is not silently omitted."""
    with pytest.raises(InvalidSettingsError, match="there is no such file"):
        Settings.load(Path("other.toml"))


def test_two_passwords_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no guessing which password counts, and no error shows one."""
    password_file("from-file\n")
    assert Settings.load().password() == "from-file"
    monkeypatch.setenv("LANDMARK_STREAM_SASL_PASSWORD", "from-environment")
    with pytest.raises(InvalidSettingsError, match="found 2 passwords") as caught:
        Settings.load()
    assert "from-environment" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_password_that_others_can_read_is_refused(mode: int) -> None:
    """It is refused like a noise key; the error contains the remedy, but not the password."""
    password_file("from-file\n", mode)
    with pytest.raises(InvalidSettingsError, match=f"mode is {mode:04o}.*chmod 600") as caught:
        Settings.load()
    assert "from-file" not in str(caught.value)


def test_an_empty_password_is_refused() -> None:
    """An empty file is reported before anything connects."""
    password_file("\n")
    with pytest.raises(InvalidSettingsError, match="is empty"):
        Settings.load()


def test_certificates_are_read_with_the_settings(tmp_path: Path) -> None:
    """No authority, another's key, an encrypted key or one that others can read: each is reported at its field."""
    one, other = Authority.make(tmp_path, "one"), Authority.make(tmp_path, "other")
    (certificate, key), (_, strange) = one.sign("client"), other.sign("stranger")
    text = f'security_protocol = "SSL"\nca_file = "{one.file}"\ncertificate_file = "{certificate}"\n'
    write(f'{text}certificate_key_file = "{key}"')
    assert Settings.load().certificate_key_file == key

    secret = serialization.load_pem_private_key(key.read_bytes(), None)
    locked = tmp_path / "locked.key"
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked.write_bytes(secret.private_bytes(pem, form, serialization.BestAvailableEncryption(b"p")))
    locked.chmod(0o600)
    for wrong in (strange, locked):
        write(f'{text}certificate_key_file = "{wrong}"')
        with pytest.raises(InvalidSettingsError, match=r"certificate_key_file: .*not a certificate and its"):
            Settings.load()
    key.chmod(0o640)
    write(f'{text}certificate_key_file = "{key}"')
    with pytest.raises(InvalidSettingsError, match="certificate_key_file: mode is 0640"):
        Settings.load()
    write(f'security_protocol = "SSL"\nca_file = "{strange}"')
    with pytest.raises(InvalidSettingsError, match="ca_file: contains no certificates"):
        Settings.load()


def test_another_process_can_have_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment alone does it, with password and tables, but without this process's other variables."""
    given: dict[str, Any] = {
        "prefix": "other",
        "max_epsilon": 0.5,
        "accept_policies": False,
        "policies": ({"series": "home-*"},),
        "correlations": {"household": Path("household.json")},
        "security_protocol": "SASL_SSL",
        "sasl_user": "worker",
        "sasl_password": "hidden",
    }
    settings = Settings(**given)
    monkeypatch.setenv("LANDMARK_STREAM_LIFETIME_EPSILON", "9")
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LANDMARK_STREAM_LIFETIME_EPSILON")
    assert "LANDMARK_STREAM_LIFETIME_EPSILON" not in settings.environment()
    assert Settings.load() == settings
    assert settings.sasl_password is not None


def test_check_hides_secrets(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """`check` prints what is in force, except the password."""
    monkeypatch.setenv("LANDMARK_STREAM_SASL_PASSWORD", "geheim")
    write('security_protocol = "SASL_SSL"\nsasl_user = "u"\nkey_file = "key"')
    cli("keys", "new", "key")
    printed = cli("check", "--json").out
    assert "geheim" not in printed
    assert json.loads(printed)["in_force"]["sasl_user"] == "u"


def test_check_hides_what_dummies_are_to_hide(cli: Cli) -> None:
    """`check` omits the true landmarks of a default policy if it has dummies, and otherwise prints them."""
    policy = """
        [[policies]]
        series = "home-*"
        epsilon = 1.0
        scheme = {name = "uniform"}
        value = {kind = "number", lower = 0, upper = 10, resolution = 1}
        protection = {level = "landmark", landmarks = [3141, 7653]}
    """
    write('key_file = "key"\n' + policy + 'dummies = {method = "padding", start = 0, end = 10000, probability = 0.5}')
    cli("keys", "new", "key")
    hidden = cli("check").out
    assert "padding" in hidden
    assert not any(landmark in hidden for landmark in ("3141", "7653"))
    write('key_file = "key"\n' + policy)
    assert "7653" in cli("check").out


def test_check_names_every_problem(cli: Cli) -> None:
    """A missing key and a bad policy are reported together."""
    write('policies = [{series = "*", epsilon = -1}]')
    fields = [problem["field"] for problem in cli("check", "--json", code=2).document["problems"]]
    assert "key_file" in fields
    assert "policies.0.epsilon" in fields


def test_check_reads_a_policy_file(cli: Cli) -> None:
    """Policies are checked line by line."""
    policy = {
        "series": "home-1",
        "version": 2,
        "epsilon": 1,
        "protection": {"level": "event"},
        "scheme": {"name": "uniform"},
        "value": {"kind": "number", "lower": 0, "upper": 1, "resolution": 0.1},
    }
    file = Path("policies.jsonl")
    file.write_text(json.dumps(policy) + "\n")
    assert main(["check", str(file)]) == 0
    file.write_text(json.dumps(policy) + "\nno json\n" + json.dumps({**policy, "epsilon": 0}))
    cli.said()
    printed = cli("check", file, code=2).out
    assert "policies.jsonl:2" in printed
    assert "policies.jsonl:3: epsilon" in printed


def test_check_shows_who_signs(cli: Cli) -> None:
    """It shows the fingerprint of the key that signs heads, or none without a key; a wrong file is a problem."""
    cli("keys", "new", "landmark.key")
    assert cli("check", "--json").document["in_force"]["signing_key_fingerprint"] is None
    key = SigningKey.create(Path("signing.key"))
    write('signing_key_file = "signing.key"')
    assert cli("check", "--json").document["in_force"]["signing_key_fingerprint"] == key.fingerprint
    write('signing_key_file = "landmark.key"')
    (problem,) = cli("check", "--json", code=2).document["problems"]
    assert problem["field"] == "signing_key_file"
