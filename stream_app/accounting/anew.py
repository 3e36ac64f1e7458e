"""What a series or a member begins anew with in other topics: the records to send, and why they are these or none."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from stream_app.privacy.values import NANO, nano
from stream_app.words.amount import amount

Record = dict[str, Any]


class Left(NamedTuple):
    """What one series has left: the records with which it begins anew."""

    series: str
    records: tuple[Record, ...]
    """To send, in this order; none: the series gets nothing."""
    epsilon_nano: int
    """The new policy's."""
    begin_ms: int
    """From here on steps are decided again."""
    why: str
    """Why there are no records, or what holds beside them."""
    by_hand: bool
    """Whether the series may get some, but only from somebody who knows more than the ledger."""
    together_nano: int
    """What histories may lose that differ on both sides of the move, in each as the policy there says.

    At levels ``event`` and ``w-event`` it can be above the lifetime and a member's cap: those bound what histories lose
    that differ in one event or window over both.
    """

    def __str__(self) -> str:
        """Return a sentence for the operator."""
        if not self.records:
            return f"{self.series}: {self.why}{', decide by hand' if self.by_hand else ''}"
        return f"{self.series}: epsilon {amount(self.epsilon_nano)} is left{self.why}"

    def document(self) -> Record:
        """Return it as ``--json`` has it."""
        return self._asdict() | {"message": str(self)}


def caps_left(caps: Mapping[str, int], claims: Mapping[str, int], series: Iterable[Left]) -> Iterator[Left]:
    """Yield the cap with which each member begins anew: what nobody claimed, and what its series claim anew.

    ``caps`` are by chain, ``claims`` by series; ``series`` are what all of them have left. The first record of a series
    is a policy: its epsilon is what the series claims where no lifetime is configured.
    """
    rest, before = dict(caps), dict.fromkeys(caps, 0)
    separators = {chain[-1] for chain in caps}
    for separator in separators:  # one, unless ledgers of several installations were mixed
        for name, claim_nano in claims.items():
            chain = name.partition(separator)[0] + separator
            if chain in rest:
                rest[chain] -= claim_nano
        for one in series:
            chain = one.series.partition(separator)[0] + separator
            if chain in rest and claims[one.series]:
                anew_nano = nano(one.records[0]["epsilon"]) if one.records else 0
                rest[chain] += anew_nano
                before[chain] += one.together_nano - anew_nano
    for chain, left_nano in rest.items():
        epsilon_nano = max(left_nano, 0)  # a cap all the same: without one the member could claim anything
        record = {"type": "member", "member": chain[:-1], "epsilon": epsilon_of(epsilon_nano)}
        together_nano = epsilon_nano + before[chain]
        why = " for the claims of a member's series" + exceeding(together_nano, "cap", caps[chain])
        yield Left(chain, (record,), epsilon_nano, 0, why, by_hand=False, together_nano=together_nano)


def exceeding(together_nano: int, bound: str, bound_nano: int) -> str:
    """Return what to say of a loss on both sides of the move that is above a bound; "" where it is not."""
    if together_nano <= bound_nano:
        return ""
    lost = f"histories that differ on both sides of the move lose up to {amount(together_nano)} together"
    return f"; {lost}, above its {bound} of {amount(bound_nano)}"


def epsilon_of(amount_nano: int) -> float:
    """Return an amount of nano-epsilon in epsilon, as a record has it."""
    return float(Decimal(amount_nano) / NANO)
