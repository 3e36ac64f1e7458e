"""Why a record was refused: the reason codes of rejects, and what to do about each."""

from typing import Final, Literal, NamedTuple

Reason = Literal[
    "malformed",
    "wrong-type",
    "invalid-value",
    "misrouted",
    "no-policy",
    "invalid-policy",
    "late",
    "early",
    "duplicate",
    "future",
    "closed",
    "refused-landmark",
    "weaker-policy",
    "budget-cap",
    "member-cap",
    "key-erased",
    "too-large",
    "input-lost",
]


class Refused(NamedTuple):
    """Says that a record changes nothing, and why."""

    reason: Reason


class Advice(NamedTuple):
    """What a reason means, and what its sender or the operator can do."""

    meaning: str
    remedy: str


_NOTHING = "nothing: a step has one release, a member one item at it"

REASONS: Final[dict[Reason, Advice]] = {
    "malformed": Advice(
        "not one of the record types, or a timestamp outside 0..253402300799999; with `member_separator` an id that "
        "begins or ends with it, without it the cap of a member",
        "mend the producer",
    ),
    "wrong-type": Advice(
        "the policy of the series takes no record of this type: a watermark needs `collect` or `protection.within`, a "
        "contribution or an intrusion needs `collect`, and an observation a policy without `collect`",
        "send what the policy takes; a series with one observation a step needs no watermarks, so leave it out of the "
        "command that sends them",
    ),
    "invalid-value": Advice(
        "the value does not fit the policy's kind",
        "mend the producer, or set `invalid` to a public substitute where the kind takes one",
    ),
    "misrouted": Advice(
        "the record key is not the series id (with `member_separator`: not the member), or not on the partition that "
        "murmur2 gives",
        "key by series, or by member; clients on librdkafka need `partitioner=murmur2_random`",
    ),
    "no-policy": Advice("no policy, and no default matches", "send a policy, or configure a default"),
    "invalid-policy": Advice(
        "faults in a policy, a version not above the last, landmarks before the last decided step, or policies not "
        "accepted; with `member_separator` also `collect` in a series whose id holds it, or a version that drops it",
        "`check FILE` names the fault; where it names none, send a version above the last in the ledger",
    ),
    "late": Advice(
        "before the last decided step; collected data and steps of several readings: before the first open step",
        f"of a file, sort it by time, oldest first; else {_NOTHING}",
    ),
    "early": Advice(
        "collected data, or several readings a step with `absent`: the step is not open yet, or nothing is",
        "a watermark first; after `recover --accept-lost-input`, two (without `absent` one, and readings need it then)",
    ),
    "duplicate": Advice(
        "a second record for the last decided step; a member's cap that it has; a member's second item at a step of "
        "collected data; a second reading of one timestamp; a watermark that closes nothing",
        _NOTHING,
    ),
    "future": Advice(
        "an observation or a watermark further ahead of the broker's clock than `max_future_ms`; or a watermark that "
        "would close too many steps",
        "mend the clock; watermarks in between",
    ),
    "closed": Advice("the series ended", "nothing"),
    "refused-landmark": Advice(
        "another level, an earlier period, too little budget for decided steps, dummies among the landmarks, or more "
        "than 65,536 separate intervals",
        "register landmarks before their time, and neighbouring ones as intervals",
    ),
    "weaker-policy": Advice(
        "the version protects less together than the one that rules, and its record or the settings do not allow that",
        'keep what is still to come; or `"weaker":true` in the record with `accept_weaker_policies`',
    ),
    "budget-cap": Advice(
        "above `max_epsilon`, or the lifetime has too little left; a member's cap above `member_epsilon`",
        "a smaller epsilon",
    ),
    "member-cap": Advice(
        "the first policy of a series would claim more than its member's cap has left, or make it the member's 1,001st "
        "series; or a record would raise a member's cap, or lower it below what its series claim",
        "a smaller `lifetime` in the policy; claims are never returned, not even by closed series",
    ),
    "key-erased": Advice(
        "the event's key epoch was erased; or that of the start of the dummies' range, of a policy or of the default "
        "policy of a new series. Steps of an erased epoch that were open are passed over without it",
        "nothing; erase less if events come later than that; for dummies a policy with a later range",
    ),
    "too-large": Advice(
        "over 256 KiB, a series id or a member over 200 bytes, or the 10,001st reading of a step", "send less"
    ),
    "input-lost": Advice(
        "collected data, told once by `recover --accept-lost-input`: this record and all before it are deleted, and "
        "what of them open steps counted is lost, so these are never released",
        "nothing; raise the retention of the events",
    ),
}
"""Every reason with its meaning and its remedy."""
