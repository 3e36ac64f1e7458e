"""The library: ``import landmark_stream as ls`` turns a frame into audited releases in five lines.

The names in ``__all__`` are stable, as described in docs/library.md; everything else may change. Every error is an
`Error`, which names the invalid fields.
"""

from stream_app.api import parts
from stream_app.api.averages import mean, smooth
from stream_app.api.events import read_events
from stream_app.api.given import Error
from stream_app.api.ledgers import Audited, Stands, audit, standing
from stream_app.api.parts import *  # noqa: F403 - each part is of the face, and named there
from stream_app.api.plans import Plan, Verified, plan, verify
from stream_app.api.policy import Policy
from stream_app.api.reading import Releases, read_releases
from stream_app.api.releasing import Released, release
from stream_app.api.statistics import compare, profile, time_in_range
from stream_app.api.tables import Table
from stream_app.api.unitplans import PlanOfUnits
from stream_app.api.units import Histogram, Share
from stream_app.privacy.policy import Fault

__all__ = [
    "Audited",
    "Error",
    "Fault",
    "Histogram",
    "Plan",
    "PlanOfUnits",
    "Policy",
    "Released",
    "Releases",
    "Share",
    "Stands",
    "Table",
    "Verified",
    "audit",
    "compare",
    "mean",
    "plan",
    "profile",
    "read_events",
    "read_releases",
    "release",
    "smooth",
    "standing",
    "time_in_range",
    "verify",
]
__all__ += parts.__all__
