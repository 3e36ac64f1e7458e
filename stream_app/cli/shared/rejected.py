"""Explains why a record in a file was rejected, giving its line and details beyond the reason code."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from stream_app.calendar.words import moment_in_words
from stream_app.cli.shared.eventfile import EventFile
from stream_app.formats import documents, wire
from stream_app.manual import page_at
from stream_app.mapping.cells import FileError
from stream_app.mapping.form import FileMapping
from stream_app.mapping.inspection import LANGUAGES
from stream_app.plain import meant, shown, some_of
from stream_app.privacy.kinds import Counts
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason
from stream_app.replaying.doubts import CheckedRows
from stream_app.words.amount import quoted

TYPES = ("observation", "policy", "landmarks", "close", "contribution", "watermark", "intrusion", "member")
_FORMS = (
    (re.compile(r"-?[0-9]+(\.[0-9]+)?"), "a number is in quotes; remove the quotes"),
    (
        re.compile(r"-?[0-9]{1,3},[0-9]{3}"),
        "a number like 13,600 may mean 13.6 (add --decimal ,) or 13600 (write it without the comma)",
    ),
    (re.compile(r"-?[0-9]+,[0-9]+"), "a number like 1,5 has a decimal comma; add --decimal ,"),
    (
        re.compile(r"-?[0-9]{1,3}([ ,.'\u2019\u00a0\u202f][0-9]{3})+([.,][0-9]+)?"),
        "a number like 1,234.5 has thousands separators; write only digits and a decimal point, as in 1234.5",
    ),
    (
        re.compile("[\u2212\u2013][0-9.,]+"),
        "a number like −1.5 begins with a dash; write the ASCII minus sign (-)",
    ),
    (
        re.compile(r"-?[0-9]+([.,][0-9]+)? ?[^0-9\s]+.*"),
        "a number like 1.5 kWh contains more than digits and a decimal point; write only the number",
    ),
    (
        re.compile(r"(n/?a|#n/a|nan|null|none|nil|[+-]?inf(inity)?|-+|\?|missing|unavailable|unknown)", re.IGNORECASE),
        "means that there is no value; add it to --missing to skip its rows",
    ),
    (re.compile(r".*[\r\n].*", re.DOTALL), "continues over several lines; a closing quote may be missing"),
)
"""Patterns for texts meant as numbers or as missing values, each with its message; the first match applies."""
_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+")
_MICROSECONDS, _NANOSECONDS = 10**15, 10**18


MOST_SORTS = 5
"""The maximum number of kinds of rows to explain, once each."""


def explained(file: EventFile, rows: CheckedRows) -> Iterator[str]:
    """Yield a sentence for each kind of rejected record, with the first line and the number of records."""
    if rows.refused["malformed"] == rows.count and (told := _no_events(file)):
        yield told
        return
    if rows.without_policy:
        names = some_of([quoted(name) for name in rows.without_policy], "series")
        told = f"no policy matches {names} (rows: {rows.without_policy.total():,})"
        yield f"{file.name}: {told}; correct the series or the policy's glob"
    # No line is to blame for a series without a policy, nor for a late record after a row from the future.
    blameless = {"no-policy", "late"} if rows.ahead is not None else {"no-policy"}
    reasons = {number: reason for reason, number in rows.first.items() if reason not in blameless} | dict(rows.unfit())
    ruling = dict(rows.ruling)
    if rows.swallowed and (first := rows.ranges.first_substituted) is not None:
        # PRIVACY: only the raw data show that a substitute replaces this row. The sentence goes to the standard error
        # of whoever runs the command on them, together with the doubt that counts such rows.
        reasons.setdefault(first[0], "invalid-value")
        ruling.setdefault("invalid-value", first[1])
    sorts: dict[str, tuple[int, int]] = {}  # first line and number of rows
    for number, (line, record) in enumerate(islice(file.placed(), max(reasons, default=-1) + 1)):
        if (reason := reasons.get(number)) is not None:
            told = _why(file.mapping, reason, ruling.get(reason), documents.line(record, line))
            place, count = sorts.get(told, (line, 0))
            sorts[told] = place, count + 1
    for told, (line, count) in islice(sorts.items(), MOST_SORTS):
        yield f"{file.name}:{line}: {told}" + (f" ({count:,} such rows)" if count > 1 else "")


def _no_events(file: EventFile) -> str:
    """Describe a file without event records; return "" if the file may contain event records or has a mapping."""
    if file.mapping is not None:
        return ""
    try:
        found = file.inspected()
    except (FileError, UnicodeDecodeError):
        return ""
    members = {column.name for column in found.columns}
    if found.form == "events" or (found.form == "json" and {"series", "timestamp"} & members):
        return ""
    what = f"{file.name}: is {LANGUAGES[found.form]}, not event records"
    return f"{what}; `landmark-stream inspect {file.name}` shows how to read it"


def _why(mapping: FileMapping | None, reason: Reason, policy: Policy | None, found: documents.Line) -> str:
    document = found.document
    if not isinstance(document, dict):
        return _no_record(found.written, found.fault)
    if reason == "malformed":
        return _malformed(mapping, document)
    if reason == "wrong-type":
        return untaken(document.get("type", "observation"))
    if reason == "invalid-value":
        value = document.get("value")
        return _apart(policy, value) or _invalid(mapping, policy, value)
    series, at = document.get("series"), document.get("timestamp")
    if reason == "duplicate" and isinstance(at, int) and document.get("type", "observation") == "observation":
        of = _repeated(str(series), at, policy)
        several = mapping is not None and mapping.series is not None
        single = policy is None or not policy.takes_several
        within = "; if a step has several readings, `protection.within` makes one value of them" if single else ""
        return f"{of}{within}{'; if the file has several series, set their --series-column' if several else ''}"
    if reason == "late" and isinstance(at, int):
        unit = _unit(at, policy)
        behind = (
            f"another reading of the unit that begins at {unit}, or its step is over" if unit else "a processed step"
        )
        return f"{moment_in_words(at)} is earlier than {behind}; sort the file by time"
    return f"the first record that is {reason}; the counts say what to do"


def _repeated(series: str, at_ms: int, policy: Policy | None) -> str:
    """Describe what was repeated: a step, which can have only one release, or a time among several readings."""
    moment = moment_in_words(at_ms)
    if unit := _unit(at_ms, policy):
        return (
            f"a second reading of {series} at {moment}, in the unit that begins at {unit}, which accepts one "
            "reading per time"
        )
    if policy is not None and policy.within is not None:
        return f"a second reading of {series} at {moment}; a step accepts one reading per time"
    if policy is None:
        return f"a second record of {series} for the step of {moment}, which can have only one release"
    begins = moment_in_words(policy.start_of(policy.index_of(at_ms)))
    return f"a second record of {series} for the step that begins at {begins}, which can have only one release"


def _unit(at_ms: int, policy: Policy | None) -> str:
    """Return the start of the unit around a moment, or "" if the policy has no units."""
    if policy is None or policy.units is None:
        return ""
    grid = policy.units.grid
    return moment_in_words(grid.start_of(grid.index_of(at_ms)))


def untaken(kind: object) -> str:
    """Return why a series does not accept records of a type."""
    match kind:
        case "watermark":
            return (
                "the series has one observation per step, so no step waits for a watermark; watermarks are for "
                "policies with `collect` or `protection.within`"
            )
        case "observation":
            return "the policy of the series has `collect`, so it accepts contributions, not observations"
        case _:
            return f"the policy of the series has no `collect`, so it accepts no {kind}; send observations"


def _no_record(written: bytes, fault: str) -> str:
    if written.lstrip().startswith(b"[") or not fault:
        return "is a JSON list or a part of one; write one record per line, without brackets around them"
    if fault == documents.NO_OBJECT:
        return "is not a JSON object; write one record per line; the name of a CSV file must end in .csv"
    return f"{fault}; write one event record per line" if fault == documents.UNCLOSED else fault


def _malformed(mapping: FileMapping | None, document: Mapping[str, object]) -> str:
    if mapping is not None:
        if document["series"] is None or document["series"] == "":
            return f"{mapping.series_column or '--series'}: is empty; specify the series"
        return f"{' and '.join(mapping.timestamp_columns)}: {_unreadable(mapping, document['timestamp'])}"
    kind = document.get("type", "observation")
    if not isinstance(kind, str) or kind not in TYPES:
        return f"type: is not one of {', '.join(TYPES)}{meant(kind, TYPES) if isinstance(kind, str) else ''}"
    wanted = {"observation": ("series", "timestamp", "value"), "member": ("member", "epsilon")}.get(kind, ("series",))
    if missing := [name for name in wanted if name not in document]:
        return f"{', '.join(missing)}: is missing{''.join(meant(name, document) for name in missing)}"
    whose = wanted[0]
    if not isinstance(document[whose], str) or not document[whose]:
        return f"{whose}: found {shown(document[whose])}; use text of 1 to {wire.LARGEST_SERIES_BYTES} bytes"
    if "timestamp" in document:
        return f"timestamp: {_no_time(document['timestamp'], iso=False)}"
    return f"is not a valid {kind} record; {page_at('reference/records.md')} lists its members"


def _unreadable(mapping: FileMapping, found: object) -> str:
    if mapping.time_format is not None and found is None:
        return f"does not fit --time-format {mapping.time_format}"
    more = "" if mapping.time_format or found is not None else "; or give its format with --time-format"
    return f"{_no_time(found)}{more}"


def _no_time(found: object, *, iso: bool = True) -> str:
    """Return what is wrong with a timestamp; if not ``iso``, only integers are valid."""
    if type(found) is int and found > LAST_TIMESTAMP_MS:
        unit, factor = ("nano", "1,000,000") if found >= _NANOSECONDS else ("micro", "1,000")
        return f"lies after the year 9999; if it is in {unit}seconds, divide by {factor} for milliseconds"
    if type(found) is int and found < 0:
        return "is before 1970; use milliseconds since 1970-01-01 UTC"
    what = "whole milliseconds since 1970" + (
        ", or ISO 8601 with offset, as in 2026-01-31T08:00:00+01:00" if iso else ""
    )
    return f"is not a time; use {what}" if iso else f"found {shown(found)}; use {what}"


def _apart(policy: Policy | None, value: object) -> str:
    """Return how the columns of a value differ from the parts of its kind, or "" if they do not differ."""
    if policy is None:
        return ""
    kind, named = policy.kind.item, tuple(value) if isinstance(value, dict) else ()
    parts = kind.columns
    if set(named) == set(parts) or (named and isinstance(kind, Counts) and set(named) <= set(parts)):
        return ""
    if not parts:
        return f"value: has the parts {', '.join(named)}, but the policy's kind accepts one value; specify one column"
    columns = ",".join(f"{part}=COLUMN" for part in parts)
    found = f"the parts {', '.join(named)}" if named else "no parts"
    needs = f"the policy's kind needs {', '.join(parts)}"
    return f"value: has {found}, but {needs}; specify columns as in --value-columns {columns}"


def _invalid(mapping: FileMapping | None, policy: Policy | None, value: object) -> str:
    # PRIVACY: only the form of a value is revealed, to whoever has the file; an example is shown instead of the value.
    columns = [] if mapping is None else list(mapping.value_columns.values())
    names = [name for name, cell in value.items() if isinstance(cell, str)] if isinstance(value, dict) else columns
    cells = [cell for cell in value.values() if isinstance(cell, str)] if isinstance(value, dict) else [value]
    place = f"{names[0]}: " if names else "value: "
    cell = cells[0] if cells else None
    if cell is None or cell == "":
        if mapping is None:
            return f"{place}is not a value; omit the record"
        return f"{place}is empty; add --missing \"''\" to skip rows with an empty cell"
    if mapping is not None and mapping.decimal == "," and isinstance(cell, str) and _POINT.fullmatch(cell):
        return f"{place}a number has a point: if it is like 1.5, omit --decimal , and if it is like 1.500,0, write 1500"
    if isinstance(cell, str) and (known := next((said for form, said in _FORMS if form.fullmatch(cell)), "")):
        return f"{place}{known}"
    numbers = policy is not None and not isinstance(policy.kind.item.guess, str | bool)
    if mapping is not None and numbers and isinstance(cell, str):
        return f"{place}is text, not a number; map it to a number with --words, or skip it with --missing"
    declared: Any = {} if policy is None else policy.parameters["value"]
    fits = f"kind {declared['kind']} of its policy" if declared else "its policy"
    return f"{place}is {shown(cell)}, which does not fit {fits}; correct the value, or the policy's `value`"
