"""What a local Kafka broker runs from: its jars, its process, its errors. ``stream_app.localbroker.broker`` runs it."""


class LocalBrokerError(Exception):
    """A local broker that cannot be had: what was asked, what was found, and what mends it."""

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(f"{asked}: {found}. {remedy}")
        self.asked = asked
        self.found = found
        self.remedy = remedy
