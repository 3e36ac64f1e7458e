"""Tests of the page at `/` of a worker or an audit."""
