"""Tests of the commands that write records or decide files of records: `policy`, `replay` and `watermark`."""
