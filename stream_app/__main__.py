"""Entry point of ``python -m stream_app``."""

import sys

from stream_app.cli import main

sys.exit(main())
