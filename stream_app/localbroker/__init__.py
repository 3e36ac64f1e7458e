"""A local Kafka broker for newcomers and tests: its jars, ports and process, but no worker."""


class LocalBrokerError(Exception):
    """A local broker is not available; the message says what was needed, what was found, and the remedy."""

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(f"{asked}: {found}. {remedy}")
        self.asked = asked
        self.found = found
        self.remedy = remedy
