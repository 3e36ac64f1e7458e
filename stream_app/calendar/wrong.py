"""What is wrong with times that people wrote: the member, what was found, and the remedy."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Wrong(NamedTuple):
    """One thing wrong; ``member`` is relative to what was read, empty for all of it."""

    member: str
    found: str
    remedy: str

    def under(self, member: str) -> "Wrong":
        """Return the same, of a member of the thing that held it."""
        return self._replace(member=f"{member}.{self.member}" if self.member else member)

    @property
    def message(self) -> str:
        """Say what was found and what to do."""
        return f"found {self.found}; {self.remedy}"


class WrongTimesError(ValueError):
    """Text or forms that give no times; ``wrongs`` has everything that is wrong with them."""

    def __init__(self, wrongs: Iterable[Wrong]) -> None:
        self.wrongs = tuple(wrongs)
        super().__init__("; ".join(f"{wrong.member}: {wrong.message}".removeprefix(": ") for wrong in self.wrongs))


LONGEST_QUOTED = 80


def quoted(found: object) -> str:
    """Return what was found as JSON spells the short of it, for a message."""
    if found is None:
        return "nothing"
    text = f'"{found}"' if isinstance(found, str) else str(found)
    return text if len(text) <= LONGEST_QUOTED else text[:LONGEST_QUOTED] + ".."


class Wrongs(list[Wrong]):
    """What was found to be wrong so far, so that every fault is told at once."""

    def unless(self, member: str, read: Callable[[], T]) -> T | None:
        """Return what ``read`` returns; None, and keep what is wrong under ``member``, when it raises."""
        try:
            return read()
        except WrongTimesError as error:
            self += [wrong.under(member) for wrong in error.wrongs]
            return None

    def unknown(self, form: Mapping[str, object], members: Iterable[str]) -> None:
        """Keep the members of a form that are none of ``members``."""
        known = tuple(members)
        for name in form:
            if name not in known:
                self.append(Wrong(name, "an unknown member", f"leave it away; there are {', '.join(known)}"))

    def tell(self) -> None:
        """Raise `WrongTimesError` when something is wrong."""
        if self:
            raise WrongTimesError(self)
