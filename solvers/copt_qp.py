"""COPT by its own interface: a barrier method. Proprietary.

    min 1/2 x'Qx + c'x   subject to   Ax = b,  Ax <= b,  lower <= x <= upper

A ladder: one cold solve per tolerance of feasibility, primal and dual, as far as the library goes (1e-9 to 1e-4).
Without a licence it takes 2,000 variables and 2,000 constraints, and prints a banner. A program without rows is not
presolved: version 8.0.7 corrupts its memory when it presolves one that has no bound and a Q of rank one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import LicensedLadder
from marginbench.harness.model.bounded_qp import bounded
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class CoptQp(LicensedLadder):
    """tolerances: the rungs; 1e-6 is the library's own default."""

    tolerances: Sequence[float] = (1e-6, 1e-9)

    requires: ClassVar = {"coptpy": "commercial"}
    licence = "proprietary"
    name, free_variables, free_constraints = "COPT", 2000, 2000
    claims: ClassVar = {
        1: "converged",
        2: "infeasible",
        3: "unbounded",
        4: "infeasible",  # or unbounded: of a hard margin, both say that there is none
        6: "inaccurate",
        7: "inaccurate",
        8: "limit",
    }

    def licensed(self) -> bool:
        return licensed(self.free_variables + 1)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import coptpy

        assert isinstance(program, QuadraticProgram)
        qp, model = bounded(program), silent()
        settings = {"FeasTol": tolerance, "DualTol": tolerance} | ({} if qp.b.size else {"Presolve": 0})
        for name, value in {**settings, "Threads": program.threads}.items():
            model.setParam(name, value)
        x = model.addMVar(program.q.size, lb=finite(qp.lower), ub=finite(qp.upper))
        model.setObjective(0.5 * (x @ sp.csc_matrix(program.P) @ x) + program.q @ x, coptpy.COPT.MINIMIZE)
        if qp.zero:
            model.addMConstr(sp.csr_matrix(qp.A[: qp.zero]), x, coptpy.COPT.EQUAL, qp.b[: qp.zero])
        if qp.zero < qp.b.size:
            model.addMConstr(sp.csr_matrix(qp.A[qp.zero :]), x, coptpy.COPT.LESS_EQUAL, qp.b[qp.zero :])
        model.solve()
        info = {
            "library_seconds": model.SolvingTime,
            "library_iterations": model.BarrierIter,
            "settings": settings,
        }
        claim, said = self.claims.get(model.status, "failed"), f"status {model.status}"
        if not model.HasLpSol:
            return Iterate(None, None, claim, said, info)
        z = qp.multipliers(np.array(model.getDuals()), np.array(model.getRedcosts()))
        return self.answer(model.status, np.array(model.getValues()), z, info, said)


def silent() -> Any:
    import coptpy

    settings = coptpy.EnvrConfig()
    settings.set("nobanner", "1")
    model = coptpy.Envr(settings).createModel()
    model.setParam("Logging", 0)
    return model


def finite(bounds: np.ndarray) -> np.ndarray:
    """Its infinity is 1e30."""
    return np.clip(bounds, -1e30, 1e30)


@cache
def licensed(variables: int) -> bool:
    """Whether a program of so many variables is taken: the library says so only when it solves."""
    import coptpy

    model = silent()
    x = model.addMVar(variables)
    model.setObjective(x @ sp.eye(variables, format="csc") @ x, coptpy.COPT.MINIMIZE)
    try:
        model.solve()
    except coptpy.CoptError:
        return False
    return True
