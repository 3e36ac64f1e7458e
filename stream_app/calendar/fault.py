"""What is wrong with a form that people write: the member, what was found, and the remedy; every fault at once."""

from stream_app.privacy.policy import Fault


class FormError(ValueError):
    """A form that gives no times; ``faults`` names every reason, their members relative to the form."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{fault.member}: {fault.message}" for fault in faults))
