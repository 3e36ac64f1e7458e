"""Oracles for the loss function: every column set of every ordered row pair, and linear programs."""

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye, kron

FINEST = 1e-10
"""The smallest tolerance that HiGHS accepts."""

Rows = NDArray[np.float64]
Extended = NDArray[np.longdouble]
_EXTENDED = np.longdouble  # 64 bits of mantissa at least, where the machine has them


def sums(rows: Rows) -> tuple[Extended, Extended]:
    """Return D and Q - D for all column sets except the empty one, and ordered pairs, in extended precision."""
    states = len(rows)
    chosen = np.array(list(itertools.product((0, 1), repeat=states))[1:], dtype=_EXTENDED)
    exact = rows.astype(_EXTENDED)
    difference = (exact[:, None, :] - exact[None, :, :]).reshape(-1, states)
    smaller = np.broadcast_to(exact[None, :, :], (states, states, states)).reshape(-1, states)
    return chosen @ smaller.T, chosen @ difference.T


def enumerated(base: Extended, gain: Extended, alpha: float) -> float:
    """Return L(alpha) as the maximum over all sums of `sums`."""
    w = 1 / np.expm1(_EXTENDED(alpha))
    return float(max(np.log1p((gain / (base + w)).max()), _EXTENDED(0)))


def exact_ratio(rows: Rows, x: Fraction) -> Fraction:
    """Return exp(L(alpha)) - 1 for ``x = exp(alpha) - 1``: the maximum over all column sets and pairs, in fractions."""
    exact = [[Fraction(entry) for entry in row] for row in rows.tolist()]
    columns = range(len(exact))
    best = Fraction(0)
    for q, d in itertools.permutations(exact, 2):
        for size in range(1, len(exact) + 1):
            for chosen in itertools.combinations(columns, size):
                base = sum(d[column] for column in chosen)
                best = max(best, (sum(q[column] for column in chosen) - base) * x / (base * x + 1))
    return best


def by_linear_programs(rows: Rows, alpha: float) -> tuple[float, list[tuple[int, int, tuple[int, ...]]]]:
    """Solve Cao et al. 2017, eq. 18 to 20, for every ordered pair; return exp(L) - 1 and each pair's columns.

    Maximise q.x / d.x such that no two x are further apart than exp(alpha): by Charnes and Cooper (1962) with d.y = 1,
    and all y between exp(-alpha) u and u. Since d.y = 1, the program maximises (q - d).y, in units of its largest
    coefficient, so that the solver's tolerances are relative. The pairs' programs are independent and solved as one.
    """
    states = len(rows)
    pairs = [(q, d) for q, d in itertools.permutations(range(states), 2) if (rows[q] != rows[d]).any()]
    if not pairs:
        return 0.0, []
    least = float(np.exp(-alpha))
    above = np.hstack([np.eye(states), -np.ones((states, 1))])  # y - u <= 0; the last variable is u
    below = np.hstack([-np.eye(states), np.full((states, 1), least)])  # least * u - y <= 0
    units = [np.abs(rows[q] - rows[d]).max() for q, d in pairs]
    gains = [np.append((rows[q] - rows[d]) / unit, 0) for (q, d), unit in zip(pairs, units, strict=True)]
    smaller = np.concatenate([np.append(rows[d], 0) for _, d in pairs])
    solved = linprog(
        -np.concatenate(gains),
        A_ub=kron(eye(len(pairs)), np.vstack([above, below]), format="csr"),
        b_ub=np.zeros(2 * states * len(pairs)),
        A_eq=csr_matrix((smaller, np.arange(len(smaller)), np.arange(0, len(smaller) + 1, states + 1))),
        b_eq=np.ones(len(pairs)),
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": FINEST, "dual_feasibility_tolerance": FINEST},
    )
    assert solved.status == 0, solved.message
    values = solved.x.reshape(len(pairs), states + 1)
    chosen = values[:, :-1] > (1 + least) / 2 * values[:, -1:]
    best = max(unit * float(gain @ value) for unit, gain, value in zip(units, gains, values, strict=True))
    return best, [(q, d, tuple(np.flatnonzero(row).tolist())) for (q, d), row in zip(pairs, chosen, strict=True)]
