"""Tests of `stream_app/kafka/evidence`: what a worker finds out about its topics before it decides."""
