"""What proofs rest on is compiled as IEEE arithmetic, whoever calls it first."""

import os
import subprocess
import sys

import pytest

from marginbench.harness.model import exact, kernel_matrix

CARELESS = """
from numba import njit
from marginbench.harness.model.exact import two_sum

@njit(fastmath=True)
def careless(a, b):
    return two_sum(a, b)

careless(1.0, 1e-20)
print(two_sum(1.0, 1e-20) == (1.0, 1e-20))
"""


@pytest.mark.parametrize("module", [exact, kernel_matrix], ids=["exact", "kernel_matrix"])
def test_no_caller_can_lend_its_fastmath_flags(module):
    compiled = [function for function in vars(module).values() if hasattr(function, "targetoptions")]
    assert len(compiled) >= 9
    assert all(function.targetoptions["fastmath"] is False for function in compiled)


def test_a_careless_kernel_does_not_spoil_exact_sums(tmp_path):
    """Without a word of its own a function would be compiled with the flags of its first caller, and cached so."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-P", "-c", CARELESS], env=environment, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
