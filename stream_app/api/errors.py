"""The one error of the library: what was asked, what was found, the remedy, as the commands say it, with fields."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from stream_app.calendar.wrong import WrongTimesError
from stream_app.files import unusable
from stream_app.privacy.policy import Fault, PolicyError
from stream_app.setup.keyfile import KeyFileError
from stream_app.setup.settings import InvalidSettingsError


class Error(ValueError):
    """What cannot be done; ``faults`` names each member, column or argument with what is wrong, and the remedy."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{fault.member}: {fault.message}" for fault in self.faults))

    @classmethod
    def of(cls, member: str, message: str) -> "Error":
        """Return the error of one fault."""
        return cls((Fault(member, message),))


@contextmanager
def told() -> Iterator[None]:
    """Raise the product's own errors as `Error`, with their fields."""
    try:
        yield
    except PolicyError as error:
        raise Error(error.faults) from None
    except WrongTimesError as error:
        raise Error(Fault(wrong.member or "zone", wrong.message) for wrong in error.wrongs) from None
    except InvalidSettingsError as error:
        raise Error(Fault(problem.field, problem.message) for problem in error.problems) from None
    except KeyFileError as error:
        raise Error.of("key", str(error)) from None
    except OSError as error:
        raise Error.of(str(error.filename), f"{unusable(error)}; name a file or folder that can be used") from None
