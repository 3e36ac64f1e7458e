"""A policy in words: one paragraph that says what it promises, of what it does not, and for how long.

It is written from the parameters of a policy record, which the ledger has too, so the core's shells and the audit say
the same of it. Every sentence follows docs/guarantee.md.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import ceil, exp, floor, log
from textwrap import fill
from typing import Any, Final, NamedTuple

from stream_app.calendar.words import UNITS, duration_in_words, moment_in_words
from stream_app.words.amount import NANO, amount, promised

Parameters = Mapping[str, Any]
"""The parameters of a valid policy record: what it has besides type, series and version."""

_NAMES: Final = {"d": "day", "h": "hour", "min": "minute", "s": "second", "ms": "millisecond"}
_GLOB: Final = frozenset("*?[")
_MARKED: Final = "Some moments were marked as yours to protect together, such as the hours of a visit: landmarks."
_LARGEST_FACTOR: Final = 6_900_000_000
"""Up to this epsilon (in nano-epsilon) the factor itself is said, which is below 1,000; beyond it nobody reads it."""

DRAWN: Final = "drawn"
"""Dummies are among the landmarks, by a method that is not known."""


class Circumstances(NamedTuple):
    """What a policy's parameters do not say, and its paragraph should: from the settings, or from the ledger."""

    lifetime_nano: int | None = None
    """What bounds all versions of the series together; None: what the policy says, else the first version's epsilon."""
    cap_nano: int | None = None
    """What bounds all series of a member together; None: nothing is known to."""
    landmarks: int | None = None
    """Landmark steps by now, with those registered since; None: those of the parameters."""
    dummies: str = ""
    """How the landmarks were drawn, from the ledger, or DRAWN where that is not known; "": none were."""


_ALONE: Final = Circumstances()


def in_words(parameters: Parameters, series: str = "", known: Circumstances = _ALONE) -> str:
    """Return one paragraph on what a policy promises to a series, or to each one that a glob matches.

    ``series`` "" is any series. ``series`` must be printable: a name out of a ledger is made so before.
    """
    return " ".join(_sentences(parameters, series, known))


def for_the_person(
    parameters: Parameters, series: str, known: Circumstances, used_nano: int, end: str, before: str = ""
) -> str:
    """Return a paragraph for the person whose series it is: what is promised to them, and how much of it is used.

    ``end`` is a sentence that says when that ends and what happens then, ``before`` one on earlier promises, if any.
    """
    unit, collect = _Unit.of(parameters["protection"].get("step", 1)), parameters.get("collect")
    epsilon_nano = epsilon_nano_of(parameters)
    published = f"About you ({series}) values are published, by the {unit.name}, with noise added to each"
    if collect:
        published = f"What you send to {series} is published with what others send, by the {unit.name}, with noise"
    where = _where(parameters, unit, known).replace("its first event", "the first event")
    if not collect:
        where = where.replace("at its ", "at your ").replace("landmark", "marked moment")
    yours = _how_far(parameters, unit).replace("the item of one contributor", "the item that you sent")
    yours = yours.replace("whether one contributor takes part", "whether you took part")
    differ = (
        f"Take two accounts of what happened that differ only {where}{yours} and nowhere else. Whatever odds somebody "
        f"gave one against the other, what is published of {series} changes them by a factor {_factor(epsilon_nano)} "
        f"at most{_chance(epsilon_nano)}."
    )
    capped = known.cap_nano is not None and not collect
    together = f"All series kept as yours together change such odds by a factor {_factor(known.cap_nano or 0)} at most."
    check = (
        "Who has the secret key of the noise could take it off: ask who has it. Whether the promise was kept anybody "
        "can check in the ledger, without that key and without your data."
    )
    marked = _MARKED * (parameters["protection"]["level"] == "landmark" and not collect)
    used = f"Of the budget for that {promised(used_nano, epsilon_nano)} is used so far."
    beyond = [*_beyond(parameters, unit), *_open(parameters, unit, known)]
    ends = f"When it ends: {end[0].lower()}{end[1:]}"
    said = [f"{published}.", marked, differ, before, together * capped, *beyond, used, ends, check]
    return " ".join(sentence for sentence in said if sentence)


