"""Faults on purpose: real workers killed, paused, misled, cut off and fed with anything, and what holds all the same.

The short runs belong to `make test`, the full ones to `make long`. One alone:

    python -m pytest tests/faults/test_kills.py --kills 20 --events 100000
    python -m pytest tests/faults/test_fuzz.py --fuzz 100000
    python -m pytest tests/faults/network/test_late.py --speed long --table table.md
    python -m pytest tests/faults/load/test_scale.py --speed long -s
"""
