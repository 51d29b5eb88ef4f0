"""ProxQP (proxsuite): a proximal augmented Lagrangian method. Bambade, El-Kazdadi, Taylor, Carpentier (2022).

    min 1/2 x'Hx + g'x   subject to   Ax = b,  l <= Cx <= u

A ladder: one cold solve per tolerance. The gap is checked too (off by default): without it a point may be called
solved on its residuals alone.
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
class ProxqpQp(Ladder):
    """tolerances: the rungs, absolute; 1e-5 is the library's own default. dense: its dense linear algebra."""

    tolerances: Sequence[float] = (1e-5, 1e-7, 1e-9)
    dense: bool = False

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"proxsuite": "qp"}
    licence = "BSD-2-Clause"
    claims: ClassVar = {
        "PROXQP_SOLVED": "converged",
        "PROXQP_MAX_ITER_REACHED": "limit",
        "PROXQP_PRIMAL_INFEASIBLE": "infeasible",
        "PROXQP_DUAL_INFEASIBLE": "unbounded",
    }

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, QuadraticProgram)
        return dense_need(program.P, program.A) if self.dense else super().needs(program)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import proxsuite

        assert isinstance(program, QuadraticProgram)
        equal, E, G = program.by_kind()
        shape = program.q.size, int(equal.sum()), int((~equal).sum())
        qp = proxsuite.proxqp.dense.QP(*shape) if self.dense else proxsuite.proxqp.sparse.QP(*shape)
        as_given = sp.csc_matrix.toarray if self.dense else sp.csc_matrix
        qp.settings.eps_abs = qp.settings.eps_duality_gap_abs = tolerance
        qp.settings.check_duality_gap = True
        qp.settings.compute_timings = True
        qp.init(
            as_given(sp.csc_matrix(program.P)),
            program.q,
            as_given(sp.csc_matrix(E)),
            program.u[equal],
            as_given(sp.csc_matrix(G)),
            np.maximum(program.l[~equal], -1e30),  # its infinity is 1e20
            np.minimum(program.u[~equal], 1e30),
        )
        qp.solve()
        its = qp.results.info
        z = np.empty(program.l.size)
        z[equal], z[~equal] = qp.results.y, qp.results.z
        info = {"library_iterations": its.iter, "library_seconds": its.run_time / 1e6}
        return self.answer(str(its.status).rpartition(".")[2], np.array(qp.results.x), z, info)
