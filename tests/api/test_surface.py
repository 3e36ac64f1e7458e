"""The stable interface: the library's names and the parameters of its functions.

A change here is subject to the version policy.
"""

import inspect
import subprocess
import sys

import pytest

import landmark_stream as ls
from stream_app import api

FUNCTIONS = {
    "audit": "(ledger, releases=None, *, lifetime=None, heads=None, public_keys=(), witness=None)",
    "compare": "(frame, before, after, *, zone='UTC', policy=None)",
    "mean": "(frame, by='series', *, zone='UTC', policy=None, landmarks='apart')",
    "plan": "(policy, *, steps=None, every_ms=None, start=None, correlation=None, bound=None, error=None, "
    "statistic=None, step=None, data=None, config=None)",
    "profile": "(frame, *, policy=None)",
    "read_events": "(file, *, mapping=None, series=None, series_column=None, timestamp_column=None, time_format=None, "
    "zone=None, stamp=None, value_columns=None, where=None, single=None, words=None, missing=None, multiply=None, "
    "differences=None, separator=None, decimal=None, no_header=None, records=None)",
    "read_releases": "(source=None, *, ledger=None, series=None, config=None, library='rows')",
    "release": "(frame, policy, *, out, series=None, series_column='series', timestamp_column='timestamp', "
    "value_columns='value', contributor_column=None, config=None, key=None, replace=False, late='refuse', "
    "accept=())",
    "smooth": "(frame, *, policy=None)",
    "standing": "(ledger, name, *, lifetime=None, separator='')",
    "time_in_range": "(frame, low=None, high=None, *, policy=None)",
    "verify": "(policy, *, runs=2000)",
}
PARTS = {
    "Adaptive": "(*, increase=0.5, decrease=0.5, minimum=0.1)",
    "Balanced": "(*, regular_share=0.5)",
    "Bounds": "(south, west, north, east)",
    "BudgetAbsorption": "(*, increase=0.5, decrease=0.5, minimum=0.1, dissimilarity='released')",
    "BudgetDistribution": "(*, increase=0.5, decrease=0.5, minimum=0.1, dissimilarity='released')",
    "Category": "(categories, *, clamp=True, invalid='reject')",
    "Choice": "(items)",
    "Collect": "(neighbours, open_steps, *, intrusion_nano=None, statistic=None)",
    "Counts": "(keys, *, sensitivity=1, clamp=True)",
    "Drawn": "(method, start, end, *, utility='proximity', fraction=0.01)",
    "Fault": "(member, message)",
    "Histogram": "(edges=None)",
    "Location": "(radius, resolution, bounds, *, clamp=True)",
    "Number": "(lower, upper, resolution, *, sensitivity=None, clamp=True, invalid='reject')",
    "Padding": "(probability, start, end)",
    "Range": "(lower, upper, resolution)",
    "Share": "(low, high)",
    "Skip": "(*, accept_risk=False)",
    "Uniform": "()",
    "Vector": "(parts, *, clamp=True, invalid='reject')",
    "Within": "(within, open_steps, *, absent=None)",
}
POLICIES = {
    "event": "(*, epsilon, value, **others)",
    "landmark": "(*, epsilon, value, landmarks=(), spare=0, window=None, zone=None, dummies=None, **others)",
    "load": "(file)",
    "user": "(*, epsilon, value, length, **others)",
    "w_event": "(*, epsilon, value, window, **others)",
}
RESULTS = {
    "Audited": {"document", "findings", "holds", "html"},
    "Error": {"faults", "of"},
    "Plan": {"html", "policy", "table", "within"},
    "PlanOfUnits": {"answer", "html", "picture", "policy", "table", "warning"},
    "Policy": {"epsilon", "html", "record", "series", *POLICIES},
    "Released": {"clamped", "folder", "frame", "html", "notes", "rejected", "releases", "substituted", "totals"},
    "Releases": {"columns", "count", "frame", "html", "index", "measured", "rows", "to_pandas", "to_polars"},
    "Stands": {"document", "html", "table"},
    "Table": {"columns", "count", "frame", "html", "index", "rows", "to_pandas", "to_polars"},
    "Verified": {"html", "policy", "table", "verdict"},
}


def taken(function: object) -> str:
    """Return the parameters with their defaults, without types."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    bare = [part.replace(annotation=inspect.Parameter.empty) for part in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_names_and_what_they_take() -> None:
    """No name is dropped, and no parameter moves, changes its default or appears unnoticed."""
    assert set(ls.__all__) == FUNCTIONS.keys() | PARTS.keys() | RESULTS.keys()
    assert {name: taken(getattr(ls, name)) for name in FUNCTIONS} == FUNCTIONS
    assert {name: taken(getattr(ls, name)) for name in PARTS} == PARTS
    assert {name: taken(getattr(ls.Policy, name)) for name in POLICIES} == POLICIES


def test_members_of_results() -> None:
    """Apart from its display, a result offers only these members."""
    assigned = {
        "Released": {"folder", "releases"},
        "Plan": {"policy", "table", "within"},
        "PlanOfUnits": {"policy", "table"},
        "Verified": {"policy"},
        "Error": {"faults"},
    }
    for name, members in RESULTS.items():
        of = getattr(ls, name)
        found = {member for member in dir(of) if not member.startswith("_")} - set(dir(ValueError))
        assert found | assigned.get(name, set()) == members, name


def test_everything_is_documented() -> None:
    """Every name has a docstring."""
    assert all(getattr(ls, name).__doc__ for name in ls.__all__)


def test_both_names_give_the_same_library() -> None:
    """`stream_app.api` has the same names for the same objects, and the same text; nothing else is public."""
    assert ls.__all__ == api.__all__
    assert [name for name in ls.__all__ if getattr(ls, name) is not getattr(api, name)] == []
    assert {name for name in vars(ls) if not name.startswith("_")} == {*ls.__all__, "api"}
    assert ls.__doc__ == api.__doc__


@pytest.mark.parametrize("name", ["stream_app.api", "landmark_stream"])
def test_it_loads_without_frames_and_kafka(name: str) -> None:
    """The import neither loads nor needs pandas, polars, matplotlib, rich or a Kafka client."""
    slow = "{'pandas', 'polars', 'matplotlib', 'aiokafka', 'faust', 'rich'}"
    code = f"import sys, {name}; print(sorted({slow} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "[]\n"
