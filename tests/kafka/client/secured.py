"""A broker that trusts nobody: TLS, SCRAM users, client certificates, and ACLs that deny by default."""

import asyncio
import datetime as dt
import ipaddress
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stream_app.kafka.provision import Access
from stream_app.localbroker.broker import LOGS, LocalBroker
from stream_app.localbroker.machine import HOST, fetch_jars, find_java, free_ports
from tests.admin import administration
from tests.patience import PATIENCE_SECONDS

PASSWORD = "correct-horse-battery"  # noqa: S105 (of a broker that lives as long as its tests)

_RESOURCES = {"topic": 2, "group": 3, "transactional-id": 5}
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Delete": 6, "Describe": 8, "DescribeConfigs": 10}
_ALLOW, _ANY = 3, 1
_NOTED = re.compile(
    r"Principal = User:(?P<user>\S+) is Allowed operation = (?P<operation>\w+) .* based on rule MatchingAcl"
    r"\(acl=StandardAcl\(resourceType=(?P<resource>\w+), resourceName=(?P<name>[^,]+), patternType=(?P<pattern>\w+),"
)
"""A line in which the authorizer states what it allowed, and under which of the given rules."""
_NOTES = """
appender.notes.type = File
appender.notes.name = notes
appender.notes.fileName = {file}
appender.notes.layout.type = PatternLayout
appender.notes.layout.pattern = %m%n
logger.authorizer.name = kafka.authorizer.logger
logger.authorizer.level = trace
logger.authorizer.additivity = false
logger.authorizer.appenderRef.notes.ref = notes
"""
"""Additional logging for a local broker."""
_NAMES = {re.sub("(?<=[a-z])(?=[A-Z])|-", "_", name).upper(): name for name in (*_RESOURCES, *_PATTERNS, *_OPERATIONS)}
# https://kafka.apache.org/protocol.html, org.apache.kafka.common.acl.AclOperation and its neighbours


@dataclass(frozen=True)
class Authority:
    """A certificate authority; brokers and clients that trust it trust the certificates that it signs."""

    folder: Path
    name: str
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, folder: Path, name: str) -> "Authority":
        """Create an authority and write its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _builder(name, name, key, dt.timedelta(days=1))
        certificate = certificate.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        authority = cls(folder, name, key, certificate.sign(key, hashes.SHA256()))
        authority.file.write_bytes(authority.certificate.public_bytes(serialization.Encoding.PEM))
        return authority

    @property
    def file(self) -> Path:
        """Its certificate."""
        return self.folder / f"{self.name}.pem"

    def sign(
        self, name: str, hosts: Iterable[str] = (), lifetime: dt.timedelta = dt.timedelta(hours=12)
    ) -> tuple[Path, Path]:
        """Write a certificate and its key; ``hosts`` are the addresses and names for which it is valid."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [_general_name(host) for host in hosts]
        builder = _builder(name, self.name, key, lifetime)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate, secret = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        secret.touch(mode=0o600)
        secret.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
        return certificate, secret


def _builder(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, lifetime: dt.timedelta
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + lifetime) - dt.timedelta(days=1))
        .not_valid_after(now + lifetime)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@dataclass(frozen=True)
