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

from marginbench.harness.model.adapters import RiskLadder, words
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SquaredHinge
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SnapmlSvm(RiskLadder):
    """tolerances: the rungs; 1e-3 is the library's own default. max_iter: of each rung. seed: of the order."""

    tolerances: Sequence[float] = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iter: int = 10_000_000
    seed: int = 0

    requires: ClassVar = {"snapml": "proprietary"}
    licence = "proprietary"
    name, losses, bias, sample_weights = "Snap ML", (Hinge, SquaredHinge), "penalises its bias", False

    def solve(self, program: Program, tolerance: float) -> Iterate:
        with warnings.catch_warnings(record=True, action="always") as heard:
            import snapml

            assert isinstance(program, RegularisedRisk)
            model = snapml.SupportVectorMachine(
                loss="hinge" if isinstance(program.loss, Hinge) else "squared_hinge",
                regularizer=float(program.lam / program.weight[0]),
                tol=tolerance,
                max_iter=self.max_iter,
                n_jobs=program.threads,
                random_state=self.seed,
            )
            model.fit(sp.csr_matrix(program.X) if sp.issparse(program.X) else program.X, program.y)
        return Iterate(np.ravel(model.coef_), None, "converged", words(heard))
