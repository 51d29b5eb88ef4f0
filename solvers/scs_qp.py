"""SCS by its own interface: operator splitting on the homogeneous self-dual embedding. O'Donoghue (2021).

    min 1/2 x'Px + c'x   subject to   Ax + s = b,  s in a cone;   Px + c + A'y = 0,  y in the dual cone

A ladder: one new object per tolerance, for an object that has solved once starts warm even when told not to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import scipy.sparse as sp

from marginbench.harness.model.programs import ConeProgram, Program, QuadraticProgram, smallest_qp
from marginbench.harness.model.solver import Claim, Iterate, Ladder

CLAIMS: dict[int, Claim] = {
    1: "converged",
    2: "inaccurate",
    -2: "infeasible",
    -7: "infeasible",
    -1: "unbounded",
    -6: "unbounded",
}


@dataclass(frozen=True)
class ScsQp(Ladder):
    """tolerances: the rungs, absolute and relative; 1e-4 is the library's own default. max_iters: of each rung."""

    tolerances: Sequence[float] = (1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iters: int = 1_000_000

    accepts = (QuadraticProgram, ConeProgram)
    requires: ClassVar = {"scs": ""}

    def warm_up(self, program: Program) -> None:
        next(self.iterates(smallest_qp()))

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import scs

        if isinstance(program, QuadraticProgram):
            P, (cone, S) = sp.csc_array(sp.triu(program.P)), program.conic()
        else:
            assert isinstance(program, ConeProgram)
            P, cone, S = None, program, sp.eye_array(program.b.size)
        result = scs.SCS(
            {"P": P, "A": cone.A, "b": cone.b, "c": cone.c},
            {"z": cone.zero, "l": cone.nonnegative, "q": list(cone.cones)},
            eps_abs=tolerance,
            eps_rel=tolerance,
            max_iters=self.max_iters,
            verbose=False,
        ).solve(warm_start=False)
        info = result["info"]
        claim = CLAIMS.get(info["status_val"], "failed")
        return Iterate(
            None if claim == "infeasible" else result["x"],
            None if claim == "unbounded" else S.T @ result["y"],
            claim,
            info["status"],
            {
                "tolerance": tolerance,
                "library_iterations": info["iter"],
                "library_seconds": (info["setup_time"] + info["solve_time"]) / 1e3,  # it counts milliseconds
            },
        )
