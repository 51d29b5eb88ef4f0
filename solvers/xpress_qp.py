"""FICO Xpress by its own interface: a barrier method, unless `method` says otherwise. Proprietary.

    min 1/2 x'Qx + c'x   subject to   Ax = b,  Ax <= b,  lower <= x <= upper

A ladder: one cold solve per tolerance of the barrier's gap and of its primal and dual residuals. The community licence,
which `pip` installs, takes 200 variables and constraints together.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import LicensedLadder
from marginbench.harness.model.bounded_qp import BoundedQp, bounded
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class XpressQp(LicensedLadder):
    """tolerances: the rungs; the library's own default depends on the program. method: 1 its choice, 2 and 3 the dual
    and the primal simplex method, 4 the barrier."""

    tolerances: Sequence[float] = (1e-6, 1e-8, 1e-10, 1e-12)
    method: int = 4

    requires: ClassVar = {"xpress": "commercial"}
    licence = "proprietary"
    name, free_variables, free_constraints, free_together = "Xpress", 200, 200, 200
    claims: ClassVar = {
        "OPTIMAL": "converged",
        "FEASIBLE": "inaccurate",
        "INFEASIBLE": "infeasible",
        "UNBOUNDED": "unbounded",
    }

    def licensed(self) -> bool:
        return licensed(self.free_together + 1)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        assert isinstance(program, QuadraticProgram)
        qp, model = bounded(program), silent()
        settings = {
            "bargapstop": tolerance,
            "barprimalstop": tolerance,
            "bardualstop": tolerance,
            "defaultalg": self.method,
            "threads": program.threads,
        }
        for name, value in settings.items():
            setattr(model.controls, name, value)
        load(model, program, qp)
        model.optimize()
        said = model.attributes.solstatus.name
        info = {
            "library_seconds": model.attributes.time,
            "library_iterations": model.attributes.bariter or model.attributes.simplexiter,
            "settings": settings,
        }
        if said != "OPTIMAL":  # of a merely feasible point it has no multipliers
            return Iterate(None, None, self.claims.get(said, "failed"), said, info)
        prices = np.array(model.getDuals() if qp.b.size else [])  # without rows it has none to give
        z = qp.multipliers(prices, np.array(model.getRedCosts()))
        return self.answer(said, np.array(model.getSolution()), z, info)


def silent() -> Any:
    import xpress

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xpress.LicenseWarning)  # that the licence is the free one
        model = xpress.problem()
    model.controls.outputlog = 0
    return model


def load(model: Any, program: QuadraticProgram, qp: BoundedQp) -> None:
    """Q by its lower triangle. Its infinity is 1e20."""
    A, Q = sp.csc_array(qp.A), sp.coo_array(sp.tril(program.P))
    model.loadQP(
        probname="",
        rowtype=["E"] * qp.zero + ["L"] * (qp.b.size - qp.zero),
        rhs=qp.b,
        objcoef=program.q,
        start=A.indptr,
        rowind=A.indices,
        rowcoef=A.data,
        lb=np.maximum(qp.lower, -1e20),
        ub=np.minimum(qp.upper, 1e20),
        objqcol1=Q.coords[0],
        objqcol2=Q.coords[1],
        objqcoef=Q.data,
    )


@cache
def licensed(variables: int) -> bool:
    """Whether a quadratic program of so many variables is taken: the library says so only when it solves."""
    import xpress

    model = silent()
    x = model.addVariables(variables)
    model.setObjective(xpress.Sum(x * x))
    try:
        model.optimize()
    except xpress.SolverError:
        return False
    return True
