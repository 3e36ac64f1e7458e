"""The measured usage of a command is only its own."""

import os
import sys
import time

import pytest

from benchmarks.rig.process import ClientError, cpu_seconds, usage_of

MEBIBYTE = 1024 * 1024


def test_the_peak_is_the_command_s_own() -> None:
    """The peak includes what the command held, but nothing held by the process that measures it."""
    ours = b"x" * (200 * MEBIBYTE)
    small, large = (usage_of((sys.executable, "-c", f"held = b'x' * {size}")).peak_bytes for size in (1, 60 * MEBIBYTE))
    assert small < 50 * MEBIBYTE < len(ours)
    assert 60 * MEBIBYTE < large < len(ours)


def test_a_failure_is_told() -> None:
    """A failing command raises an error that contains its output."""
    with pytest.raises(ClientError, match=r"(?s)ended with 3:.*too bad"):
        usage_of((sys.executable, "-c", "import sys; print('too bad'); sys.exit(3)"))


def test_the_processor_time_of_a_process_is_exact() -> None:
    """It equals this process's own clock, without ticks of 10 ms; a process that is gone has none."""
    before = time.process_time()
    assert before <= cpu_seconds(os.getpid()) <= time.process_time()
    assert cpu_seconds(2**22 + 1) == 0  # above the kernel's largest number of a process
