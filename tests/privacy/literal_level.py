"""A second filter ``level``, written word for word from the design's section 4 and from nothing else.

It is slow and plain on purpose. If it and the program differ, one of them does not do what the design says.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import sqrt

MODELS_OF_FOUR = (3, 2, 1, 0)
MODELS_OF_FIVE = (4, 3, 2, 1, 0)


def to_grid(m: float, resolution: str) -> int:
    """Return ``floor(m/res + 1/2)``, with the double read as the decimal that it represents."""
    m_over, m_under = Decimal(repr(m)).as_integer_ratio()
    res_over, res_under = Decimal(resolution).as_integer_ratio()
    return (2 * m_over * res_under + m_under * res_over) // (2 * m_under * res_over)


def best(costs: Sequence[float]) -> int:
    """Return the model with the smallest running cost; the first wins a tie."""
    chosen = 0
    for model, cost in enumerate(costs):
        if cost < costs[chosen]:
            chosen = model
    return chosen


class LiteralNumber:
    """W = upper - lower; four models."""

    def __init__(self, lower: float, upper: float, resolution: str) -> None:
        """Begin: m = middle, p = W*W/12, c = 0."""
        self.resolution = resolution
        self.W = upper - lower
        self.m = [(lower + upper) / 2] * 4
        self.p = [self.W * self.W / 12] * 4
        self.c = [0.0] * 4
        self.begun = False

    def approximated(self, elapsed: int) -> None:
        """Apply only p = p + q*k and the cap."""
        k = min(elapsed, 64)
        for n, j in enumerate(MODELS_OF_FOUR):
            q = self.W * self.W / 16 / 64**j
            p = self.p[n] + q * k
            self.p[n] = min(p, self.W * self.W / 12)

    def measured(self, z: float, b: float, elapsed: int) -> list[int]:
        """Return the published cell after a measurement z at scale b."""
        self.begun = True
        self.approximated(elapsed)
        for n in range(4):
            m, p, c = self.m[n], self.p[n], self.c[n]
            d = z - m
            size = abs(d)
            v = p + 1.25 * b * sqrt(p)
            if b * size > v:
                gain = p / (b * size)  # an outlier: p stays as it is
            else:
                gain = p / v
                p = p - p * gain
            m = m + gain * d
            r = 2 * b * b
            h = 1 - gain
            c = c + (h * h * d * d / r + 2 * gain - 1)
            self.m[n], self.p[n], self.c[n] = m, p, c
        return [to_grid(self.m[best(self.c)], self.resolution)]

    @property
    def numbers(self) -> list[float]:
        """Return m, p, c of each model."""
        return [part for n in range(4) for part in (self.m[n], self.p[n], self.c[n])] if self.begun else []


class LiteralLocation:
    """The plane in metres; four models."""

    def __init__(self, radius: float, resolution: str) -> None:
        """Begin before the first measurement."""
        self.radius = radius
        self.resolution = resolution
        self.x = [0.0] * 4
        self.y = [0.0] * 4
        self.p = [0.0] * 4
        self.c = [0.0] * 4
        self.begun = False

    def approximated(self, elapsed: int) -> None:
        """Apply only p = p + q*k."""
        if self.begun:
            k = min(elapsed, 64)
            for n, j in enumerate(MODELS_OF_FOUR):
                q = 256 * self.radius * self.radius / 64**j
                self.p[n] = self.p[n] + q * k

    def measured(self, zx: float, zy: float, b: float, elapsed: int) -> list[int]:
        """Return the published lattice point after a measurement."""
        if not self.begun:
            self.begun = True
            self.x, self.y, self.p = [zx] * 4, [zy] * 4, [3 * b * b] * 4
        else:
            self.approximated(elapsed)
            for n in range(4):
                r = 3 * b * b
                p = self.p[n]
                gain = p / (p + r)
                h = 1 - gain
                dx = zx - self.x[n]
                dy = zy - self.y[n]
                self.x[n] = self.x[n] + gain * dx
                self.y[n] = self.y[n] + gain * dy
                self.p[n] = p * h
                self.c[n] = self.c[n] + (h * h * (dx * dx + dy * dy) / (2 * r) + 2 * gain - 1)
        n = best(self.c)
        return [to_grid(self.x[n], self.resolution), to_grid(self.y[n], self.resolution)]

    @property
    def numbers(self) -> list[float]:
        """Return x, y, p, c of each model."""
        parts = [(self.x[n], self.y[n], self.p[n], self.c[n]) for n in range(4)]
        return [part for model in parts for part in model] if self.begun else []


class LiteralCounts:
    """The location's update for each cell in one dimension; five models."""

    def __init__(self, keys: int, sensitivity: int) -> None:
        """Begin before the first measurement."""
        self.keys = keys
        self.sensitivity = float(sensitivity)
        self.x = [[0.0] * 5 for _ in range(keys)]
        self.p = [[0.0] * 5 for _ in range(keys)]
        self.c = [[0.0] * 5 for _ in range(keys)]
        self.begun = False

    def approximated(self, elapsed: int) -> None:
        """Apply only p = p + q*k."""
        if self.begun:
            k = min(elapsed, 64)
            for cell in range(self.keys):
                for n, j in enumerate(MODELS_OF_FIVE):
                    q = 2.0**22 * (self.sensitivity * self.sensitivity) / 64**j
                    self.p[cell][n] = self.p[cell][n] + q * k

    def measured(self, z: Sequence[int], b: float, elapsed: int) -> list[int]:
        """Return the published counts after a measurement."""
        if not self.begun:
            self.begun = True
            self.x = [[float(count)] * 5 for count in z]
            self.p = [[2 * b * b] * 5 for _ in z]
        else:
            self.approximated(elapsed)
            for cell in range(self.keys):
                for n in range(5):
                    r = 2 * b * b
                    p = self.p[cell][n]
                    gain = p / (p + r)
                    h = 1 - gain
                    d = z[cell] - self.x[cell][n]
                    self.x[cell][n] = self.x[cell][n] + gain * d
                    self.p[cell][n] = p * h
                    self.c[cell][n] = self.c[cell][n] + (h * h * d * d / r + 2 * gain - 1)
        return [to_grid(self.x[cell][best(self.c[cell])], "1") for cell in range(self.keys)]

    @property
    def numbers(self) -> list[float]:
        """Return p of each model, equal over the cells, then x, c of each cell and model."""
        if not self.begun:
            return []
        assert all(p == self.p[0] for p in self.p)
        parts = [(self.x[cell][n], self.c[cell][n]) for cell in range(self.keys) for n in range(5)]
        return [*self.p[0], *(part for model in parts for part in model)]