def wrapped(paragraph: str, indent: str = "  ", width: int = 78) -> str:
    """Return a paragraph as lines of a terminal, each indented; long words are not broken."""
    return fill(paragraph, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def epsilon_nano_of(parameters: Parameters) -> int:
    """Return a policy's epsilon in nano-epsilon."""
    return _nano(parameters["epsilon"])


def _sentences(parameters: Parameters, series: str, known: Circumstances) -> Iterator[str]:
    protection, collect = parameters["protection"], parameters.get("collect") or {}
    unit = _Unit.of(protection.get("step", 1))
    epsilon_nano = epsilon_nano_of(parameters)
    yield (
        f"Any two histories of {_whose(series)} that differ only {_where(parameters, unit, known)}"
        f"{_how_far(parameters, unit)} look alike up to a factor {_factor(epsilon_nano)}: whatever is published is at "
        "most so many times as probable under one as under the other."
    )
    if protection.get("within"):
        yield f"All readings of {unit.one} count as one event."
    yield from _beyond(parameters, unit)
    if protection["level"] == "landmark":
        yield from _landmarks(parameters, known)
    if collect.get("intrusion_nano"):
        look = amount(collect["intrusion_nano"])
        yield (
            "Who also looks at the counters in memory, at announced moments, learns up to epsilon "
            f"{look} more for each {unit.name} exposed to that."
        )
    yield from _open(parameters, unit, known)
    yield from _versions(parameters, known)
    yield "The guarantee is computational: the noise comes of a secret key, and who has that can take it off."


class _Unit(NamedTuple):
    """What a step is called: an hour, or a step of 5 min."""

    name: str
    plural: str
    one: str

    @classmethod
    def of(cls, step_ms: int) -> "_Unit":
        for unit, length_ms in UNITS:
            if step_ms == length_ms:
                name = _NAMES[unit]
                return cls(name, f"{name}s", f"{'an' if name == 'hour' else 'a'} {name}")
        length = duration_in_words(step_ms)
        return cls(f"step of {length}", f"steps of {length}", f"a step of {length}")

    def many(self, number: int) -> str:
        return f"{number:,} {self.name if number == 1 else self.plural}"


def _whose(series: str) -> str:
    if not series:
        return "a series"
    return f"a series whose name matches {series}" if _GLOB & set(series) else series


def _where(parameters: Parameters, unit: _Unit, known: Circumstances) -> str:
    protection = parameters["protection"]
    window = protection.get("window") or 1
    row = f"at one {unit.name}" if window == 1 else f"at any {unit.many(window)} in a row"
    match protection["level"]:
        case "event" | "w-event":
            return row
        case "user":
            return f"at the {unit.many(protection['length'])} from its first event on"
        case _:
            return f"at {_marked(parameters, known)} and {row.replace('at one', 'at one other')}"


def _marked(parameters: Parameters, known: Circumstances) -> str:
    if parameters.get("dummies"):
        # PRIVACY: the true landmarks are a secret, their number too.
        return "its landmarks, dummies among them,"
    number = landmark_steps(parameters) if known.landmarks is None else known.landmarks
    if not number:
        return "its landmarks (none so far)"
    noun = "landmark" if number == 1 else "landmarks"
    return f"its {number:,} {noun}, dummies among them," if known.dummies else f"its {number:,} {noun}"


def landmark_steps(parameters: Parameters) -> int:
    """Return how many steps the landmarks of a policy's parameters are."""
    protection = parameters["protection"]
    step_ms = protection.get("step", 1)
    spans = [
        (span, span + 1) if isinstance(span, int) else (span[0], span[1]) for span in protection.get("landmarks") or ()
    ]
    number, reached = 0, -1
    for first, end in sorted((start // step_ms, -(-end // step_ms)) for start, end in spans):
        number += max(0, end - max(first, reached))
        reached = max(reached, end)
    return number


def _how_far(parameters: Parameters, unit: _Unit) -> str:
    """Return by how much neighbours may differ where they do; "" for any two values."""
    value, collect = parameters["value"], parameters.get("collect")
    if collect:
        who = (
            "the item of one contributor"
            if collect["neighbours"] == "replace"
            else "whether one contributor takes part"
        )
        return f", and at each such {unit.name} only in {who},"
    match value["kind"]:
        case "number" if (
            value.get("sensitivity") is not None and value["sensitivity"] < value["upper"] - value["lower"]
        ):
            gathered = " in what the readings come to" if parameters["protection"].get("within") else ""
            return f", and there by {_number(value['sensitivity'])} at most{gathered},"
        case "counts":
            return f", and there by counts that sum to {value.get('sensitivity', 1):,} at most,"
        case "location":
            return f", and there by {_number(value['radius'])} m at most, inside its bounds,"
        case _:
            return ""


def _beyond(parameters: Parameters, unit: _Unit) -> Iterator[str]:
    protection = parameters["protection"]
    match protection["level"]:
        case "event":
            yield f"Each further {unit.name} at which they differ multiplies this by the same factor again."
        case "w-event":
            yield "Nothing bounds what many such windows tell together."
        case "user":
            yield "Once they are over nothing more is measured."
        case _:
            further = "such window" if (protection.get("window") or 1) > 1 else unit.name
            yield f"Each further {further} at which they differ makes them easier to tell apart."


def _landmarks(parameters: Parameters, known: Circumstances) -> Iterator[str]:
    method = parameters["dummies"]["method"] if parameters.get("dummies") else known.dummies
    if not method:
        spare = parameters["protection"].get("spare", 0)
        kept = f"; budget is kept for {spare:,} of them" if spare else ""
        yield f"Landmarks that are registered later count among them{kept}."
        return
    yield "The dummies blur which landmarks are true ones; that is no differential privacy of where these are."
    if method == DRAWN:
        yield "Were they drawn by padding, that it is one may cost each true landmark ln(1/p) besides."
    if method == "padding":
        chance = (parameters.get("dummies") or {}).get("probability")
        loss = "" if chance is None else f" = {max(0.0, -log(chance)):.3g}"
        yield f"That it is one may cost each true landmark ln(1/p){loss} besides, p the chance by which others join."


def _open(parameters: Parameters, unit: _Unit, known: Circumstances) -> Iterator[str]:
    """Say what is not hidden, and what is not counted."""
    protection, collect = parameters["protection"], parameters.get("collect") or {}
    told = []
    if collect:
        public = "how many items each of them has" if collect["neighbours"] == "replace" else "that records come in"
        told.append(f"which {unit.plural} are published and {public}")
    elif protection.get("absent", "approximated") == "approximated":
        told.append(f"at which {unit.plural} there are {'readings' if protection.get('within') else 'events'}")
    else:
        told.append(f"that records come in, though no release shows at which {unit.plural}")
    if parameters["value"].get("invalid", "reject") == "reject":
        told.append(f"whether {'an item' if collect else 'a value'} was valid")
    if protection["level"] == "landmark" and not (parameters.get("dummies") or known.dummies):
        told.append("where the landmarks are")
    yield f"Not hidden: {'; '.join(told)}."
    others = "" if known.cap_nano is not None and not collect else " nor what other series of the same person tell"
    yield f"Not counted: what neighbouring {unit.plural} tell of each other{',' * bool(others)}{others}."


def _versions(parameters: Parameters, known: Circumstances) -> Iterator[str]:
    said = parameters.get("lifetime")
    bounds = [nano for nano in (known.lifetime_nano, None if said is None else _nano(said)) if nano is not None]
    bound = "the configured lifetime (without one, the epsilon of the first)"
    if bounds:
        bound = f"epsilon {amount(min(bounds))}"
    yield (
        "Each further version promises this anew; for histories that differ so under every version all of them "
        f"together cost at most {bound}."
    )
    if renew := parameters.get("renew"):
        many = f"{len(renew):,} moments, {moment_in_words(renew[0])} to {moment_in_words(renew[-1])}"
        when = moment_in_words(renew[0]) if len(renew) == 1 else many
        yield f"It begins its next version by itself at {when}, where that bound has room."
    if known.cap_nano is not None and not parameters.get("collect"):
        yield f"What all series of one member may cost together is epsilon {amount(known.cap_nano)} at most."


def _factor(epsilon_nano: int) -> str:
    power = f"e^{amount(epsilon_nano).removesuffix('.0')}"
    return f"{power} (about {exp(epsilon_nano / NANO):.3g})" if epsilon_nano <= _LARGEST_FACTOR else power


def _chance(epsilon_nano: int) -> str:
    """Return what a chance of a tenth becomes at most, rounded up; "" where that is nearly certain."""
    if epsilon_nano > _LARGEST_FACTOR:
        return ""
    factor = exp(epsilon_nano / NANO)
    likely = ceil(1000 * factor / (factor + 9)) / 10
    return f": who held one for 10 % likely and the other for 90 % then holds it for {likely:g} % likely"


def _nano(epsilon: float) -> int:
    return floor(Decimal(repr(epsilon)) * NANO)


def _number(number: float) -> str:
    return f"{number:,}".removesuffix(".0")
