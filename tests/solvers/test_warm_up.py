"""What compiling and loading of kernels costs is paid before the clock starts, not by the first iterate."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from numba.core.registry import CPUDispatcher
from marginbench.datasets.generators import one_hot, overlapping
from marginbench.harness.cell.spec import instantiate
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.solvers import auto
from marginbench.solvers.coordinate_descent import solver as coordinate_descent
from marginbench.solvers.newton import augmented as newton_augmented

solver, layout, C, bias = instantiate({"_target_": sys.argv[1]}), sys.argv[2], float(sys.argv[3]), sys.argv[4]
X, y = one_hot(6000, 30, 5, 0.3, 0.5, 0) if layout == "csr" else overlapping(6000, 20, 2.0, 0)
for array in (y, X.data, X.indices, X.indptr) if layout == "csr" else (y, X):
    array.setflags(write=False)  # as those of a cell are
problem = Problem(X, y, C=C, bias=bias)
program = BoxDual(problem.X, problem.y, problem.upper, problem.curvature, bias == "free")


def kernels():
    ours = ("marginbench.solvers.", "marginbench.harness.rowops.")
    modules = [m for name, m in sys.modules.items() if name.startswith(ours)]
    found = [f for m in modules for f in vars(m).values() if isinstance(f, CPUDispatcher)]
    return {(f.py_func.__name__, signature) for f in found for signature in f.signatures}


solver.warm_up(program)
before = kernels()
assert before
for count, iterate in enumerate(solver.iterates(program)):
    if count == 300 or iterate.claim:
        break
late = {name for name, _ in kernels() - before}
assert not late, late
"""


@pytest.mark.parametrize(
    ("solver", "layout", "C", "bias"),
    [
        ("auto.Auto", "csr", "0.01", "none"),
        ("auto.Auto", "dense", "1", "none"),
        ("coordinate_descent.solver.CoordinateDescent", "csr", "0.01", "none"),
        ("newton.augmented.NewtonAugmented", "csr", "1", "free"),
    ],
)
def test_nothing_is_compiled_once_the_clock_runs(solver, layout, C, bias):
    command = [sys.executable, "-c", PROGRAM, f"marginbench.solvers.{solver}", layout, C, bias]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
