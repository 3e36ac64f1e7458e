"""Budget Distribution and Budget Absorption, written from the paper line by line, apart from the program.

Kellaris, Papadopoulos, Xiao, Papadias: Differentially private event sequences over infinite streams, VLDB 2014,
algorithms 2 (BD) and 3 (BA) with the sub mechanisms M_{i,1} (dissimilarity) and M_{i,2} (publication). The changes
follow the design: budgets are whole nano-epsilon, rounded down; epsilon_1 = E // (2w) per timestamp, or 0 if a rule
other than the dissimilarity decides; timestamps without an event do nothing; before the first publication there is no
last release to compare with, so the timestamp publishes if it has budget.
"""

from collections.abc import Callable
from typing import NamedTuple

Dissimilar = Callable[[int, int], bool]
"""Whether timestamp i, offered epsilon_{i,2}, is to be published rather than approximated."""


class Published(NamedTuple):
    """What a mechanism did at a timestamp: epsilon_{i,2}, or 0 if it approximated or was nullified."""

    timestamp: int
    epsilon_2: int


def budget_distribution(
    epsilon: int, w: int, epsilon_1: int, events: list[int], dissimilar: Dissimilar
) -> list[Published]:
    """Algorithm 2, over the timestamps with an event."""
    spent: dict[int, int] = {}  # epsilon_{k,2} of every timestamp k so far
    out = []
    for i in events:
        # line 5: eps_rm = (eps - what M_{i,1} has) - sum over k = i-w+1 .. i-1 of eps_{k,2}
        remaining = (epsilon - w * epsilon_1) - sum(spent.get(k, 0) for k in range(i - w + 1, i))
        # line 6: lambda_{i,2} = 1 / (eps_rm / 2)
        offered = remaining // 2
        publishes = offered > 0 and (not any(spent.values()) or dissimilar(i, offered))
        spent[i] = offered if publishes else 0
        out.append(Published(i, spent[i]))
    return out


def budget_absorption(
    epsilon: int, w: int, epsilon_1: int, events: list[int], dissimilar: Dissimilar
) -> list[Published]:
    """Algorithm 3, over the timestamps with an event."""
    unit = (epsilon - w * epsilon_1) // w  # eps / (2w) in the paper, where M_{i,1} has half
    last: Published | None = None  # l and eps_{l,2}
    out = []
    for i in events:
        epsilon_2 = 0
        # lines 3 and 4: to_nullify = eps_{l,2} / (eps/(2w)) - 1; if i - l <= to_nullify: approximate
        to_nullify = last.epsilon_2 // unit - 1 if last else 0
        if unit and (last is None or i - last.timestamp > to_nullify):
            # line 6: absorbed = i - (l + to_nullify); of the units from the first timestamp on where none was published
            absorbed = i - (last.timestamp + to_nullify) if last else i - events[0] + 1
            # line 7: eps_{i,2} = eps/(2w) * min(absorbed, w)
            offered = unit * min(absorbed, w)
            if last is None or dissimilar(i, offered):
                epsilon_2 = offered
        if epsilon_2:
            last = Published(i, epsilon_2)
        out.append(Published(i, epsilon_2))
    return out
