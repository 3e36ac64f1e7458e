"""Faults on purpose: real workers killed, paused, misled and fed with anything, and the promises that must outlive it.

The short runs belong to every run of the suite; the full ones are asked for:

    python -m pytest tests/faults/test_kills.py --kills 20 --events 100000
    python -m pytest tests/faults/test_fuzz.py --fuzz 100000
    python -m pytest tests/faults/load/test_scale.py --scale 4 -s
"""
