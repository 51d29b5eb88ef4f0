"""What proofs rest on is compiled as IEEE arithmetic, and every kernel in one way, whoever calls it first."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from marginbench.harness.model import exact, kernel_matrix

ROOT = Path(__file__).resolve().parents[2]

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


def kernels(room):
    """(name, function, how it is compiled) of every compiled function below a folder."""
    for path in sorted((ROOT / room).rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                how = " ".join(map(ast.unparse, function.decorator_list))
                if "njit" in how or "jit_options" in how:
                    yield f"{path.name}: {function.name}", function, how


@pytest.mark.parametrize("room", ["harness", "solvers"])
def test_every_kernel_says_its_fastmath_itself(room):
    """Else its arithmetic is that of the kernel that happened to call it first, and the same run has other bits."""
    found = list(kernels(room))
    assert len(found) > 10
    assert not [name for name, _, how in found if "fastmath" not in how]


def writes_and_sums(loop) -> bool:
    """An innermost loop that writes an entry at its own index and adds up what is not a count."""
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    calls = {node.func.id for node in inside if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if any(isinstance(node, ast.For | ast.While) for node in inside) or calls - {"range", "min", "max", "abs"}:
        return False
    writes = (node for node in inside if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
    sums = (node for node in inside if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name))
    own = ast.unparse(loop.target)
    return any(own in ast.unparse(node.slice) for node in writes) and any(
        not isinstance(node.value, ast.Constant) for node in sums
    )


@pytest.mark.parametrize("room", ["harness", "solvers"])
def test_no_loop_that_may_reorder_its_sum_writes_too(room):
    """With few columns the bits of Newton's steps depended on where memory was free, once in 150 solves, while it did
    (`rowops/rows.py`)."""
    found = [
        f"{name}, line {loop.lineno}"
        for name, function, how in kernels(room)
        for loop in ast.walk(function)
        if "FAST" in how and isinstance(loop, ast.For) and writes_and_sums(loop)
    ]
    assert not found


def test_a_careless_kernel_does_not_spoil_exact_sums(tmp_path):
    """Without a word of its own a function would be compiled with the flags of its first caller, and cached so."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-P", "-c", CARELESS], env=environment, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
