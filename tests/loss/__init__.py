"""Tests of `stream_app/loss`: temporal loss."""