class SecuredBroker:
    """A running broker with listeners for SCRAM over TLS, for client certificates, and for its administrator.

    The administrator's listener is plain and its user may do anything: it represents the machine's own operator.
    """

    broker: LocalBroker
    authority: Authority
    sasl: str
    tls: str
    granted: dict[str, set[Access]] = field(default_factory=dict)

    def used(self, user: str) -> set[Access]:
        """Return the granted rights that a user exercised, as the authorizer logs them, without implied rights."""
        return {
            Access(
                _NAMES[noted["resource"]],  # type: ignore[arg-type]
                noted["name"],
                _NAMES[noted["operation"]],  # type: ignore[arg-type]
                _NAMES[noted["pattern"]],  # type: ignore[arg-type]
            )
            for line in (self.broker.folder.parent / "authorizer.log").read_text().splitlines()
            if (noted := _NOTED.match(line)) is not None and noted["user"] == user
        }

    def settings(self, user: str, folder: Path) -> dict[str, Any]:
        """Return the transport settings of a SCRAM user."""
        password = folder / f"{user}.password"
        if not password.exists():
            password.touch(mode=0o600)
            password.write_text(PASSWORD + "\n")
        return {
            "bootstrap_servers": self.sasl,
            "security_protocol": "SASL_SSL",
            "ca_file": str(self.authority.file),
            "sasl_user": user,
            "sasl_password_file": str(password),
        }

    def certified(self, user: str) -> dict[str, Any]:
        """Return the transport settings of a user who presents a certificate."""
        certificate, key = self.authority.sign(user)
        return {
            "bootstrap_servers": self.tls,
            "security_protocol": "SSL",
            "ca_file": str(self.authority.file),
            "certificate_file": str(certificate),
            "certificate_key_file": str(key),
        }

    def allow(self, user: str, accesses: Iterable[Access]) -> None:
        """Grant a user exactly these rights, without briefly revoking any that the user already has."""
        wanted, had = set(accesses), self.granted.get(user, set())
        asyncio.run(self._change(f"User:{user}", wanted - had, had - wanted, wanted))
        self.granted[user] = wanted

    async def _change(
        self, principal: str, given: Iterable[Access], taken: Iterable[Access], wanted: Iterable[Access]
    ) -> None:
        async with administration(bootstrap_servers=self.broker.bootstrap_servers) as admin:
            for request, accesses in ((CreateAclsRequest, given), (DeleteAclsRequest, taken)):
                for access in accesses:
                    kind, pattern = _RESOURCES[access.resource], _PATTERNS[access.pattern]
                    operation = _OPERATIONS[access.operation]
                    acl = request(kind, access.name, pattern, principal, "*", operation, _ALLOW)
                    answer = await admin._send_request(acl)  # noqa: SLF001 (no public call sends a request of one's own)
                    results = answer.creation_responses if request is CreateAclsRequest else answer.filter_responses
                    assert results[0][0] == 0, answer
            # The controller answers; the broker, who refuses or lets through, learns it later.
            in_force = {
                (_RESOURCES[access.resource], access.name, _PATTERNS[access.pattern], _OPERATIONS[access.operation])
                for access in wanted
            }
            deadline = time.monotonic() + PATIENCE_SECONDS
            while (found := await _in_force(admin, principal)) != in_force:
                assert time.monotonic() < deadline, f"{principal} has {found}, not {in_force}"
                await asyncio.sleep(0.02)


async def _in_force(admin: AIOKafkaAdminClient, principal: str) -> set[tuple[int, str, int, int]]:
    """Return what the broker itself allows a principal: kind and name of resources, pattern and operation."""
    asked = DescribeAclsRequest(_ANY, None, _ANY, principal, None, _ANY, _ANY)
    answer = await admin._send_request(asked)  # noqa: SLF001 (no public call sends a request of one's own)
    assert answer.error_code == 0, answer
    return {
        (kind, name, pattern, operation)
        for kind, name, pattern, acls in answer.resources
        for _, _, operation, _ in acls
    }


@contextmanager
def secured_broker(folder: Path, users: Iterable[str]) -> Iterator[SecuredBroker]:
    """Run a secured broker until the block ends; these users share one password."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority.make(folder, "authority")
    certificate, key = authority.sign("broker", (HOST,))
    keystore = folder / "broker.pem"
    keystore.touch(mode=0o600)
    keystore.write_bytes(key.read_bytes() + certificate.read_bytes())
    admin, sasl, tls, controller = free_ports(4)
    overrides = {
        "listeners": f"PLAINTEXT://{HOST}:{admin},SASL_SSL://{HOST}:{sasl},SSL://{HOST}:{tls},"
        f"CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{admin},SASL_SSL://{HOST}:{sasl},SSL://{HOST}:{tls}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.file),
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/,DEFAULT",
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
    }
    _format(folder / "kafka", overrides, users)
    logs = folder / "log4j2.properties"
    logs.write_text(LOGS.read_text() + _NOTES.format(file=folder / "authorizer.log"))
    flags = (f"-Dlog4j2.configurationFile={logs}",)
    with LocalBroker.start(folder / "kafka", admin, overrides=overrides, jvm_flags=flags) as broker:
        yield SecuredBroker(broker, authority, f"{HOST}:{sasl}", f"{HOST}:{tls}")


def _format(folder: Path, overrides: Mapping[str, str], users: Iterable[str]) -> None:
    """Create the data folder with its first users: creating users on a running broker already requires one."""
    folder.mkdir()
    settings = folder / "format.properties"
    lines = {"process.roles": "broker,controller", "node.id": "1", "controller.listener.names": "CONTROLLER"}
    lines |= {"log.dirs": str(folder / "data"), **overrides}
    settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    scrams = [word for user in users for word in ("--add-scram", f'SCRAM-SHA-512=[name={user},password="{PASSWORD}"]')]
    command = [find_java(), "-XX:TieredStopAtLevel=1", "-cp", f"{fetch_jars()}/*", "kafka.tools.StorageTool", "format"]
    command += ["--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", str(settings), *scrams]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
