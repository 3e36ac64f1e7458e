"""The protection levels: what a policy protects jointly, built from the form of `protection`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, assert_never

from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.kinds import Counts, Kind, Number
from stream_app.privacy.landmarks import LandmarkSet, aligned
from stream_app.privacy.parameters import KellarisForm, ParametersForm, ProtectionForm


@dataclass(frozen=True, slots=True)
class LandmarkLevel:
    """Protects the landmarks together with any ``window`` consecutive steps.

    ``spare`` landmarks may be added without additional shares. If steps hold units, landmarks, spare landmarks and
    windows count units.

    ``fixed`` means that the landmarks include dummies: none may be added, because an added landmark would be known to
    be true.
    """

    landmarks: LandmarkSet
    spare: int
    fixed: bool = False
    window: int = 1
    name: ClassVar[str] = "landmark"
    exhaustible: ClassVar[bool] = True
    """Whether costs use up the budget permanently; at levels event and w-event, each step or window has all of it."""


@dataclass(frozen=True, slots=True)
class EventLevel:
    """Protects any single step."""

    name: ClassVar[str] = "event"
    exhaustible: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class UserLevel:
    """Protects all ``length`` steps from the first processed step."""

    length: int
    name: ClassVar[str] = "user"
    exhaustible: ClassVar[bool] = True


Protection = LandmarkLevel | EventLevel | UserLevel | WindowLevel


def protection_faults(form: ProtectionForm) -> Iterator[tuple[str, str]]:
    """Yield each member that does not fit the level, with the reason."""
    if form.level != "landmark" and (form.landmarks or form.spare):
        yield "protection", f"level {form.level} does not allow landmarks or spare; remove them"
    if form.level == "user" and form.length is None:
        yield "protection.length", "level user needs the number of steps that it protects"
    if form.level != "user" and form.length is not None:
        yield "protection.length", f"level {form.level} does not allow a length; remove it"
    if form.level == "w-event" and form.window is None:
        yield "protection.window", "level w-event needs the number of steps in a window"
    if form.level in {"event", "user"} and form.window is not None:
        yield "protection.window", f"level {form.level} does not allow a window; remove it"


def windows_of(protection: Protection, epsilon_nano: int, *, units: bool) -> WindowLevel | None:
    """Return what the guard needs to know about a protection's windows; None if windows are single steps.

    Windows of ``units`` are covered by the noise: each step loses so little that the losses in any window add up to
    those of one step.
    """
    if isinstance(protection, LandmarkLevel) and protection.window > 1 and not units:
        return WindowLevel(protection.window, epsilon_nano, landmarks=True)
    return protection if isinstance(protection, WindowLevel) else None


def protection_of(form: ParametersForm, epsilon_nano: int, kind: Kind) -> Protection:
    """Return what a policy of ``epsilon_nano`` protects; ``kind`` is the kind of its `value`."""
    protection = form.protection
    match protection.level:
        case "landmark":
            unit_ms = protection.unit or protection.step
            landmarks = aligned(protection.landmarks, unit_ms, protection.offset or 0)
            return LandmarkLevel(landmarks, protection.spare, window=protection.window or 1)
        case "event":
            return EventLevel()
        case "user":
            return UserLevel(protection.length or 0)
        case "w-event":
            steps = protection.window or 0
            private = isinstance(form.scheme, KellarisForm) and form.scheme.dissimilarity == "private"
            if private and isinstance(kind, Number | Counts):
                charge_nano = epsilon_nano // (2 * steps)
                return WindowLevel(steps, epsilon_nano - steps * charge_nano, charge_nano, kind.sensitivity)
            return WindowLevel(steps, epsilon_nano)
        case _:
            assert_never(protection.level)
