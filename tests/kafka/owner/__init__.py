"""Tests of `stream_app/kafka/owner`: the parts of a partition's life, one by one."""
