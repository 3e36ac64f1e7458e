"""What an operator can do about each reason of a reject, in a line; docs/operating.md says more."""

from collections.abc import Mapping
from typing import Final

REMEDIES: Final[Mapping[str, str]] = {
    "malformed": "No record of a known type, or a timestamp out of range: mend the producer.",
    "invalid-value": "Does not fit the policy's kind: mend the producer, or set invalid.",
    "misrouted": "Key by series, partitioned by murmur2 (librdkafka: murmur2_random).",
    "no-policy": "Send a policy, or configure a default that matches.",
    "invalid-policy": "The command check names the fault.",
    "late": "Before the last decided step: nothing to do.",
    "early": "The collected step is not open yet: send a watermark first.",
    "duplicate": "A second record for a step: nothing to do.",
    "future": "Further ahead than max_future_ms: mend the producer's clock.",
    "closed": "The series has ended: nothing to do.",
    "refused-landmark": "Register landmarks before their time, neighbouring ones as intervals.",
    "budget-cap": "Above max_epsilon, or the lifetime has too little left: a smaller epsilon.",
    "key-erased": "The key of its epoch was erased: nothing to do.",
    "too-large": "Over 256 KiB, or an id over 200 bytes: send less.",
}
