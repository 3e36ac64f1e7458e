"""The library: ``import landmark_stream as ls``, and from a frame to audited releases in five lines.

The names in ``__all__`` are stable (docs/library.md says how far), and everything else may change. Every error is an
`Error`, which names the fields that are at fault.
"""

from stream_app import api
from stream_app.api import *  # noqa: F403 - this package only gives the library the name that people type
from stream_app.api.parts import *  # noqa: F403 - mypy does not see these names in `api.__all__`

__all__ = api.__all__
