"""LIBSVM through scikit-learn: sequential minimal optimisation. Chang, Lin (2011); Fan, Chen, Lin (2005), WSS 2.

    max sum_i a_i - 1/2 ||w(a)||^2,   0 <= a_i <= upper_i,   sum_i a_i y_i = 0

A ladder over its stopping tolerance. The bias is always free. With the linear kernel it still works on the rows of the
Gram matrix, cached, not on w; the cache is single precision, so that tolerances below 1e-6 are out of its reach and can
cost it millions of steps. With any other kernel it is given the judged K (`precomputed`).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import BoxLadder, words
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class Libsvm(BoxLadder):
    """tolerances: the rungs; 1e-3 is the library's own default. cache_mb: for rows of the Gram matrix."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    cache_mb: float = 200.0

    accepts = (BoxDual, KernelDual)
    memory_field = "cache_mb"
    requires: ClassVar = {"sklearn": ""}
    licence = "BSD-3-Clause"
    accuracy = 1e-3
    name = "LIBSVM"

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from sklearn.svm import SVC

        assert isinstance(program, BoxDual | KernelDual)
        kernel, X = ("linear", program.X) if isinstance(program, BoxDual) else ("precomputed", program.K)
        model = SVC(kernel=kernel, tol=tolerance, cache_size=self.cache_mb, random_state=0)
        with warnings.catch_warnings(record=True, action="always") as heard:
            model.fit(X, program.y, sample_weight=program.upper)
        alpha_y = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
        alpha = np.zeros(program.n)
        alpha[model.support_] = np.abs(alpha_y[0])
        held = isinstance(program, BoxDual)
        return Iterate(
            alpha,
            np.append(program.image(alpha), model.intercept_[0]) if held else None,
            claim="limit" if heard else "converged",
            said=words(heard),
            info={"library_iterations": int(model.n_iter_[0])},
        )
