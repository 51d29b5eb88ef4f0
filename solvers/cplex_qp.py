"""CPLEX by its own interface: a barrier method, unless `qpmethod` says otherwise. Proprietary.

    min 1/2 x'Qx + c'x   subject to   Ax = b,  Ax <= b,  lower <= x <= upper

A ladder: one cold solve per tolerance of the barrier's complementarity. A looser one than its default
can end in "non-optimal", because it is no tolerance of feasibility. A simplex method does not use it.
The community edition, which `pip` installs, takes 1,000 variables and 1,000 constraints.
"""

from collections.abc import Callable, Sequence
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
class CplexQp(LicensedLadder):
    """tolerances: the rungs; 1e-8 is the library's own default. qpmethod: 0 its choice, 1 and 2 the primal and the dual
    simplex method, 4 the barrier."""

    tolerances: Sequence[float] = (1e-8, 1e-10, 1e-12)
    qpmethod: int = 0

    requires: ClassVar = {"cplex": "commercial"}
    licence = "proprietary"
    name, free_variables, free_constraints = "CPLEX", 1000, 1000
    claims: ClassVar = {
        1: "converged",
        2: "unbounded",
        3: "infeasible",
        4: "infeasible",  # or unbounded: of a hard margin, both say that there is none
        5: "inaccurate",
        6: "inaccurate",
        10: "limit",
        20: "inaccurate",
        21: "unbounded",
        22: "infeasible",
    }

    def licensed(self) -> bool:
        return licensed(self.free_variables + 1)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import cplex

        assert isinstance(program, QuadraticProgram)
        qp, model = bounded(program), silent()
        model.parameters.threads.set(program.threads)
        model.parameters.qpmethod.set(self.qpmethod)
        model.parameters.barrier.convergetol.set(tolerance)
        model.variables.add(obj=program.q, lb=finite(qp.lower), ub=finite(qp.upper))
        senses = "E" * qp.zero + "L" * (qp.b.size - qp.zero)
        model.linear_constraints.add(lin_expr=pairs(qp.A), senses=senses, rhs=qp.b)
        model.objective.set_quadratic(pairs(program.P))
        start = model.get_time()
        try:
            model.solve()
        except cplex.exceptions.CplexSolverError as error:
            return Iterate(None, claim="failed", said=str(error))
        answer = model.solution
        info = {
            "library_seconds": model.get_time() - start,
            "library_iterations": answer.progress.get_num_barrier_iterations() or answer.progress.get_num_iterations(),
            "settings": {str(name): value for name, value in model.parameters.get_changed()},
        }
        claim = self.claims.get(answer.get_status(), "failed")
        x, prices, costs = map(there, (answer.get_values, answer.get_dual_values, answer.get_reduced_costs))
        z = None if prices is None or costs is None or claim == "unbounded" else qp.multipliers(prices, costs)
        return Iterate(None if claim == "infeasible" else x, z, claim, answer.get_status_string(), info)


def there(get: Callable[[], list[float]]) -> np.ndarray | None:
    """What the library has; None where it has nothing."""
    import cplex

    try:
        return np.array(get())
    except cplex.exceptions.CplexError:
        return None


def silent() -> Any:
    import cplex

    model = cplex.Cplex()
    for stream in (model.set_log_stream, model.set_results_stream, model.set_warning_stream, model.set_error_stream):
        stream(None)
    return model


def finite(bounds: np.ndarray) -> np.ndarray:
    """Its infinity is 1e20."""
    return np.clip(bounds, -1e20, 1e20)


def pairs(M: sp.csr_array | sp.csc_array) -> list[list[list[Any]]]:
    """Rows of a CSR matrix, columns of a CSC one, as indices and values."""
    return [[M.indices[a:b].tolist(), M.data[a:b].tolist()] for a, b in zip(M.indptr, M.indptr[1:], strict=False)]


@cache
def licensed(variables: int) -> bool:
    """Whether a program of so many variables is taken: the library says so only when it solves."""
    import cplex

    model = silent()
    model.variables.add(lb=[0.0] * variables)
    try:
        model.solve()
    except cplex.exceptions.CplexSolverError:
        return False
    return True
