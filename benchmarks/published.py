"""The loss function by the algorithm of its authors, for comparison only: Cao et al. 2017, algorithm 1.

Each ordered pair of rows is solved anew at every step: of the columns with q > d those are dropped, over and over,
whose q / d is at most the ratio that the kept ones have together. The paper goes pair by pair; here all pairs of a row
are solved together, in numpy, which is faster: a ratio against it is on the safe side.
"""

from math import expm1, log

import numpy as np
from numpy.typing import NDArray


def carried(rows: NDArray[np.float64], alpha: float) -> float:
    """Return L(alpha) of a transition matrix."""
    x = expm1(alpha)
    return log(max(_largest_ratio(row, rows, x) for row in rows))


def _largest_ratio(q: NDArray[np.float64], rows: NDArray[np.float64], x: float) -> float:
    kept = q > rows
    while True:
        ratio = (np.where(kept, q, 0).sum(axis=1) * x + 1) / (np.where(kept, rows, 0).sum(axis=1) * x + 1)
        # Cao et al. 2017, inequality 21, without dividing by a probability of 0.
        still = kept & (q > ratio[:, None] * rows)
        if (still == kept).all():
            return float(ratio.max())
        kept = still
