"""The public policies in a ledger: each release's policy, including everything announced since."""

from bisect import bisect_right, insort
from collections.abc import Mapping
from dataclasses import replace
from operator import index
from typing import Any, Final

from stream_app.analysis.means import MeasuredRelease
from stream_app.analysis.release import Release
from stream_app.analysis.windows import is_landmark
from stream_app.privacy.landmarks import aligned
from stream_app.privacy.policy import Policy, stored_policy_of
from stream_app.privacy.protection import LandmarkLevel

STEP: Final = b'"entry":"release"'
"""Bytes found in every step entry (which has no policy) and in no other entry, because texts escape quotes."""


class Policies:
    """Policy versions by series, built from ledger entries as they arrive; step entries contain no policy.

    Under dummies the ledger contains the drawn landmarks, never the true ones, so everything returned here is public.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Policy] = {}
        self._exposed: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        """Starts and ends of the steps that each announced look exposes, in milliseconds and in ascending order."""

    def entry(self, entry: Mapping[str, Any]) -> None:
        """Process an entry; raises `PolicyError` or KeyError for an entry that cannot occur in a ledger."""
        match entry["entry"]:
            case "policy":
                policy = stored_policy_of(entry["parameters"], entry["policy"])
                self._known[entry["series"], entry["policy"]] = policy
            case "landmarks":
                place = entry["series"], entry["policy"]
                if place in self._known:
                    self._known[place] = registered(self._known[place], entry["add"])
            case "intrusion":
                begins, ends = self._exposed.setdefault((entry["series"], entry["policy"]), ([], []))
                for begin, end in entry["exposed"]:
                    insort(begins, index(begin))
                    insort(ends, index(end))
            case _:
                pass

    def of(self, release: Release) -> MeasuredRelease:
        """Return a release with the ledger's information about its step, and its policy if the ledger has it."""
        place = release.series, release.policy
        policy = self._known.get(place)
        if policy is None:
            return MeasuredRelease(release)
        begins, ends = self._exposed.get(place, ((), ()))
        looks = bisect_right(begins, release.timestamp_ms) - bisect_right(ends, release.timestamp_ms)
        units, landmark = policy.units is not None, is_landmark(release, policy)
        return MeasuredRelease(replace(release, landmark=landmark, looks=looks, of_units=units), policy)


def registered(policy: Policy, spans: Any) -> Policy:
    """Return a policy of level `landmark` with added landmarks: moments or [start, end) in milliseconds."""
    assert isinstance(policy.protection, LandmarkLevel), "other levels refuse registrations"
    later = aligned([each if isinstance(each, int) else (each[0], each[1]) for each in spans], policy.step_ms)
    landmarks = policy.protection.landmarks.union(later)
    return replace(policy, protection=replace(policy.protection, landmarks=landmarks))
