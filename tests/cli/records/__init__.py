"""Tests of the commands that write records or decide files of them: `policy`, `replay` and `watermark`."""
