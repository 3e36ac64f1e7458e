"""The total that the policies in a file reserve for each person, compared with the person's limit."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from stream_app.cli import UsageError
from stream_app.cli.shared.policyfile import GLOB, Document, policy_in, problems_of
from stream_app.deciding.context import Limits
from stream_app.deciding.members import member_of
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import claim_of
from stream_app.privacy.values import NANO
from stream_app.setup.configuration import above_cap, limits_of
from stream_app.setup.settings import InvalidSettingsError, Problem, Settings


class JointClaims(NamedTuple):
    """The series or globs of one person in a file, with the total that they reserve in nano-epsilon."""

    member: str
    series: tuple[str, ...]
    claims_nano: int
    cap_nano: int | None  # a new person's limit in the settings, or None

    @property
    def of_globs(self) -> bool:
        """Whether the series include globs, which match any number of series, as in default policies."""
        return any(GLOB & set(series) for series in self.series)

    @property
    def exceeding(self) -> bool:
        """Whether the series together reserve more than the limit for a new person."""
        return self.cap_nano is not None and self.claims_nano > self.cap_nano

    @property
    def sentence(self) -> str:
        """Describe the reservation."""
        each = "one series of each pattern" if self.of_globs else f"its {len(self.series)} series"
        cap = (
            "and the person has no limit"
            if self.cap_nano is None
            else f"and a new person's limit is {_epsilon(self.cap_nano)}"
        )
        end = "; the last one would be rejected (member-cap)" if self.exceeding else ""
        return f"person {self.member}: {each} reserve epsilon {_epsilon(self.claims_nano)} together, {cap}{end}"

    def document(self) -> dict[str, Any]:
        """Return the reservation as a document for programs to read."""
        return {**self._asdict(), "of_globs": self.of_globs}


def limits_in(config: Path | None) -> Limits:
    """Return the limits in the settings, or no limits if the default settings are unusable.

    Raises `UsageError` if ``config`` names unusable settings.
    """
    try:
        return limits_of(Settings.load(config))
    except InvalidSettingsError as error:
        if config is not None:
            raise UsageError(f"configuration:\n{error}") from None
        return Limits()


def together(policies: Iterable[tuple[str, Policy]], limits: Limits) -> Iterator[JointClaims]:
    """Yield the total that each person's series reserve; yield nothing if the settings do not identify persons.

    Only the first policy of a series reserves budget. A person with a single series is omitted unless the name is a
    glob, because the series' own policy states the cost.
    """
    separator = limits.member_separator
    if separator is None:
        return
    claims: dict[str, dict[str, int]] = {}
    for series, policy in policies:
        claim_nano = claim_of(policy, limits.lifetime_nano, claims=True)
        if policy.collect is None and claim_nano is not None:
            claims.setdefault(member_of(series, separator), {}).setdefault(series, claim_nano)
    for member, found in claims.items():
        if len(found) > 1 or GLOB & set(member):
            yield JointClaims(member, tuple(found), sum(found.values()), limits.member_nano)


def caps_exceeded(documents: Iterable[Document], limits: Limits) -> Iterator[Problem]:
    """Yield a problem for each policy in a file that lets a series use more than its person's limit."""
    for found in documents:
        if not any(problems_of(found)):
            over = above_cap(policy_in(found.content), limits)
            yield from (Problem(f"{found.place}: lifetime", each) for each in over)


def _epsilon(nano: int) -> str:
    return f"{Decimal(nano) / NANO:f}"
