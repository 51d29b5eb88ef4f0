"""Gurobi by its own interface: a barrier method, unless `method` says otherwise. Proprietary.

    min 1/2 x'Qx + c'x   subject to   Ax = b,  Ax <= b,  lower <= x <= upper

A ladder: one cold solve per tolerance of the barrier's gap; feasibility and optimality are asked for to the same, as
far as the library goes (1e-9 to 1e-2). The licence that `pip` installs takes 2,000 variables and 2,000
constraints of a linear program, but 200 variables where a term is quadratic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from marginbench.harness.model.adapters import LicensedLadder
from marginbench.harness.model.bounded_qp import bounded
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class GurobiQp(LicensedLadder):
    """tolerances: the rungs; the library's own defaults are 1e-8, and 1e-6 for feasibility. method: -1 its choice, 0
    and 1 the primal and the dual simplex method, 2 the barrier."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
    method: int = -1

    requires: ClassVar = {"gurobipy": "commercial"}
    licence = "proprietary"
    name, free_variables, free_constraints = "Gurobi", 200, 2000
    claims: ClassVar = {
        "OPTIMAL": "converged",
        "INFEASIBLE": "infeasible",
        "INF_OR_UNBD": "infeasible",  # of a hard margin, both say that there is none
        "UNBOUNDED": "unbounded",
        "ITERATION_LIMIT": "limit",
        "SUBOPTIMAL": "inaccurate",
    }

    def licensed(self) -> bool:
        return licensed(self.free_variables + 1)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import gurobipy

        assert isinstance(program, QuadraticProgram)
        qp, allowed = bounded(program), float(np.clip(tolerance, 1e-9, 1e-2))
        settings: dict[str, Any] = {
            "BarConvTol": tolerance,
            "FeasibilityTol": allowed,
            "OptimalityTol": allowed,
            "Method": self.method,
            "Threads": program.threads,
        }
        with gurobipy.Env(params={"OutputFlag": 0, **settings}) as env, gurobipy.Model(env=env) as model:
            x = model.addMVar(program.q.size, lb=qp.lower, ub=qp.upper)
            model.setObjective(0.5 * (x @ program.P @ x) + program.q @ x)
            rows = model.addMConstr(qp.A, x, ["="] * qp.zero + ["<"] * (qp.b.size - qp.zero), qp.b)
            model.optimize()
            said = word(model.Status)
            info = {
                "library_seconds": model.Runtime,
                "library_iterations": model.BarIterCount or int(model.IterCount),
                "settings": settings,
            }
            if model.SolCount == 0:
                return Iterate(None, None, self.claims.get(said, "failed"), said, info)
            return self.answer(said, x.X, qp.multipliers(rows.Pi, x.RC), info)


def word(status: int) -> str:
    """The library's name of a status."""
    from gurobipy import GRB

    return next(name for name in dir(GRB.Status) if name.isupper() and getattr(GRB.Status, name) == status)


@cache
def licensed(variables: int) -> bool:
    """Whether a program of so many variables is taken: the library says so only when it solves."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        x = model.addMVar(variables)
        model.setObjective(x @ x)
        try:
            model.optimize()
        except gurobipy.GurobiError:
            return False
    return True
