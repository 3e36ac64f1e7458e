#!/usr/bin/env bash
# Sends observations, JSON Lines from standard input, to landmark.events. Needs kcat and jq.
#
#     produce.sh [BOOTSTRAP [TOPIC [SEPARATOR]]] < observations.jsonl
#
# The key is the series id, or the part before the worker's `member_separator` where it has one, and murmur2 chooses the partition, as in Java clients. librdkafka's own default (CRC32)
# chooses others: the worker rejects what it finds there as `misrouted`. So never leave the partitioner out, never name
# a partition with -p, and never send a record without a key: murmur2_random sends those anywhere.
set -euo pipefail

# Each line becomes key, unit separator, line. The line itself stays as it is; one without a series id stops here.
jq --raw-input --raw-output --arg separator "${3:-}" '
    fromjson.series as $series
    | if ($series | type) != "string" or $series == "" then error("no series id: " + .) else . end
    | if $series | test("[\u0000-\u001f]") then error("a control character in a series id: " + .) else . end
    | (if $separator == "" then $series else ($series / $separator)[0] end) + "\u001f" + .' |
    kcat -P -b "${1:-127.0.0.1:9092}" -t "${2:-landmark.events}" -K $'\x1f' \
        -X partitioner=murmur2_random -X acks=all -X enable.idempotence=true
