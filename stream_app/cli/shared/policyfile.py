"""Files of policy records, as `check`, `plan` and `verify` read them."""

import argparse
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from stream_app.calendar.localtime import Wrong
from stream_app.calendar.policy import in_integers, zone_in
from stream_app.cli import UsageError
from stream_app.cli.shared.arguments import add_picture, readable
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.formats import documents, wire
from stream_app.plain import shown
from stream_app.privacy.fold import adopt
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.reason import Rejection
from stream_app.privacy.weaker import SENTENCES, Less, less_protected
from stream_app.setup.configuration import NO_POLICY, NO_RECORD
from stream_app.setup.settings import Problem
from stream_app.setup.views import name_fault
from stream_app.words.amount import quoted

REQUIRED = ("type", "series", "version")  # members without which a record is not a policy of one series
GLOB = frozenset("*?[")
"""Characters that make a series a pattern, as in the default policies of a configuration."""


def add_policies(parser: argparse.ArgumentParser) -> None:
    """Add FILE, which ``policies_in`` reads."""
    parser.add_argument("file", type=Path, metavar="FILE", help="policy records: one JSON object, or one per line")


def add_outputs(parser: argparse.ArgumentParser, picture: str) -> None:
    """Add ``--picture`` with the help ``picture``, and ``--json``, for a command that handles each policy in FILE."""
    add_picture(parser, picture)
    parser.add_argument("--json", action="store_true", help="print one JSON object per policy, each on its own line")


class Document(NamedTuple):
    """A document in a policy file, and its place; if it is an object, all its times are in ms."""

    place: str
    content: Any
    written: bytes  # its bytes as in the file, unless a time became an integer
    wrongs: tuple[Wrong, ...] = ()
    """Errors in human-readable times; ``content`` omits these times."""
    zone: tzinfo = UTC  # the zone of its landmarks: `protection.zone`
    fault: str = ""  # why it is invalid JSON, if it is
    clocked: tuple[Wrong, ...] = ()
    """Errors in human-readable times if this is a default policy, which must not depend on the current time."""

    @property
    def times(self) -> PolicyTimes:
        """Return the times of the policy; the document must be a policy."""
        return PolicyTimes(self.content["series"], policy_in(self.content), self.zone)


def documents_in(file: Path) -> list[Document]:
    """Return the documents in a file, including invalid JSON; raise `UsageError` if the file is unreadable."""
    with readable(file, "specify a file of policies"):
        content = file.read_bytes()
    return [_in_integers(file, f"{file}:{each.number}", each) for each in documents.lines(content)]


def _in_integers(file: Path, place: str, line: documents.Line) -> Document:
    _, document, written, fault = line
    if not isinstance(document, dict):
        return Document(place, document, written, fault=fault)
    # Default policies mean the same at every start of a worker, so the time of the first renewal must not depend on a
    # clock.
    now_ms = None if any(hindrances_of(document)) else int(time.time() * 1000)
    read = partial(_beside, file)
    found, wrongs = in_integers(document, read, now_ms)
    zone = UTC if wrongs else zone_in(document) or UTC
    clocked = () if found is document or wrongs else tuple(in_integers(document, read)[1])
    return Document(place, found, written if found is document else wire.dump(found), tuple(wrongs), zone, "", clocked)


def _beside(file: Path, name: str) -> bytes:
    return (file.parent / name).read_bytes()


def policies_in(file: Path) -> list[Document]:
    """Return the documents in a file of policy records; raise a `UsageError` that lists every fault."""
    found = documents_in(file)
    problems = [problem for document in found for problem in problems_of(document)]
    if problems or not found:
        raise UsageError("\n".join(map(str, problems)) or f"{file}: {NO_POLICY}")
    return found


def problems_of(found: Document) -> Iterator[Problem]:
    """Yield each reason why a document is not a policy record."""
    place, document = found.place, found.content
    if not isinstance(document, dict):
        yield Problem(place, found.fault or next(hindrances_of(document)))
        return
    yield from (Problem(f"{place}: {wrong.member}", wrong.message) for wrong in found.wrongs)
    series, version, kind = document.get("series"), document.get("version", 1), document.get("type", "policy")
    if kind != "policy":
        yield Problem(f"{place}: type", 'is not "policy"; use "policy", or omit it')
    if not isinstance(series, str) or not series:
        yield Problem(f"{place}: series", "is missing or not text; use a series id, or a glob for a default policy")
    if type(version) is not int or version < 1:
        yield Problem(f"{place}: version", f"found {shown(version)}; use a whole number of at least 1")
        version = 1
    if type(document.get("weaker", False)) is not bool:
        yield Problem(f"{place}: weaker", f"found {shown(document['weaker'])}; use true or false")
    if "view" in document and (fault := name_fault(document["view"])):
        yield Problem(f"{place}: view", fault)
    try:
        policy_of(parameters_of(document), version)
    except PolicyError as error:
        yield from (Problem(f"{place}: {fault.member}", fault.message) for fault in error.faults)


def hindrances_of(document: object) -> Iterator[str]:
    """Yield each reason why a document, even if it is a valid policy, cannot be sent as the policy of one series."""
    if not isinstance(document, dict):
        yield f"is {shown(document)}, {NO_RECORD}"
        return
    missing = [name for name in REQUIRED if name not in document]
    if missing:
        yield f"not a policy record; it lacks {', '.join(missing)}"
    series = document.get("series")
    if "view" in document:
        yield "only the configuration can create a view; set `policies_file` to this file"
    if isinstance(series, str) and GLOB & set(series):
        yield f"{quoted(series)}: a policy with a glob is a default policy; set `policies_file` to this file"


class Weaker(NamedTuple):
    """A later version in a file that, if nothing is processed in between, is weaker than the previous one."""

    place: str
    version: int
    than: int
    less: tuple[Less, ...]
    marked: bool  # by the record's own field

    @property
    def certain(self) -> bool:
        """Whether the version is weaker whatever is processed in between.

        This includes landmarks and user-level steps that pass.
        """
        return bool(set(self.less) & {"window", "neighbours"})

    @property
    def sentence(self) -> str:
        """Describe the lost protection, and how to accept the loss."""
        lost = "; ".join(SENTENCES[each] for each in self.less)
        ways = "keep that" if self.marked else 'keep that, or set "weaker":true'
        return f"protects less than version {self.than}: {lost}; {ways} and set accept_weaker_policies"


def weaker_of(documents: Iterable[Document]) -> Iterator[Weaker]:
    """Yield each version that is weaker than the previous version of its series; skip invalid policies."""
    ruling: dict[object, Policy] = {}
    for found in documents:
        place, document = found.place, found.content
        if any(problems_of(found)) or "view" in document:
            continue
        policy = policy_in(document)
        before = ruling.get(document["series"])
        ruling[document["series"]] = policy
        if before is None or policy.version <= before.version:
            continue
        begun = adopt(before, None, None, None)
        assert not isinstance(begun, Rejection), "a version by itself stays within its own lifetime"
        if less := less_protected(policy, before, begun.state):
            yield Weaker(place, policy.version, before.version, less, document.get("weaker", False))


def policy_in(record: dict[str, Any]) -> Policy:
    """Return the policy in a record that has no faults."""
    return policy_of(parameters_of(record), record.get("version", 1))


def parameters_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a policy record or of a default policy for views."""
    envelope = {*wire.POLICY_ENVELOPE, "view"}
    return {name: value for name, value in document.items() if name not in envelope}
