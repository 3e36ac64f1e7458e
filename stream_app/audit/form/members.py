"""What one member of a policy may be: domains of whole numbers, numbers, texts and lists, and what they say."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Member(NamedTuple):
    """What one member may be."""

    fits: Callable[[Any], bool]
    says: str
    needed: bool = False


def needed(member: Member) -> Member:
    """Return the same domain for a member that may not be left out."""
    return member._replace(needed=True)


def whole(least: int, most: int) -> Member:
    """Return the domain of whole numbers, without booleans."""
    return Member(lambda found: type(found) is int and least <= found <= most, f"a whole number of {least} to {most}")


def number(least: float, most: float) -> Member:
    """Return the domain of numbers, whole ones too."""
    return Member(lambda found: is_number(found) and least <= found <= most, f"a number of {least} to {most}")


def positive(most: float) -> Member:
    """Return the domain of numbers above 0."""
    return Member(lambda found: is_number(found) and 0 < found <= most, f"a number above 0, at most {most}")


def one_of(*texts: str) -> Member:
    """Return the domain of some texts."""
    return Member(lambda found: isinstance(found, str) and found in texts, f"one of {', '.join(texts)}")


def listed(fits: Callable[[Any], bool], least: int, says: str) -> Member:
    """Return the domain of lists of different items, `least` to 4096 of them."""
    return Member(
        lambda found: (
            isinstance(found, list) and least <= len(found) <= 4096 and all(map(fits, found)) and _different(found)
        ),
        f"a list of {least} to 4096 different {says}",
    )


def or_null(member: Member) -> Member:
    """Return the domain with null in it."""
    return Member(lambda found: found is None or member.fits(found), f"{member.says}, or null")


def is_number(found: object) -> bool:
    """Tell whether JSON's number was found: true and false are none."""
    return type(found) in (int, float)


def _different(found: list[Any]) -> bool:
    return len(set(found)) == len(found)
