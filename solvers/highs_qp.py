"""HiGHS: an active set method for quadratic programs. Huangfu, Hall (2018); its QP solver by Feldmeier.

    min 1/2 x'Qx + c'x   subject to   row_lower <= Ax <= row_upper

One rung: its QP solver uses no tolerance. It adds 1e-7 to the diagonal of Q, which bounds what it can reach: the value
is off by 1/2 1e-7 ||x||^2. The option that sets this number is left alone: with less the method cycles.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Adapter
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class HighsQp(Adapter):
    accepts = (QuadraticProgram,)
    requires: ClassVar = {"highspy": "qp"}
    licence = "MIT"
    claims: ClassVar = {
        "Optimal": "converged",
        "Infeasible": "infeasible",
        "Unbounded": "unbounded",
        "Iteration limit reached": "limit",
    }
    restarts = True
    accuracy = 1e-2

    def iterates(self, program: Program) -> Iterator[Iterate]:
        import highspy

        assert isinstance(program, QuadraticProgram)
        (m, n), P = program.A.shape, sp.csc_array(sp.tril(program.P))
        model = highspy.HighsModel()
        model.lp_.num_col_, model.lp_.num_row_, model.lp_.col_cost_ = n, m, program.q
        model.lp_.col_lower_, model.lp_.col_upper_ = np.full(n, -np.inf), np.full(n, np.inf)
        model.lp_.row_lower_, model.lp_.row_upper_ = program.l, program.u
        model.lp_.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        write_columns(model.lp_.a_matrix_, program.A)
        model.hessian_.dim_ = n
        model.hessian_.format_ = highspy.HessianFormat.kTriangular
        write_columns(model.hessian_, P)
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(model)
        solver.run()
        said = solver.modelStatusToString(solver.getModelStatus())
        claim, solution = self.claims.get(said, "failed"), solver.getSolution()
        found = claim in ("converged", "limit")
        info = solver.getInfo()
        yield Iterate(
            np.array(solution.col_value) if found else None,
            -np.array(solution.row_dual) if found else None,  # its Lagrangian subtracts what ours adds
            claim,
            said,
            {"library_iterations": info.qp_iteration_count, "library_seconds": solver.getRunTime()},
        )


def write_columns(target, matrix: sp.csc_array) -> None:
    target.start_, target.index_, target.value_ = matrix.indptr, matrix.indices, matrix.data
