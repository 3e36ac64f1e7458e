"""What can go wrong with a local broker, said with its remedy."""


class LocalBrokerError(Exception):
    """A local broker that can not be had: what was asked, what was found, and what mends it."""

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        """Keep the three parts as fields and make the sentence of them."""
        super().__init__(f"{asked}: {found}. {remedy}")
        self.asked = asked
        self.found = found
        self.remedy = remedy
