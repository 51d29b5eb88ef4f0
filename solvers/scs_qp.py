"""SCS by its own interface: operator splitting on the homogeneous self-dual embedding. O'Donoghue (2021).

    min 1/2 x'Px + c'x   subject to   Ax + s = b,  s in a cone;   Px + c + A'y = 0,  y in the dual cone

A ladder: one new object per tolerance, for an object that has solved once starts warm even when told not to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import ConeProgram, Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class ScsQp(Ladder):
    """tolerances: the rungs, absolute and relative; 1e-4 is the library's own default. max_iters: of each rung."""

    tolerances: Sequence[float] = (1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iters: int = 1_000_000

    accepts = (QuadraticProgram, ConeProgram)
    requires: ClassVar = {"scs": ""}
    licence = "MIT"
    claims: ClassVar = {
        1: "converged",
        2: "inaccurate",
        -2: "infeasible",
        -7: "infeasible",
        -1: "unbounded",
        -6: "unbounded",
    }

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import scs

        assert isinstance(program, QuadraticProgram | ConeProgram)
        P, (cone, S) = sp.csc_array(sp.triu(program.P)), program.conic()
        result = scs.SCS(
            {"P": P, "A": cone.A, "b": cone.b, "c": cone.c},
            {"z": cone.zero, "l": cone.nonnegative, "q": list(cone.cones)},
            eps_abs=tolerance,
            eps_rel=tolerance,
            max_iters=self.max_iters,
            verbose=False,
        ).solve(warm_start=False)
        its = result["info"]
        seconds = (its["setup_time"] + its["solve_time"]) / 1e3  # it counts milliseconds
        info = {"library_iterations": its["iter"], "library_seconds": seconds}
        return self.answer(its["status_val"], result["x"], S.T @ result["y"], info, said=its["status"])
