"""The experiments on dummy landmarks: what hiding the landmarks among others costs in error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from stream_app.evaluation.dataset import DataSet
from stream_app.evaluation.experiment import SHARES, Found, Row, error_row, held_against
from stream_app.evaluation.placement import Placement
from stream_app.evaluation.trial import DummiesOf, ErrorOf
from stream_app.privacy.dummies.request import MOST_STEPS, MethodName

NO_DUMMIES = "none"
PAID_DUMMIES: Sequence[MethodName] = ("heuristic", "partitioned")
DUMMIES: Sequence[MethodName] = (*PAID_DUMMIES, "padding")
DUMMY_METHODS = ("uniform", "balanced+level")
FRACTIONS = (0.01, 0.1, 0.25, 0.5)
"""Shares of the budget that pay for the draw of dummies; the first is the default of policies."""
PAID_SHARE = 20
"""Per cent of landmarks where the share of the budget varies."""


@dataclass(frozen=True, slots=True)
class ErrorByDummies:
    """Mean error with dummy landmarks, by their method and the share of the budget that pays for the draw."""

    data: Sequence[DataSet]
    """Data sets whose series are all short enough to draw dummies for."""
    shares: Sequence[int]
    dummies: Sequence[str]
    fractions: Sequence[float]

    @classmethod
    def by_share(cls, data: Sequence[DataSet]) -> "ErrorByDummies":
        """Return the effect of each method of dummies, at the default share of the budget."""
        return cls(_short(data), SHARES, (NO_DUMMIES, *DUMMIES), FRACTIONS[:1])

    @classmethod
    def by_fraction(cls, data: Sequence[DataSet]) -> "ErrorByDummies":
        """Return the effect of the share of the budget that the draw takes."""
        return cls(_short(data), (PAID_SHARE,), PAID_DUMMIES, FRACTIONS)

    def settings(self) -> list[ErrorOf | DummiesOf]:
        """Return the settings whose trials it needs."""
        return held_against(self.data) + [setting for *_, setting in self._named()]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set, method, kind of dummies, share of landmarks and fraction of the budget.

        Where nothing is released, dummies and fraction are None, and the share where it varies.
        """
        share = None if len(self.shares) > 1 else self.shares[0]
        units = {data.name: data.unit for data in self.data}
        rows: list[Row] = []
        for setting in held_against(self.data):
            varied: Row = {"share": share, "dummies": None, "fraction": None}
            rows.append(error_row(setting, units[setting.data], varied, found(setting), ("landmarks",)))
        for data, dummies, fraction, setting in self._named():
            varied = {"share": setting.placement.share_percent, "dummies": dummies, "fraction": fraction}
            rows.append(error_row(setting, data.unit, varied, found(setting), ("landmarks",)))
        return rows

    def _named(self) -> Iterator[tuple[DataSet, str, float, ErrorOf | DummiesOf]]:
        cells = product(self.data, DUMMY_METHODS, self.dummies, self.fractions, self.shares)
        for data, method, dummies, fraction, share in cells:
            places = Placement(share)
            if dummies == NO_DUMMIES:
                yield data, dummies, 0.0, ErrorOf(data.name, method, data.epsilon, places)
            else:
                paid = fraction if dummies in PAID_DUMMIES else 0.0
                yield data, dummies, paid, DummiesOf(data.name, method, data.epsilon, places, dummies, paid)


def _short(data: Sequence[DataSet]) -> list[DataSet]:
    """Return the sets in which dummies can be drawn for every series."""
    most = min(MOST_STEPS[dummies] for dummies in DUMMIES)
    return [
        one
        for one in data
        if all((each[-1].timestamp_ms - each[0].timestamp_ms) // one.step_ms < most for each in one.series.values())
    ]
