"""The library: ``import landmark_stream as ls`` turns a frame into audited releases in five lines.

The names in ``__all__`` are stable, as described in docs/library.md; everything else may change. Every error is an
`Error`, which names the invalid fields.
"""

from stream_app import api
from stream_app.api import *  # noqa: F403 - this package only gives the library the name that people type
from stream_app.api.parts import *  # noqa: F403 - mypy does not see these names in `api.__all__`

__all__ = api.__all__
