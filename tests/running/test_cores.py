"""Claims to cores: each core once, freed by closing or by the end of the process that holds it."""

import os
import subprocess
import sys

import pytest

from marginbench.harness.running import cores

pytestmark = pytest.mark.skipif(not cores.usable(), reason="processes cannot choose their cores here")


@pytest.fixture(autouse=True)
def claims_of_their_own(monkeypatch):
    """Other harnesses of this machine come and go."""
    monkeypatch.setattr(cores, "NAME", f"test-core-{os.getpid()}")


def test_every_core_is_claimed_once_and_given_back_by_closing():
    everything = len(cores.usable())
    with cores.claim(everything) as mine:
        assert set(mine.numbers) == cores.usable()
        assert cores.free() == 0
        assert cores.claim() is None
    assert cores.free() == everything


def test_what_cannot_be_had_in_full_is_not_held_in_part():
    everything = len(cores.usable())
    with cores.claim():
        assert cores.claim(everything) is None
        assert cores.free() == everything - 1


def test_the_end_of_a_process_frees_its_cores():
    code = f"import os; from marginbench.harness.running import cores; cores.NAME = {cores.NAME!r}; "
    code += "held = cores.claim(); print(*held.numbers, cores.free(), flush=True); os._exit(9)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    number, left = done.stdout.split()
    assert (done.returncode, int(number) in cores.usable(), int(left)) == (9, True, len(cores.usable()) - 1)
    assert cores.free() == len(cores.usable())
