"""The benchmark `feeder`: its ratio agrees with the exact laws of both noises."""

from pathlib import Path

import numpy as np

from benchmarks.__main__ import measured

HOMES, HOURS = 16, 400
CELLS = 10_000
"""D at epsilon 1, where the rate is 1/D."""


def test_the_ratio_is_that_of_the_exact_laws(tmp_path: Path) -> None:
    """One discrete Laplace noise is compared with one per home; their law is by powers of its characteristic."""
    found = measured("feeder", tmp_path, {"series": HOMES, "events": HOURS, "repeats": 1}).figures
    q = np.exp(-1 / CELLS)
    angles = 2 * np.pi * np.fft.fftfreq(1 << 22)
    characteristic = (1 - q) ** 2 / (1 - 2 * q * np.cos(angles) + q * q)
    many = np.fft.ifft(characteristic**HOMES).real
    reach = np.abs(np.fft.fftfreq(1 << 22) * (1 << 22))
    ratio = float(many @ reach) / (2 * q / (1 - q * q))
    assert 4 < ratio < 5
    (shown,) = found["added_over_sum"].runs
    # Each mean of 400 magnitudes has a relative standard deviation of at most 1/20.
    assert abs(shown / ratio - 1) < 5 * (2 / HOURS) ** 0.5
