"""A policy's parameters with other landmarks in the place of the true ones, as rows and ledger hold them.

The same whatever the true landmarks were and however they were spelt: they stand after the level, given or not in the
record, as intervals, merged, ascending.
"""

from collections.abc import Mapping

from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS


def undrawn(parameters: Mapping[str, object]) -> Mapping[str, object]:
    """Return parameters, whose form was checked, without landmarks where dummies are to be drawn; else as they are.

    A `dummies` of null is left out: it says nothing, and the ledger knows no such member.
    """
    if "dummies" not in parameters:
        return parameters
    if parameters["dummies"] is None:
        return {name: part for name, part in parameters.items() if name != "dummies"}
    # PRIVACY: until dummies are drawn the request alone holds the true landmarks, so nothing can write them out.
    return _with(parameters, [])


def drawn(parameters: Mapping[str, object], landmarks: LandmarkSet, step_ms: int) -> Mapping[str, object]:
    """Return parameters with the landmarks that were drawn, and without `dummies`."""
    spans = [[start * step_ms, min(end * step_ms, LAST_TIMESTAMP_MS)] for start, end in landmarks.intervals]
    return {name: part for name, part in _with(parameters, spans).items() if name != "dummies"}


def _with(parameters: Mapping[str, object], spans: list[list[int]]) -> dict[str, object]:
    protection = parameters["protection"]
    assert isinstance(protection, Mapping), "the form has been checked"
    rest = {name: part for name, part in protection.items() if name not in {"level", "landmarks"}}
    return {**parameters, "protection": {"level": protection["level"], "landmarks": spans, **rest}}
