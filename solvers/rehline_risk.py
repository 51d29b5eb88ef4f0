"""ReHLine: coordinate descent in the dual of any piecewise linear-quadratic loss. Dai, Qiu (2023).

    min 1/2 ||w||^2 + sum_i relu(u_i w.x_i + v_i) + sum_i rehu_tau_i(s_i w.x_i + t_i)

where rehu_tau(z) is 0, z^2/2, tau (z - tau/2) below 0, up to tau and beyond. With C_i = weight_i / lam:

    hinge           u = -C y,              v = C
    smoothed hinge  s = -sqrt(C/delta) y,  t = sqrt(C/delta),  tau = sqrt(C delta)
    squared hinge   s = -sqrt(2C) y,       t = sqrt(2C),       tau = inf

A ladder: one cold solve per tolerance, of its own relative gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import RiskLadder
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class Rehline(RiskLadder):
    """tolerances: the rungs; 1e-4 is the library's own default. max_iter: of each rung. seed: of the order."""

    tolerances: Sequence[float] = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iter: int = 10_000_000
    seed: int = 0

    requires: ClassVar = {"rehline": "peers"}
    licence = "MIT"
    name, losses, one_class = "ReHLine", (Hinge, SmoothedHinge, SquaredHinge), True

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from rehline import ReHLine_solver

        assert isinstance(program, RegularisedRisk)
        C, y = program.weight / program.lam, program.y
        if isinstance(program.loss, Hinge):
            scale = C
            terms = {"U": (-C * y)[None], "V": C[None]}
        else:
            delta = program.loss.delta if isinstance(program.loss, SmoothedHinge) else None
            scale = np.sqrt(2 * C if delta is None else C / delta)
            tau = np.full(program.n, np.inf) if delta is None else np.sqrt(C * delta)
            terms = {
                "U": np.empty((0, 0)),
                "V": np.empty((0, 0)),
                "S": (-scale * y)[None],
                "T": scale[None],
                "Tau": tau[None],
            }
        result = ReHLine_solver(
            program.X,
            **terms,
            max_iter=self.max_iter,
            tol=tolerance,
            coordinate_seed=self.seed,
            verbose=0,
        )
        alpha = scale * (result.Lambda if isinstance(program.loss, Hinge) else result.Gamma)[0]
        return Iterate(
            result.beta,
            alpha,
            "converged" if result.converged else "limit",
            info={"library_iterations": result.niter},
        )
