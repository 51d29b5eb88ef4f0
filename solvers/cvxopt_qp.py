"""CVXOPT: a primal-dual interior point method. Andersen, Dahl, Vandenberghe (2010). GPL 3.

    min 1/2 x'Px + q'x   subject to   Gx + s = h,  s >= 0,  Ax = b

A ladder: one cold solve per tolerance, of feasibility and of both gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class CvxoptQp(Ladder):
    """tolerances: the rungs; 1e-7 is the library's own default."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"cvxopt": "gpl"}
    licence = "GPL-3.0"
    claims: ClassVar = {
        "optimal": "converged",
        "unknown": "inaccurate",
        "primal infeasible": "infeasible",
        "dual infeasible": "unbounded",
    }

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from cvxopt import matrix, solvers

        assert isinstance(program, QuadraticProgram)
        cone, S = program.conic()
        A, b, k = cone.A.tocsr(), cone.b, cone.zero
        options = {"abstol": tolerance, "reltol": tolerance, "feastol": tolerance, "show_progress": False}
        try:
            found = solvers.qp(
                sparse(program.P),
                matrix(program.q),
                sparse(A[k:]),
                matrix(b[k:]),
                sparse(A[:k]),
                matrix(b[:k]),
                options=options,
            )
        except (ArithmeticError, ValueError) as error:  # a factorisation that broke down
            return Iterate(None, claim="failed", said=str(error))
        z = S.T @ np.concatenate([np.ravel(found["y"]), np.ravel(found["z"])])
        return self.answer(found["status"], np.ravel(found["x"]), z, {"library_iterations": found["iterations"]})


def sparse(M):
    from cvxopt import spmatrix

    M = sp.coo_array(M)
    return spmatrix(M.data, M.coords[0], M.coords[1], M.shape)
