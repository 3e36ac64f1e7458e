"""Tests of `stream_app/kafka/evidence`: what a worker learns about its topics before it decides."""
