"""The bound on a series' total over its policy versions, from ``--lifetime`` or from the configuration."""

import argparse
import sys
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_app.setup.settings import Settings

NANO = 10**9
LARGEST = Decimal(sys.float_info.max)  # far above what a configuration takes: a ledger of any lifetime can be audited


def add_lifetime(parser: argparse.ArgumentParser) -> None:
    """Declare ``--lifetime``."""
    parser.add_argument(
        "--lifetime",
        type=_nano,
        metavar="EPSILON",
        help="bound on a series' total over its policy versions "
        "(default: lifetime_epsilon of the configuration; where that is not set, each series' first epsilon)",
    )


def settings_of(arguments: argparse.Namespace) -> "Settings | None":
    """Return the settings; None for a ledger in a file, unless ``--config`` names a configuration."""
    if arguments.ledger is not None and arguments.config is None:
        return None
    # Settings and a client of Kafka take seconds to load, and who reads files has no use for them.
    from stream_app.cli.shared.configured import settings_of as found_settings_of  # noqa: PLC0415

    return found_settings_of(arguments)


def lifetime_of(arguments: argparse.Namespace, settings: "Settings | None") -> int | None:
    """Return the lifetime in nano-epsilon; None: each series' first epsilon."""
    given: int | None = arguments.lifetime
    if given is not None or settings is None or settings.lifetime_epsilon is None:
        return given
    return _nano(repr(settings.lifetime_epsilon))


def _nano(text: str) -> int:
    """Return an epsilon in nano-epsilon; raises `argparse.ArgumentTypeError` unless it is above 0 and a float."""
    try:
        epsilon = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not epsilon.is_finite() or not 0 < epsilon <= LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is not above 0, or too large")
    return int(epsilon * NANO)
