"""Deliberate faults: real workers killed, paused, misled, cut off and fed anything, and what still holds.

The short runs belong to `make test`, the full ones to `make long`. To run a single one:

    python -m pytest tests/faults/test_kills.py --kills 20 --events 100000
    python -m pytest tests/faults/test_fuzz.py --fuzz 100000
    python -m pytest tests/faults/network/test_late.py --speed long --table table.md
    python -m pytest tests/faults/load/test_scale.py --speed long -s
"""
