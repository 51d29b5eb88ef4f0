"""OSQP by its own interface: operator splitting for l <= Ax <= u. Stellato, Banjac, Goulart, Bemporad, Boyd (2020).

A true trace, not a ladder. OSQP starts each call where the last one ended, so repeated calls of a few iterations are
one long run, bit for bit, as long as the pauses fall where it adapts its penalty (and tests for termination) anyway.

ADMM converges for a fixed penalty. OSQP changes it whenever the ratio of the residuals asks for one that differs by a
factor of `rho_tolerance`. With the library's own 5 it does so without end where C is large (94 times in 10^5 iterations
on a separable problem with C = 10^4), and the gap comes and goes between 1e-3 and 1. With 20 it settles.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import scipy.sparse as sp

from marginbench.harness.model.adapters import Adapter
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate

PAUSE = 50  # OSQP's adaptive_rho_interval, twice its check_termination


@dataclass(frozen=True)
class OsqpQp(Adapter):
    """eps: absolute and relative tolerance (the library's own default is 1e-3). eps_infeasible: of certificates.
    rho_tolerance: see above (5). polishing: guess the active set at the end and solve for it."""

    eps: float = 1e-9
    eps_infeasible: float = 1e-7
    rho_tolerance: float = 20.0
    polishing: bool = False

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"osqp": ""}
    licence = "Apache-2.0"
    accuracy = 1e-3

    def iterates(self, program: Program) -> Iterator[Iterate]:
        import osqp

        assert isinstance(program, QuadraticProgram)
        solver = osqp.OSQP(algebra="builtin")
        solver.setup(
            sp.csc_matrix(sp.triu(program.P)),  # the interface knows scipy's matrices, not its arrays
            program.q,
            sp.csc_matrix(program.A),
            program.l,
            program.u,
            max_iter=PAUSE,
            adaptive_rho_interval=PAUSE,
            adaptive_rho_tolerance=self.rho_tolerance,
            eps_abs=self.eps,
            eps_rel=self.eps,
            eps_prim_inf=self.eps_infeasible,
            eps_dual_inf=self.eps_infeasible,
            polishing=self.polishing,
            verbose=False,
        )
        iterations, seconds = 0, 0.0
        while True:
            result = solver.solve(raise_error=False)
            said = result.info.status
            iterations += result.info.iter
            seconds += result.info.run_time
            info = {"library_iterations": iterations, "library_seconds": seconds}
            if said.startswith("primal infeasible"):
                yield Iterate(None, result.prim_inf_cert, "infeasible", said, info)
                return
            if said.startswith("dual infeasible"):
                yield Iterate(result.dual_inf_cert, None, "unbounded", said, info)
                return
            yield Iterate(result.x, result.y, "converged" if said == "solved" else "", said, info)
            if said == "solved":
                return
