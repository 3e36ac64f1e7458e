"""Tracks whether a worker is in its consumer group, or has been outside it for longer than a rebalance takes."""

import logging
import time

from stream_app.kafka.faust.app import rebalance_seconds
from stream_app.manual import page_at
from stream_app.setup.settings import Settings

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 5
REBALANCES: float = 2
"""The number of rebalances a joining worker may wait for: a whole one, and one that began in the meantime."""


class Membership:
    """Measures how long a worker has been outside its group while the brokers answered."""

    def __init__(self, settings: Settings) -> None:
        self.grace_seconds = REBALANCES * rebalance_seconds(settings)
        self.lost = False
        """Whether the worker has been outside for longer than the grace time."""
        self._inside_seconds = time.monotonic()
        self._session_seconds = settings.session_timeout_ms / 1000
        self._told = False

    def look(self, *, member: bool, silent: bool) -> None:
        """Update the state, and log any change of `lost`.

        While the brokers are ``silent``, no worker can join and a restart would not help, so that time does not count.
        """
        now = time.monotonic()
        if member or silent:
            self._inside_seconds = now
        outside_seconds = now - self._inside_seconds
        if outside_seconds > _PATIENCE_SECONDS and not self._told:
            what = "waiting for its consumer group, which still counts a killed worker for up to %.0f s"
            logger.info(what, self._session_seconds)
        self._told = outside_seconds > _PATIENCE_SECONDS
        if outside_seconds > self.grace_seconds and not self.lost:
            self.lost = True
            logger.error(
                "outside its consumer group for %.0f s: it gets no events, and other workers may own its partitions. "
                "Restart this worker. See %s",
                outside_seconds,
                page_at("alerts/LandmarkOutsideGroup.md"),
            )
        if member and self.lost:
            self.lost = False
            logger.info("back in its consumer group")
