"""Compiles the paths of events and of audited entries with mypyc when asked: `make compiled`.

The same by hand: `COMPILE_LANDMARK_STREAM=1 pip install .`

The same files run as Python otherwise; both give the same bytes (tests/distribution/test_compiled.py). Not the
default: it needs a C compiler and a minute, and in a checkout a compiled module would hide later changes of its source.
"""

import os
import sys
from typing import Any

from setuptools import setup

# No __init__: where it is compiled, a module of its package cannot be the first one that is imported.
COMPILED = {
    "privacy": "claim fold guard landmarks level place policy protection published reason scheme state values",
    "privacy/collected": "collect steps",
    "privacy/kinds": "axis category counts kind_form location number vector",
    "privacy/noise": "key mechanisms randomness streams",
    "audit": "chain fastpath finding series",
    "audit/books": "guarantee intrusions landmarks period share terms window written",
    "audit/form": "entry exact reader",
    "deciding": "collecting context counters decider decision members outcome rows",
    "formats": "encoding records wire",
}
BUILDS = {"editable_wheel", "bdist_wheel", "build", "build_ext"}


def compiled_files() -> list[str]:
    """Return the files that every event or entry passes."""
    return [f"stream_app/{room}/{name}.py" for room, names in COMPILED.items() for name in names.split()]


def extensions() -> list[Any]:
    """Return the extension modules to build; none unless asked for."""
    # The hooks of an installation run this file several times: only the last of them builds.
    asked = os.environ.get("COMPILE_LANDMARK_STREAM")  # noqa: TID251 - no settings exist before an installation
    if asked != "1" or not BUILDS & set(sys.argv):
        return []
    from mypyc.build import mypycify  # noqa: PLC0415 - only where it compiles

    # Not the strict settings of `pyproject.toml`: an isolated build has few of the packages that they check against.
    options = ["--config-file=", "--ignore-missing-imports"]
    modules = mypycify([*options, *compiled_files()], opt_level="2", group_name="stream_app.core")
    for module in modules:
        # A fused multiply-add rounds once where two operations round twice: machines would disagree on an estimate.
        module.extra_compile_args.append("-ffp-contract=off")
    return list(modules)


setup(ext_modules=extensions())