class LiteralCategory:
    """A belief over k categories."""

    def __init__(self, k: int) -> None:
        """Begin: belief 1/k, N = V = 0."""
        self.k = k
        self.bel = [1 / k] * k
        self.N = [0.0] * k
        self.V = 0.0
        self.begun = False

    def approximated(self, elapsed: int) -> None:
        """Change nothing: a belief has no p."""

    def measured(self, z: int, epsilon: Fraction, elapsed: int) -> list[int]:
        """Return the published category after an answer z at epsilon."""
        assert elapsed >= 0
        self.begun = True
        k = self.k
        digits = Context(prec=100)
        weight = digits.exp(digits.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
        t = float(digits.divide(weight, digits.add(weight, Decimal(k - 1))))
        f = (1 - t) / (k - 1)
        pi = [max(0.001, (self.N[j] + 2 / k) / (self.V + 2)) for j in range(k)]
        pi = normalised(pi)
        bel = [0.5 * self.bel[j] + 0.5 * pi[j] for j in range(k)]
        self.bel = normalised([bel[j] * (t if j == z else f) for j in range(k)])
        for j in range(k):
            self.N[j] = self.N[j] + (t - f) * ((1 if j == z else 0) - f)
        self.V = self.V + (t - f) * (t - f)
        chosen = 0
        for j in range(k):
            if self.bel[j] > self.bel[chosen]:
                chosen = j
        return [chosen]

    @property
    def numbers(self) -> list[float]:
        """Return the belief, N and V."""
        return [*self.bel, *self.N, self.V] if self.begun else []


def normalised(weights: Sequence[float]) -> list[float]:
    """Return weights over their sum, summed from left to right."""
    total = 0.0
    for weight in weights:
        total = total + weight
    return [weight / total for weight in weights]
