"""Checks default policies that define views, both alone and together with the policies of their base series."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from stream_app.deciding.context import DefaultPolicy, Limits
from stream_app.deciding.views.agreement import protected_by, takes_part

NAME: Final = re.compile("[a-z0-9-]{1,40}", re.ASCII)
MOST_VIEWS: Final = 16
"""The maximum number of views of one series; each reading writes a row for each view."""


def name_fault(name: object) -> str | None:
    """Return the fault in a view's name, or None if it is valid."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return None
    return 'is not a valid view name; use 1 to 40 characters from a-z, 0-9 and -, as in "view":"day"'


def view_faults(default: DefaultPolicy, limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield each field that makes a view's default policy invalid, with the reason."""
    policy = default.policy
    if limits.member_separator is None or limits.member_nano is None:
        yield "view", "views share one budget: set member_separator and member_epsilon in the configuration"
    elif limits.member_separator in default.view:
        yield "view", f"contains the member_separator {limits.member_separator!r}, so ids would be ambiguous"
    if policy.landmarks:
        yield "protection.landmarks", "a view has the landmarks of its series; remove them"
    if policy.dummies is not None:
        yield "dummies", "a view has the landmarks of its series; remove it"
    if policy.collect is not None:
        yield "collect", "a view publishes one person's readings, and does not accept contributions; remove it"


def joint_faults(defaults: Sequence[DefaultPolicy]) -> Iterator[tuple[int, str, str]]:
    """Yield the index of each view policy that conflicts with another policy, the field, and the reason."""
    for number, view in enumerate(defaults):
        if not view.view:
            continue
        beside = {one.view for one in defaults[: number + 1] if one.view and _may_meet(one.glob, view.glob)}
        if len(beside) > MOST_VIEWS:
            yield (
                number,
                "view",
                (f"a series may have at most {MOST_VIEWS} views, but some series have more; remove a view"),
            )
        for base in defaults:
            if base.view or not (_covers(base.glob, view.glob) or _covers(view.glob, base.glob)):
                continue
            if not takes_part(base.policy):
                yield (
                    number,
                    "view",
                    (f"series under {base.glob!r} have `collect` or `dummies`, so they cannot have views"),
                )
            elif protected_by(base.policy) != protected_by(view.policy):
                yield number, "protection", _OTHERWISE.format(base.glob)
            if _covers(base.glob, view.glob):
                break  # it covers each base of the view


_OTHERWISE: Final = (
    "a view must have the same level, unit (a policy without a unit counts its step), window, and offset modulo the "
    "unit as its base series, or their budgets would not add up; they differ for {!r}"
)


def _covers(glob: str, other: str) -> bool:
    """Return whether a simple check shows that ``glob`` matches every name that ``other`` matches."""
    return glob == other or (not set("?[") & set(glob) and fnmatchcase(other, glob))


def _may_meet(glob: str, other: str) -> bool:
    """Return whether a name may match both globs; no name can if their beginnings or endings differ."""
    heads = [re.split(r"[*?[]", each, maxsplit=1)[0] for each in (glob, other)]
    tails = [re.split(r"[*?\]]", each)[-1] for each in (glob, other)]
    starts = heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])
    return starts and (tails[0].endswith(tails[1]) or tails[1].endswith(tails[0]))
