"""Why a partition stopped: what was wanted, what was found, and what the operator can do."""


class PartitionStoppedError(Exception):
    """A partition that must not go on; its input stays unacknowledged and other partitions are not affected.

    ``reason`` is a short code for metrics and logs; the sentences hold offsets, ids and counts, never a raw value.
    """

    def __init__(self, partition: int, reason: str, *, asked: str, found: str, remedy: str) -> None:
        """Hold the fields and say them in one line."""
        super().__init__(f"partition {partition} stopped ({reason}): wanted {asked}; found {found}. {remedy}")
        self.partition = partition
        self.reason = reason
        self.asked = asked
        self.found = found
        self.remedy = remedy
