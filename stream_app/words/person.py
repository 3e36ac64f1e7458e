"""What may be told to a person: what is promised to them, what is not, and how much of it is used.

Nobody explains a paragraph that is handed over, so it says no more than the books behind it can show.
"""

from math import ceil, exp
from typing import Final

from stream_app.words.amount import NANO, promised
from stream_app.words.promise import (
    LARGEST_FACTOR,
    Circumstances,
    Parameters,
    Unit,
    beyond,
    blurred,
    changes,
    epsilon_nano_of,
    factor,
    how_far,
    not_hidden,
    where,
)

_MARKED: Final = "Some moments were marked as yours to protect together, such as the hours of a visit: landmarks."
_BOOKS: Final = (
    "Who has the secret key of the noise could take it off: ask the publisher who has it. That the budget was kept "
    "to anybody can check in the ledger, without that key and without your data. That the noise is what the ledger "
    "says it is no ledger shows: that is for the publisher to answer for."
)


def for_the_person(
    parameters: Parameters, series: str, known: Circumstances, used_nano: int, end: str, versions: str = ""
) -> str:
    """Return a paragraph for the person whose series it is: what is promised to them, and how much of it is used.

    ``end`` is a sentence that says when publishing ends, ``versions`` are some on earlier and later promises, if any.
    """
    unit, collect = Unit.of(parameters["protection"].get("step", 1)), parameters.get("collect")
    epsilon_nano = epsilon_nano_of(parameters)
    published = f"About you ({series}) values are published, by the {unit.name}, with noise added to each"
    if collect:
        published = f"What you send to {series} is published with what others send, by the {unit.name}, with noise"
    differing = where(parameters, unit, known).replace("its first event", "the first event")
    if not collect:
        differing = differing.replace("at its ", "at your ").replace("landmark", "marked moment")
    yours = how_far(parameters, unit).replace("the item of one contributor", "the item that you sent")
    yours = yours.replace("whether one contributor takes part", "whether you took part and what you sent")
    times = changes(parameters)
    differ = (
        f"Take two accounts of what happened that differ only {differing}{yours} and nowhere else. Whatever odds "
        f"somebody gave one against the other, what is published of {series} changes them by a factor "
        f"{factor(times * epsilon_nano)} at most{_chance(times * epsilon_nano)}."
    )
    capped = known.cap_nano is not None and not collect
    together = (
        "All series kept as yours together change the odds of accounts that differ in each as its promise says by "
        f"a factor {factor(known.cap_nano or 0)} at most."
    )
    marked = _MARKED * (parameters["protection"]["level"] == "landmark" and not collect)
    hidden = [*blurred(parameters, known), not_hidden(parameters, unit, known)]
    elsewhere = "outside of these series" if capped else "in any other way"
    uncounted = (
        f"Not counted: what neighbouring {unit.plural} tell of each other, nor what is published of you {elsewhere} or "
        "of people near you."
    )
    budget = "Of the budget for that" if times == 1 else "Of the budget, which counts a change of what you sent as two,"
    used = f"{budget} {promised(used_nano, epsilon_nano)} is used so far."
    stays = "What was published stays public, and the promise about it has no end."
    ends = f"When publishing ends: {end[0].lower()}{end[1:]} {stays}"
    further = [*beyond(parameters, unit), together * capped, versions]
    said = [f"{published}.", marked, differ, *further, *hidden, uncounted, used, ends, _BOOKS]
    return " ".join(sentence for sentence in said if sentence)


def later(epsilon_nano: int, known: Circumstances, parameters: Parameters) -> str:
    """Return a sentence on versions to come; "" where no more is allowed than what this one and earlier ones cost."""
    bound_nano = known.lifetime_nano or known.first_nano
    if bound_nano is None or (known.lifetime_nano is not None and bound_nano <= epsilon_nano):
        return ""
    unless = ", unless the publisher allows more, which the ledger does not say" * (known.lifetime_nano is None)
    return (
        "Rules that come later may promise this anew: all of them together change the odds of accounts that differ "
        f"under each of them only as it says by a factor {factor(changes(parameters) * bound_nano)} at most{unless}."
    )


def _chance(epsilon_nano: int) -> str:
    """Return what a chance of a tenth becomes at most, rounded up; "" where that is nearly certain."""
    if epsilon_nano > LARGEST_FACTOR:
        return ""
    change = exp(epsilon_nano / NANO)
    likely = ceil(1000 * change / (change + 9)) / 10
    return f": who held one for 10 % likely and the other for 90 % then holds it for {likely:g} % likely"
