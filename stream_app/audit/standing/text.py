"""The text form of the budget report: epsilon used, reserved and remaining, and when versions end."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from stream_app.audit.report.report import AT_LEAST, line_of
from stream_app.audit.standing.standing import MemberStanding, SeriesStanding, Standing, VersionStanding
from stream_app.calendar.words import duration_in_words, moment_in_words
from stream_app.words.amount import amount, largest_loss, quoted

_COLUMNS: Final = 80
_INDENT: Final = " " * 13  # of continuation lines, below figures
LONGEST_NAME: Final = 30
"""How many letters of a name fit in the table; a longer name shifts the figures only in its own row."""
SHOWN: Final = 5  # findings shown in a text; the audit lists all
_PROTECTED: Final = {
    "landmark": "for all landmarks and any one other step together",
    "windows": "for all landmarks and any {} steps in a row together",
    "event": "for any one step; nothing limits what many steps reveal together",
    "user": "for all steps of its length together",
    "w-event": "for any {} steps in a row; nothing limits what many windows reveal together",
}
_UNKNOWN: Final = "this version of the program does not know its terms, so the epsilon used is unknown"
_BOUNDS: Final = {
    "claim": "reserved by its first entry",
    "lifetime": "the specified or configured lifetime",
    "first policy": "the epsilon of its first policy, unless the configuration allows more",
}


def text_of(found: Standing) -> str:
    """Return the budget report as readable text."""
    lines = []
    if found.findings:
        lines.append(f"THE LEDGER HAS FAULTS here: {len(found.findings)} findings; `audit` lists all of them")
        lines += [f"  {line_of(finding)}" for finding in found.findings[:SHOWN]]
    if found.member is not None:
        lines += _member(found.member)
    for one in found.series:
        lines += [*([""] if lines else []), *_series(one, AT_LEAST if found.findings else "")]
    return "\n".join(lines)


def table_of(members: Sequence[MemberStanding]) -> str:
    """Return a table of all persons in the given order, in epsilon."""
    rows = [("person", "limit", "reserved", "left", "part", "series")]
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
        return [
            f"{quoted(one.member)}: a person without a limit; {one.series} series reserve {amount(one.claims_nano)}"
        ]
    assert one.cap_nano is not None, "only a person with a limit has a remaining budget"
    return [
        f"{quoted(one.member)}: a person with a limit of {amount(one.cap_nano)}; amounts are in epsilon",
        f"  reserved   {amount(one.claims_nano)}, by {one.series} series, permanently",
        f"  left       {amount(one.left_nano)} for new series",
    ]


def _series(one: SeriesStanding, least: str) -> list[str]:
    used_of = [
        largest_loss(version.used_nano, version.promised_nano, least) for version in one.versions[-1:] if version.level
    ]
    lines = ["; ".join([f"{quoted(one.series)}: {'closed' if one.closed else 'open'}", *used_of])]
    for version in one.versions:
        lines += _ruling(version, least) if version.rules else [_ended(version, least)]
    used, bound = amount(one.used_nano), amount(one.lifetime_nano)
    later = "nothing more is spent" if one.closed else f"a later version may have at most {amount(one.left_nano)}"
    lines.append(f"  lifetime   {bound}, {_BOUNDS[one.lifetime_from]}: {least}{used} used, {later}")
    return [part for line in lines for part in wrap(line, _COLUMNS, subsequent_indent=_INDENT, break_on_hyphens=False)]


def _ended(version: VersionStanding, least: str) -> str:
    used = largest_loss(version.used_nano, version.promised_nano, least) if version.level else _UNKNOWN
    return f"  policy {version.version}, ended: {used}"


def _ruling(version: VersionStanding, least: str) -> list[str]:
    if not version.level:
        return [f"  policy {version.version}, in force: {_UNKNOWN}"]
    what = (
        "remaining steps of its length"
        if version.level == "user"
        else "future landmarks, including unused spare landmarks"
    )
    step = duration_in_words(version.step_ms)
    lines = [f"  policy {version.version}, in force: level {version.level}, {version.scheme}, steps of {step}"]
    protected = _PROTECTED["windows" if version.level == "landmark" and version.window > 1 else version.level]
    if version.unit_ms is not None:
        lines[0] += f", units of {duration_in_words(version.unit_ms)}"
        what = "units that may become landmarks later"
        protected = protected.replace("step", "unit").replace("all landmarks", "all landmarks, which are left out,")
    lines.append(f"  limit      {amount(version.promised_nano)} {protected.format(version.window)}")
    lines.append(f"  used       {least}{amount(version.used_nano)}{_parts(version)}")
    if version.level in ("landmark", "user"):
        lines.append(f"  reserved   {amount(version.held_back_nano)} for {version.landmarks_left} {what}")
    lines.append(f"  left       {amount(version.left_nano)} more")
    if version.renews_ms is not None:
        bound = moment_in_words(version.renews_ms)
        lines.append(f"  renewed    by the first event from {bound} on, if the lifetime has room")
    return [*lines, f"  ends       {ending(version)}"]


def _parts(version: VersionStanding) -> str:
    if version.level != "landmark":
        return ""
    spent, peak = amount(version.landmark_spent_nano), amount(version.regular_peak_nano)
    what = "on the costliest other step" if version.window == 1 else "in the costliest window"
    if version.unit_ms is not None:
        what = "on the costliest step"
    return f": {spent} on landmarks, {peak} {what}; others may cost as much without adding to the total"


def ending(version: VersionStanding) -> str:
    """Return when a version that is in force ends, and what happens then."""
    match version.level:
        case "user" if version.ends_ms is None:
            return "after its length has passed, counted from the first event; nothing is spent after that"
        case "user":
            return f"{moment_in_words(version.ends_ms or 0)}; nothing is spent after that"
        case "landmark" if version.ends_ms is not None:
            end = moment_in_words(version.ends_ms)
            return f"the last landmark known so far ends {end}; other steps continue until the series is closed"
        case _:
            return "not by itself, only when another version begins or the series is closed"
