"""LIBSVM by its authors' own interface: sequential minimal optimisation. Chang, Lin (2011); Fan, Chen, Lin (2005).

    max sum_i a_i - 1/2 ||w(a)||^2,   0 <= a_i <= C,   sum_i a_i y_i = 0

A ladder over its stopping tolerance. The bias is always free, and C is one number for all rows. The rows of the Gram
matrix are cached in single precision, as in scikit-learn's copy of it. It gives up after 10,000,000 steps, or 100 n,
and says so on the error stream of the process: here the count of its steps tells.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import BoxLadder
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate

MOST_STEPS = 10_000_000


@dataclass(frozen=True)
class LibsvmOfficial(BoxLadder):
    """tolerances: the rungs; 1e-3 is the library's own default. cache_mb: for rows of the Gram matrix."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    cache_mb: float = 200.0

    memory_field = "cache_mb"
    requires: ClassVar = {"libsvm": "peers"}
    licence = "BSD-3-Clause"
    accuracy = 1e-3
    name, sample_weights = "LIBSVM", False

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from libsvm import svm, svmutil

        assert isinstance(program, BoxDual)
        log: list[str] = []
        options = f"-t 0 -c {float(program.upper[0])!r} -e {tolerance!r} -m {self.cache_mb!r}"
        parameter = svm.svm_parameter(f"{options} -q")
        parameter.print_func = svm.PRINT_STRING_FUN(lambda text: log.append(text.decode()))
        model = svmutil.svm_train(svm.svm_problem(program.y, sp.csr_matrix(program.X)), parameter)
        alpha = np.zeros(program.n)
        alpha[np.array(model.get_sv_indices(), int) - 1] = np.abs(np.ravel(model.get_sv_coef()))
        b = -model.rho[0] * (1.0 if model.get_labels()[0] > 0 else -1.0)
        said = "".join(log)
        steps = int(count[1]) if (count := re.search(r"#iter = (\d+)", said)) else None
        stopped = steps is not None and steps >= max(MOST_STEPS, 100 * program.n)
        return Iterate(
            alpha,
            np.append(program.X.T @ (alpha * program.y), b),
            claim="limit" if stopped else "converged",
            said="reaching max number of iterations" if stopped else "",
            info={"library_iterations": steps, "settings": options},
        )
