"""Why a record was refused: the reason codes of rejected records, and the remedy for each."""

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


class Rejection(NamedTuple):
    """The result for a record that changes nothing, with the reason."""

    reason: Reason


class Advice(NamedTuple):
    """What a reason means, and what the sender or the operator can do."""

    meaning: str
    remedy: str


_NOTHING = "nothing: a step has one release, and a contributor has one item per step"

REASONS: Final[dict[Reason, Advice]] = {
    "malformed": Advice(
        "not one of the record types, or a timestamp outside 0..253402300799999; with `member_separator`, an id that "
        "begins or ends with it; without `member_separator`, a limit of a person",
        "fix the producer",
    ),
    "wrong-type": Advice(
        "the policy of the series does not accept this type of record: a watermark needs `collect` or "
        "`protection.within`, a contribution or an intrusion needs `collect`, and an observation needs a policy "
        "without `collect`",
        "send only what the policy accepts; a series with one observation per step needs no watermarks, so omit it "
        "from the command that sends them",
    ),
    "invalid-value": Advice(
        "the value does not fit the policy's kind",
        "fix the producer, or set `invalid` to a public substitute if the kind takes one",
    ),
    "misrouted": Advice(
        "the record key is not the series id (with `member_separator`: not the person), or the record is not on the "
        "partition that murmur2 selects",
        "key by series, or by person; clients that use librdkafka need `partitioner=murmur2_random`",
    ),
    "no-policy": Advice("the series has no policy, and no default matches", "send a policy, or configure a default"),
    "invalid-policy": Advice(
        "faults in a policy, a version that is not above the last version, landmarks before the last processed step, "
        "or policies that are not accepted; with `member_separator`, also `collect` in a series whose id contains the "
        "separator, or a version that drops `collect`",
        "`check FILE` names the fault; if it names none, send a version above the last version in the ledger",
    ),
    "late": Advice(
        "before the last processed step; for collected data and steps of several readings, before the first open step",
        f"sort a file by time, oldest first; otherwise {_NOTHING}",
    ),
    "early": Advice(
        "collected data, or several readings per step with `absent`: the step is not open yet, or no step is open",
        "send a watermark first; after `recover --accept-lost-input`, send two watermarks (without `absent`, send "
        "one; readings then need it too)",
    ),
    "duplicate": Advice(
        "a second record for the last processed step; a limit that the person already has; a contributor's second item "
        "in a step of collected data; a second reading with the same timestamp; a watermark that closes nothing",
        _NOTHING,
    ),
    "future": Advice(
        "an observation or a watermark that is further ahead of the broker's clock than `max_future_ms`; or a "
        "watermark that would close too many steps",
        "correct the clock; send watermarks in between",
    ),
    "closed": Advice("the series ended", "nothing"),
    "refused-landmark": Advice(
        "a level other than landmark, an earlier version, too little budget for processed steps, dummies among the "
        "landmarks, or more than 65,536 separate intervals",
        "register landmarks in advance, and register adjacent landmarks as intervals",
    ),
    "weaker-policy": Advice(
        "the version jointly protects less than the current one, and its record or the configuration does not allow "
        "that",
        'keep the future landmarks; or send `"weaker":true` in the record with `accept_weaker_policies`',
    ),
    "budget-cap": Advice(
        "above `max_epsilon`, or the lifetime has too little left; a person's limit above `member_epsilon`",
        "a smaller epsilon",
    ),
    "member-cap": Advice(
        "the first policy of a series would reserve more than is left of the person's limit, or would start the "
        "person's 1,001st series; or a record would raise a person's limit, or lower it below what their series "
        "reserve",
        "use a smaller `lifetime` in the policy; reserved amounts are never returned, not even by closed series",
    ),
    "key-erased": Advice(
        "the key epoch of the event, or the epoch in which the dummies' range starts (in a policy, or in the default "
        "policy of a new series), was erased. Open steps of an erased epoch are skipped without a reject",
        "nothing; keep epochs longer if events arrive that late; for dummies, use a policy with a later range",
    ),
    "too-large": Advice(
        "over 256 KiB, a series id or a member over 200 bytes, or the 10,001st reading of a step", "send less"
    ),
    "input-lost": Advice(
        "collected data, reported once by `recover --accept-lost-input`: this record and all earlier ones are deleted. "
        "What open steps had counted from them is lost, so these steps are never released",
        "nothing; raise the retention of the events",
    ),
}
"""Every reason with its meaning and its remedy."""
