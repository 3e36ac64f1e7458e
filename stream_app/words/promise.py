"""A policy in words: one paragraph that says what it guarantees, what it does not, and for how long.

The paragraph is written from the parameters of a policy record. The ledger contains them too, so `check` and the audit
say the same. Every sentence follows docs/guarantee.md.
"""

from collections.abc import Iterator
from decimal import Decimal
from math import exp, floor, log
from textwrap import fill
from typing import Final, NamedTuple

from stream_app.calendar.words import moment_in_words
from stream_app.words.amount import NANO, amount
from stream_app.words.unit import Parameters, Unit, in_figures, of_units, protected, resemblance

_GLOB: Final = frozenset("*?[")
LARGEST_FACTOR: Final = 6_900_000_000
"""The largest epsilon, in nano-epsilon, whose factor is written out; that factor is below 1,000.

Nobody reads larger factors.
"""

DRAWN: Final = "drawn"  # the landmarks include dummies, drawn by an unknown method


class Circumstances(NamedTuple):
    """Facts for the paragraph beyond the policy's parameters, from the settings or the ledger."""

    lifetime_nano: int | None = None
    """The limit of all versions of the series together.

    None means the policy's limit or, without one, the first version's epsilon.
    """
    cap_nano: int | None = None  # the limit of all series of a person together; None: no limit is known
    landmarks: int | None = None  # landmark steps now, registered ones included; None: those of the parameters
    first_nano: int | None = None  # epsilon of the first version, which limits all versions if nothing else does
    dummies: str = ""  # how they were drawn by the ledger, or DRAWN if the method is unknown; "": none


_ALONE: Final = Circumstances()
_FROM_KAFKA: Final = "for readers of Kafka's releases or ledger, whose `input` header counts records"


def in_words(parameters: Parameters, series: str = "", known: Circumstances = _ALONE) -> str:
    """Return one paragraph on what a policy guarantees for a series, or for each series matching a glob.

    ``series`` "" means any series. ``series`` must be printable; escape names from a ledger first.
    """
    return " ".join(_sentences(parameters, series, known))


