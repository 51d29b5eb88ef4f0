"""Snap ML's SupportVectorMachine: dual coordinate descent. Dünner and others (2018). Proprietary licence.

    min regularizer/2 ||w||^2 + sum_i h(m_i),   regularizer = lam / weight, one weight for all rows

A ladder: one cold solve per tolerance, of the largest change of a coefficient.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SquaredHinge
from marginbench.harness.model.solver import Iterate, Ladder


@dataclass(frozen=True)
class SnapmlSvm(Ladder):
    """tolerances: the rungs; 1e-3 is the library's own default. max_iter: of each rung. seed: of the order."""

    tolerances: Sequence[float] = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iter: int = 10_000_000
    seed: int = 0

    accepts = (RegularisedRisk,)
    requires: ClassVar = {"snapml": "proprietary"}

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, Hinge | SquaredHinge):
            return "Snap ML has the hinge and the squared hinge"
        if program.intercept:
            return "Snap ML penalises its bias; the problem's is free"
        if np.ptp(program.weight) > 0:
            return "Snap ML has no sample weights"
        if np.unique(program.y).size < 2:
            return "Snap ML needs both classes"
        return None

    def warm_up(self, program: Program) -> None:
        X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
        next(self.iterates(RegularisedRisk(X, y, 1.0, np.ones(2), Hinge())))

    def solve(self, program: Program, tolerance: float) -> Iterate:
        with warnings.catch_warnings(record=True, action="always") as heard:
            import snapml

            assert isinstance(program, RegularisedRisk)
            model = snapml.SupportVectorMachine(
                loss="hinge" if isinstance(program.loss, Hinge) else "squared_hinge",
                regularizer=float(program.lam / program.weight[0]),
                tol=tolerance,
                max_iter=self.max_iter,
                n_jobs=1,
                random_state=self.seed,
            )
            model.fit(sp.csr_matrix(program.X) if sp.issparse(program.X) else program.X, program.y)
        said = "; ".join(str(warning.message) for warning in heard)
        return Iterate(np.ravel(model.coef_), None, "converged", said, {"tolerance": tolerance})
