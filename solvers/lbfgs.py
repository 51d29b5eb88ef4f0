"""L-BFGS on the smoothed and the squared hinge, by scipy.

Program   min_x F = lam/2 ||w||^2 + sum_i weight_i h(m_i), m_i = y_i (w.x_i + b), x = w, and b with an intercept.
          It is given to scipy as F / ||F'(0)||_inf, so that a tolerance means the same at every C.

A ladder over the tolerance of the gradient; its other test, on the change of F, is switched off. Where a line search
finds no smaller F, scipy ends (its word is ABNORMAL). The memory of steps is what misleads it: it is begun anew from
there, with an empty one, as long as that makes the gradient smaller.
Byrd, Lu, Nocedal and Zhu 1995; Zhu et al. 1997 (algorithm 778, L-BFGS-B), without bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import Array, InputError
from marginbench.harness.model.programs import Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Claim, Iterate

IDLE = 3
"""Renewals that do not halve the gradient, after which a solve gives up. On the reference problem rare-100.0-free the
first end is at a gap of 6e-2; with renewals it is at 2e-6."""

CLAIMS: dict[int, Claim] = {0: "inaccurate", 1: "limit", 2: "inaccurate"}
"""Of scipy's status, where the gradient is not small: F stood still, the limit, a line search without a decrease."""


@dataclass(frozen=True)
class LBFGS(Ladder):
    """tolerances: the rungs, of ||F'||_inf over ||F'(0)||_inf. memory: pairs of steps and gradients that are kept."""

    tolerances: Sequence[float] = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
    memory: int = 20
    max_iter: int = 1_000_000

    requires: ClassVar = {"scipy": ""}
    accepts = (RegularisedRisk,)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("memory", "max_iter"):
            if isinstance(getattr(self, name), bool) or not getattr(self, name) >= 1:
                raise InputError(f"solver.{name}={getattr(self, name)}: needs a whole number of at least 1")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, SmoothedHinge | SquaredHinge):
            return f"L-BFGS needs a smooth loss, not the {type(program.loss).__name__}"
        return None

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from scipy.optimize import minimize

        assert isinstance(program, RegularisedRisk)
        x = np.zeros(program.d + program.intercept)
        scale = float(np.abs(program.gradient(x)).max()) or 1.0
        options = {"maxcor": self.memory, "maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "ftol": 0.0}
        info, small, least, idle = {"library_iterations": 0, "evaluations": 0, "renewals": -1}, False, np.inf, 0
        while not small and idle < IDLE and info["library_iterations"] < self.max_iter:
            found = minimize(
                value_and_gradient,
                x,
                (program, scale),
                method="L-BFGS-B",
                jac=True,
                options=options | {"gtol": tolerance},
            )
            info["library_iterations"] += int(found.nit)
            info["evaluations"] += int(found.nfev)
            info["renewals"] += 1
            size = float(np.abs(found.jac).max())
            x, small, idle = found.x, size <= tolerance, 0 if size < 0.5 * least else idle + 1
            least = min(least, size)
        claim: Claim = "converged" if small else CLAIMS.get(found.status, "failed")
        return Iterate(found.x, claim=claim, said=str(found.message), info=info)


def value_and_gradient(x: Array, program: RegularisedRisk, scale: float) -> tuple[float, Array]:
    """F and F' over `scale`, with the margins computed once."""
    m, w = program.margins(x), x[: program.d]
    pull = program.weight * program.y * program.loss.slope(m)
    g = program.lam * w - program.X.T @ pull
    value = 0.5 * program.lam * float(w @ w) + float(program.weight @ program.loss.value(m))
    return value / scale, (np.append(g, -pull.sum()) if program.intercept else g) / scale
