"""PIQP: a proximal interior point method. Schwan, Jiang, Kuhn, Jones (2023).

    min 1/2 x'Px + c'x   subject to   Ax = b,  h_l <= Gx <= h_u

A ladder: one cold solve per tolerance, absolute and relative, of residuals and gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.needs import Need, dense_need
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class PiqpQp(Ladder):
    """tolerances: the rungs; 1e-8 is the library's own default. dense: its dense linear algebra."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
    dense: bool = False

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"piqp": "qp"}
    licence = "BSD-2-Clause"
    claims: ClassVar = {
        "PIQP_SOLVED": "converged",
        "PIQP_MAX_ITER_REACHED": "limit",
        "PIQP_PRIMAL_INFEASIBLE": "infeasible",
        "PIQP_DUAL_INFEASIBLE": "unbounded",
    }

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, QuadraticProgram)
        return dense_need(program.P, program.A) if self.dense else super().needs(program)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import piqp

        assert isinstance(program, QuadraticProgram)
        solver = piqp.DenseSolver() if self.dense else piqp.SparseSolver()
        as_given = sp.csc_matrix.toarray if self.dense else sp.csc_matrix
        settings = solver.settings
        settings.eps_abs = settings.eps_rel = tolerance
        settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = tolerance
        settings.compute_timings = True
        equal, E, G = program.by_kind()
        solver.setup(
            as_given(sp.csc_matrix(program.P)),
            program.q,
            as_given(sp.csc_matrix(E)),
            program.u[equal],
            as_given(sp.csc_matrix(G)),
            program.l[~equal],
            program.u[~equal],
        )
        said, result = str(solver.solve()).rpartition(".")[2], solver.result
        z = np.empty(program.l.size)
        z[equal], z[~equal] = result.y, result.z_u - result.z_l
        info = {"library_iterations": result.info.iter, "library_seconds": result.info.run_time}
        return self.answer(said, np.array(result.x), z, info)
