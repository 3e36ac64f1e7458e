"""The worked example of Cao et al. (2017, figure 3) as a ledger: ten releases of epsilon 0.1 each."""

from stream_app.audit.report.curve import Curve, Curves
from tests.audit.written import write

MATRIX = [[0.8, 0.2], [0.0, 1.0]]
BACKWARD = [0.1000, 0.1808, 0.2471, 0.3024, 0.3488, 0.3881, 0.4216, 0.4503, 0.4750, 0.4964]
"""Backward losses as printed; the forward losses of the same matrix are these in reverse."""
TOTAL = [0.4964, 0.5558, 0.5975, 0.6239, 0.6368]
"""Total losses of the first five; the last five mirror them."""
TENTH = 'policy 1 {"epsilon": 0.1, "scheme": {"name": "uniform"}, "level": "event"}' + "".join(
    f"\n{second} perturbed . 100000000 | 0 0 100000000" for second in range(10)
)


def curve_of(text: str, series: str = "home-7") -> Curve:
    """Return what a second reading of a written ledger keeps."""
    curves = Curves([series])
    curves.entries(write(text, series).lines())
    return curves.curves[0]
