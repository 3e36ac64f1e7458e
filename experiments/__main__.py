"""``make experiments ARGS=..`` or ``python -m experiments ..``: the papers' experiments on real data."""

import sys
from collections.abc import Sequence

from experiments.command import add_arguments, run
from stream_app.cli import Parser, UsageError, printable


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiments; return 0, 2 for unusable input, or 130 after Ctrl-C."""
    parser = Parser(prog="experiments", description="Compare the schemes' error, temporal loss and time on real data.")
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except UsageError as error:
        print(f"experiments: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("experiments: interrupted: the same command continues after the finished trials", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
