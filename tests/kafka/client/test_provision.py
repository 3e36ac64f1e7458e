"""The output of `topics --acls` gives each role what it needs; test_security.py shows that it needs it."""

from typing import Any

import pytest

from stream_app.kafka.provision import ROLES, commands, needs
from stream_app.setup.settings import Settings


@pytest.mark.parametrize("signing", [{}, {"signing_key_file": "signing.key"}])
@pytest.mark.parametrize("role", ROLES)
def test_the_commands_that_grant_say_the_same(role: str, signing: dict[str, Any]) -> None:
    """The printed commands, read back, are the needs of the role."""
    settings = Settings.model_validate({"application": "guarded", "prefix": "guarded", **signing})
    found = set()
    for line in commands(role, f"User:{role}", settings):
        words = line.split()
        assert words[:4] == ["kafka-acls", "--bootstrap-server", settings.bootstrap_servers, "--add"]
        given: dict[str, list[str]] = {}
        for name, value in zip(words[4:-1:2], words[5:-1:2], strict=True):
            given.setdefault(name.removeprefix("--"), []).append(value)
        assert given.pop("allow-principal") == [f"User:{role}"]
        (pattern,) = given.pop("resource-pattern-type", ["literal"])
        operations = given.pop("operation")
        ((resource, names),) = given.items()
        found |= {(resource, name, operation, pattern) for name in names for operation in operations}
    assert found == {tuple(access) for access in needs(role, settings)}
