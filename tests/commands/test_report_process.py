"""A report in a process of its own: what it prints, returns and takes stays the same for whoever waits for it."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from marginbench.harness.commands.report_process import in_own_process
from marginbench.harness.errors import StoreError


def test_the_code_is_that_of_the_work():
    assert [in_own_process(lambda code=code: code) for code in (0, 1, 130)] == [0, 1, 130]


def test_its_memory_is_not_the_drivers():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert in_own_process(lambda: int(len(bytes(b"x" * 2**28)) != 2**28)) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**16  # in KiB: 64 MB of the 256


def test_what_it_prints_comes_before_what_the_driver_prints_next():
    code = "from marginbench.harness.commands.report_process import in_own_process\n"
    code += "print('first'); in_own_process(lambda: print('second') or 0); print('third')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["first", "second", "third"]


def test_a_full_disk_is_one_line_and_a_signal_is_said(capfd):
    def full() -> int:
        raise StoreError("cannot write x: No space left on device")

    assert in_own_process(full) == 1
    assert capfd.readouterr().err == "marginbench: cannot write x: No space left on device\n"
    with pytest.raises(StoreError, match="signal 9"):
        in_own_process(lambda: os.kill(os.getpid(), signal.SIGKILL) or 0)