def wrapped(paragraph: str, indent: str = "  ", width: int = 78) -> str:
    """Return a paragraph as indented lines for a terminal; long words are not broken."""
    return fill(paragraph, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def epsilon_nano_of(parameters: Parameters) -> int:
    """Return a policy's epsilon in nano-epsilon."""
    return _nano(parameters["epsilon"])


def _sentences(parameters: Parameters, series: str, known: Circumstances) -> Iterator[str]:
    protection, collect = parameters["protection"], parameters.get("collect") or {}
    unit = protected(parameters)
    epsilon_nano = epsilon_nano_of(parameters)
    yield (
        f"Take two histories of {_whose(series)} that differ only {where(parameters, unit, known)}"
        f"{how_far(parameters, unit)}. Whatever is published is at most {factor(epsilon_nano)} times as likely under "
        "one as under the other."
    )
    if protection.get("unit"):
        yield from of_units(parameters, unit)
    elif protection.get("within"):
        yield f"All readings of {unit.one} count as one event."
    yield from beyond(parameters, unit)
    if (times := changes(parameters)) > 1:
        yield (
            "Replacing one contributor's item removes one item and adds one. This can cost twice as much: a factor of "
            f"{factor(times * epsilon_nano)}."
        )
    if protection["level"] == "landmark":
        if leaves_out_landmarks(parameters):
            yield "Landmarks are not published. Each one repeats the last release or is withheld, at no cost."
        yield from _later_landmarks(parameters, known)
        yield from blurred(parameters, known)
    if collect.get("intrusion_nano"):
        look = amount(collect["intrusion_nano"])
        yield (
            f"Anyone who also sees the in-memory counters at announced times learns up to epsilon {look} more about "
            f"each {unit.name} that was exposed."
        )
    yield not_hidden(parameters, unit, known)
    others = "other series of the same person or of other people reveal"
    if known.cap_nano is not None and not collect:
        others = "is published about the same person in any other way, or about other people"
    if protection.get("unit"):
        yield (
            f"{resemblance(unit)} Choose a unit, or a window of several units, that is at least as long as values "
            "stay alike."
        )
    yield f"Not covered: what neighbouring {unit.plural} reveal about each other, and what {others}."
    yield from _versions(parameters, known)
    yield "The guarantee is computational: the noise comes from a secret key, and anyone who has the key can remove it."


def _whose(series: str) -> str:
    return f"a series whose name matches {series}" if _GLOB & set(series) else series or "a series"


def where(parameters: Parameters, unit: Unit, known: Circumstances) -> str:
    """Describe the steps at which neighbours may differ."""
    protection = parameters["protection"]
    window = protection.get("window") or 1
    row = f"at one {unit.name}" if window == 1 else f"at any {unit.many(window)} in a row"
    match protection["level"]:
        case "event" | "w-event":
            return row
        case "user":
            return f"at the {unit.many(protection['length'])} that start with its first event"
        case _:
            return f"at {_marked(parameters, known)} and {row.replace('at one', 'at one other')}"


def _marked(parameters: Parameters, known: Circumstances) -> str:
    if parameters.get("dummies"):
        # PRIVACY: the true landmarks are a secret, and so is their number.
        return "its landmarks, dummies included,"
    number = landmark_steps(parameters) if known.landmarks is None else known.landmarks
    out = ", which are left out," if parameters["protection"].get("unit") else ""
    if not number:
        return f"its landmarks (none so far){out}"
    noun = "landmark" if number == 1 else "landmarks"
    out = out.replace("are", "is") if number == 1 else out
    return f"its {number:,} {noun}, dummies included{out or ','}" if known.dummies else f"its {number:,} {noun}{out}"


def landmark_steps(parameters: Parameters) -> int:
    """Return how many steps, or units, the landmarks in a policy's parameters cover."""
    protection = parameters["protection"]
    step_ms, origin_ms = protection.get("unit") or protection.get("step", 1), protection.get("offset") or 0
    spans = [
        (span, span + 1) if isinstance(span, int) else (span[0], span[1]) for span in protection.get("landmarks") or ()
    ]
    number, reached = 0, -origin_ms - 1
    for first, end in sorted(((start - origin_ms) // step_ms, -((origin_ms - end) // step_ms)) for start, end in spans):
        number += max(0, end - max(first, reached))
        reached = max(reached, end)
    return number


def how_far(parameters: Parameters, unit: Unit) -> str:
    """Return how far neighbours may differ at each differing step, or "" if any two values are neighbours."""
    value, collect = parameters["value"], parameters.get("collect")
    if collect:
        who = (
            "the item of one contributor"
            if collect["neighbours"] == "replace"
            else "whether one contributor takes part"
        )
        return f", and at each such {unit.name} only in {who}"
    match value["kind"]:
        case "number" if (
            value.get("sensitivity") is not None and value["sensitivity"] < value["upper"] - value["lower"]
        ):
            gathered = " in the aggregate of the readings" if parameters["protection"].get("within") else ""
            return f", and there by at most {in_figures(value['sensitivity'])}{gathered}"
        case "counts":
            return f", and there by counts that sum to at most {value.get('sensitivity', 1):,}"
        case "location":
            return f", and there by at most {in_figures(value['radius'])} m, inside its bounds"
        case "number" | "category" | "vector":
            return ""
        case other:
            raise AssertionError(f"kind {other} does not say here how far neighbours may differ")


def changes(parameters: Parameters) -> int:
    """Return how many changes between neighbours make a contributor send a different item: two under add-remove."""
    return 2 if (parameters.get("collect") or {}).get("neighbours") == "add-remove" else 1


def beyond(parameters: Parameters, unit: Unit) -> Iterator[str]:
    """Yield what the guarantee becomes for histories that differ at additional steps."""
    protection = parameters["protection"]
    match protection["level"]:
        case "event":
            yield f"Each further {unit.name} at which they differ multiplies this limit by the same factor."
        case "w-event":
            yield "Nothing limits what many such windows reveal together."
        case "user":
            yield f"Nothing more is measured after these {unit.plural}."
        case _:
            further = "in more such windows" if (protection.get("window") or 1) > 1 else f"at more {unit.plural}"
            yield f"Histories that differ {further} are easier to distinguish."


def leaves_out_landmarks(parameters: Parameters) -> bool:
    """Return whether the scheme gives landmarks no share; false with units, which are described elsewhere."""
    scheme = parameters["scheme"]
    nothing = scheme["name"] == "skip" or (scheme["name"] == "balanced" and scheme.get("regular_share") == 1)
    return nothing and not parameters["protection"].get("unit")


def _later_landmarks(parameters: Parameters, known: Circumstances) -> Iterator[str]:
    if not (parameters.get("dummies") or known.dummies):
        spare = parameters["protection"].get("spare", 0)
        if parameters["protection"].get("unit"):
            kept = f", which is reserved for {spare:,} of them" if spare else ""
            yield (
                "Landmarks that are registered before their step is published are left out as well. Landmarks that "
                f"are registered later are also protected, but they use budget{kept}."
            )
            return
        kept = (
            f", and budget is reserved for {spare:,} of them" if spare and not leaves_out_landmarks(parameters) else ""
        )
        yield f"Landmarks that are registered later are also protected{kept}."


def blurred(parameters: Parameters, known: Circumstances) -> Iterator[str]:
    """Yield what dummies achieve; yield nothing if there are none."""
    method = parameters["dummies"]["method"] if parameters.get("dummies") else known.dummies
    if method:
        yield "Dummies obscure which landmarks are true. This is not differential privacy for their positions."
    if method == DRAWN:
        yield (
            "If padding drew them, each true landmark may leak another ln(1/p) about the fact that it is a landmark."
        )
    if method == "padding":
        chance = (parameters.get("dummies") or {}).get("probability")
        loss = "" if chance is None else f" = {max(0.0, -log(chance)):.3g}"
        yield (
            f"Each true landmark may leak another ln(1/p){loss} about the fact that it is a landmark; p is the "
            "probability with which each other step joins."
        )


def not_hidden(parameters: Parameters, unit: Unit, known: Circumstances) -> str:
    """Return a sentence on what everybody can see."""
    protection, collect = parameters["protection"], parameters.get("collect") or {}
    told = []
    if collect and collect["neighbours"] == "replace":
        told.append(f"which {unit.plural} are published and how many items each of them has")
    elif collect:
        told.append(f"which {unit.plural} are published; that records arrive; and how many, {_FROM_KAFKA}")
    elif protection.get("unit"):
        told.append(f"which {unit.plural} have readings, and how many of them are counted")
    elif protection.get("absent", "approximated") == "approximated":
        told.append(f"which {unit.plural} have {'readings' if protection.get('within') else 'events'}")
    else:
        told.append(f"that records arrive, but not in which {unit.plural}, except {_FROM_KAFKA}")
    if parameters["value"].get("invalid", "reject") == "reject":
        told.append(f"whether {'an item' if collect else 'a value'} was valid")
    if protection["level"] == "landmark" and not (parameters.get("dummies") or known.dummies):
        told.append("where the landmarks are")
    return f"Visible to everyone: {'; '.join(told)}."


def _versions(parameters: Parameters, known: Circumstances) -> Iterator[str]:
    said = parameters.get("lifetime")
    bounds = [nano for nano in (known.lifetime_nano, None if said is None else _nano(said)) if nano is not None]
    first = "the epsilon of the first version" if known.first_nano is None else f"epsilon {amount(known.first_nano)}"
    bound = f"the configured lifetime (without one, {first})"
    if bounds:
        bound = f"epsilon {amount(min(bounds))}"
    yield (
        "Each later version gives this guarantee again. For histories that differ in this way under every version, "
        f"all versions together cost at most {bound}."
    )
    if renew := parameters.get("renew"):
        many = f"{len(renew):,} moments, {moment_in_words(renew[0])} to {moment_in_words(renew[-1])}"
        when = moment_in_words(renew[0]) if len(renew) == 1 else many
        yield f"Its next version starts automatically at {when} if this limit permits."
    if known.cap_nano is not None and not parameters.get("collect"):
        yield f"All series of one person together cost at most epsilon {amount(known.cap_nano)}."


def factor(epsilon_nano: int) -> str:
    """Return the largest factor by which odds change."""
    power = f"e^{amount(epsilon_nano).removesuffix('.0')}"
    return f"{power} (about {exp(epsilon_nano / NANO):.3g})" if epsilon_nano <= LARGEST_FACTOR else power


def _nano(epsilon: float) -> int:
    return floor(Decimal(repr(epsilon)) * NANO)
