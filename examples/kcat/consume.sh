#!/usr/bin/env bash
# Prints landmark.releases to its end, one JSON object a line; committed ones only. Needs kcat.
#
#     consume.sh [BOOTSTRAP [TOPIC]]
#
# The isolation level is librdkafka's default; Java's is the other one. Without -e it follows.
set -euo pipefail

kcat -C -b "${1:-127.0.0.1:9092}" -t "${2:-landmark.releases}" -o beginning -e -q -X isolation.level=read_committed
