#!/usr/bin/env bash
# Prints landmark.releases to its end, one JSON object a line; committed ones only. Needs kcat.
#
#     consume.sh [BOOTSTRAP [TOPIC]]
#
# librdkafka reads committed records by default, but not all builds and wrappers do: say it. Without -e it follows; with
# `-G GROUP TOPIC` in place of `-C -t TOPIC` it goes on where the group stopped.
set -euo pipefail

kcat -C -b "${1:-127.0.0.1:9092}" -t "${2:-landmark.releases}" -o beginning -e -q -X isolation.level=read_committed
