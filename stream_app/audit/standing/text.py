"""The standing of series and members in words: what is used, what is held back and left, and when it ends."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from stream_app.audit.report.report import AT_LEAST, line_of
from stream_app.audit.standing.standing import MemberStanding, SeriesStanding, Standing, VersionStanding
from stream_app.calendar.words import duration_in_words, moment_in_words
from stream_app.words.amount import amount, promised, quoted

_COLUMNS: Final = 80
_INDENT: Final = " " * 13  # of what a line goes on with: below its figures
LONGEST_NAME: Final = 30
"""Letters of a member for which a table keeps room; a longer name moves the figures of its own line alone."""
SHOWN: Final = 5  # findings that a text lists; the audit lists all
_PROTECTED: Final = {
    "landmark": "for all landmarks and any one other step together",
    "windows": "for all landmarks and any {} steps in a row together",
    "event": "for any one step; nothing bounds what many steps tell together",
    "user": "for all steps of its length together",
    "w-event": "for any {} steps in a row; nothing bounds what many windows tell together",
}
_UNKNOWN: Final = "its terms, and so what it used, are not known to this version of the program"
_BOUNDS: Final = {
    "claim": "its claim, which its first entry says",
    "lifetime": "the lifetime that was named or configured",
    "first policy": "the epsilon of its first policy, unless the settings allow more",
}


def text_of(found: Standing) -> str:
    """Return the standing for a reader."""
    lines = []
    if found.findings:
        lines.append(f"THE LEDGER DOES NOT HOLD here: findings {len(found.findings)}; `audit` tells all of them")
        lines += [f"  {line_of(finding)}" for finding in found.findings[:SHOWN]]
    if found.member is not None:
        lines += _member(found.member)
    for one in found.series:
        lines += [*([""] if lines else []), *_series(one, AT_LEAST if found.findings else "")]
    return "\n".join(lines)


def table_of(members: Sequence[MemberStanding]) -> str:
    """Return all members as a table, with the largest parts of a cap first; amounts in epsilon."""
    rows = [("member", "cap", "claims", "left", "part", "series")]
    for one in members:
        left = "-" if one.left_nano is None else amount(one.left_nano)
        cap = "-" if one.cap_nano is None else amount(one.cap_nano)
        part = "-" if one.cap_nano is None else f"{100 * one.share:.0f} %"
        rows.append((quoted(one.member), cap, amount(one.claims_nano), left, part, str(one.series)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], LONGEST_NAME)
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _member(one: MemberStanding) -> list[str]:
    if one.left_nano is None:
        return [f"{quoted(one.member)}: a member without a cap; {one.series} series claim {amount(one.claims_nano)}"]
    assert one.cap_nano is not None, "something is left of a cap alone"
    return [
        f"{quoted(one.member)}: a member with a cap of {amount(one.cap_nano)}; amounts are in epsilon",
        f"  claimed    {amount(one.claims_nano)}, by {one.series} series, for ever",
        f"  left       {amount(one.left_nano)} for new series to claim",
    ]


def _series(one: SeriesStanding, least: str) -> list[str]:
    used_of = [
        least + promised(version.used_nano, version.promised_nano) for version in one.versions[-1:] if version.level
    ]
    lines = ["; ".join([f"{quoted(one.series)}: {'closed' if one.closed else 'open'}", *used_of])]
    for version in one.versions:
        lines += _ruling(version, least) if version.rules else [_ended(version, least)]
    used, bound = amount(one.used_nano), amount(one.lifetime_nano)
    later = "nothing more is spent" if one.closed else f"a later version may have {amount(one.left_nano)} at most"
    lines.append(f"  lifetime   {bound}, {_BOUNDS[one.lifetime_from]}: {least}{used} used, {later}")
    return [part for line in lines for part in wrap(line, _COLUMNS, subsequent_indent=_INDENT, break_on_hyphens=False)]


def _ended(version: VersionStanding, least: str) -> str:
    used = promised(version.used_nano, version.promised_nano) if version.level else _UNKNOWN
    return f"  policy {version.version}, ended: {least * bool(version.level)}{used}"


def _ruling(version: VersionStanding, least: str) -> list[str]:
    if not version.level:
        return [f"  policy {version.version}, in force: {_UNKNOWN}"]
    what = "steps of its length" if version.level == "user" else "landmarks to come, unused spare included"
    step = duration_in_words(version.step_ms)
    lines = [f"  policy {version.version}, in force: level {version.level}, {version.scheme}, steps of {step}"]
    protected = _PROTECTED["windows" if version.level == "landmark" and version.window > 1 else version.level]
    if version.unit_ms is not None:
        lines[0] += f", units of {duration_in_words(version.unit_ms)}"
        what = "units that may become landmarks late"
        protected = protected.replace("step", "unit").replace("all landmarks", "all landmarks, which are left out,")
    lines.append(f"  promised   {amount(version.promised_nano)} {protected.format(version.window)}")
    lines.append(f"  used       {least}{amount(version.used_nano)}{_parts(version)}")
    if version.level in ("landmark", "user"):
        lines.append(f"  held back  {amount(version.held_back_nano)} for {version.landmarks_left} {what}")
    lines.append(f"  left       {amount(version.left_nano)} besides")
    if version.renews_ms is not None:
        bound = moment_in_words(version.renews_ms)
        lines.append(f"  renewed    by the first event from {bound} on, where the lifetime has room for it")
    return [*lines, f"  ends       {ending(version)}"]


def _parts(version: VersionStanding) -> str:
    if version.level != "landmark":
        return ""
    spent, peak = amount(version.landmark_spent_nano), amount(version.regular_peak_nano)
    what = "on the dearest other step" if version.window == 1 else "in the dearest window"
    if version.unit_ms is not None:
        what = "on the dearest step"
    return f": {spent} on landmarks, {peak} {what}, as much as others may cost without adding to it"


def ending(version: VersionStanding) -> str:
    """Return when a version that is in force ends, and what then."""
    match version.level:
        case "user" if version.ends_ms is None:
            return "with its length, which the first event begins; nothing is spent after it"
        case "user":
            return f"{moment_in_words(version.ends_ms or 0)}; nothing is spent after it"
        case "landmark" if version.ends_ms is not None:
            end = moment_in_words(version.ends_ms)
            return f"the last landmark known so far ends {end}; other steps go on until it is closed"
        case _:
            return "not by itself: until another version begins or the series is closed"
