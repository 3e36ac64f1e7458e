"""Tests of `stream_app/kafka/owner`: the individual parts of a partition's life."""
