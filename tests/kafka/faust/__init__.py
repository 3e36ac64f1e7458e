"""Tests of `stream_app/kafka/faust`: the consumer's thread, recovery, local copies whole and damaged."""
