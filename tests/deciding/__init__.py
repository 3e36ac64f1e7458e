"""Tests of `stream_app/deciding`: one record in, its decision out, rows and rebuilt rows."""
