"""Kellaris' private dissimilarity: whether a step differs enough from the last release to be worth a publication.

Source: Kellaris et al., VLDB 2014, section 5.2 (sub mechanism M_{i,1}): the mean distance of the value from the last
release, under Laplace noise, is compared with the noise that a publication would bring.
"""

from stream_app.privacy.noise.laplace import discrete_laplace
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.rational import NANO
from stream_app.privacy.raw import RawCells, ReleasedCells
from stream_app.privacy.window import WindowLevel


def differs(stream: BitStream, level: WindowLevel, cells: RawCells, released: ReleasedCells, spend_nano: int) -> bool:
    """Return whether ``(sum|c - o| + noise) * x > d*D*10^9``; loss at most ``level.charge_nano``.

    c are the cells now, o those last released, d their number, x the spend that a publication would have, all in grid
    units. Both sides are whole numbers: no rounding.
    """
    distance = sum(abs(cell - old) for cell, old in zip(list(cells), list(released), strict=True))
    # PRIVACY: neighbours' cells are at most D apart in L1, so their distances from the same released cells are, too
    # (triangle inequality); noise of rate e1/D makes the noisy distance, and so this branch, lose at most e1. The guard
    # counts e1 for every event of a window, whether or not its distance was asked for.
    noisy = distance + discrete_laplace(stream, level.charge_nano, level.sensitivity * NANO)
    return noisy * spend_nano > len(cells) * level.sensitivity * NANO
