"""L-BFGS on the smoothed and the squared hinge, by scipy.

Program   min_x F = lam/2 ||w||^2 + sum_i weight_i h(m_i), m_i = y_i (w.x_i + b), x = w, and b with an intercept.
          It is given to scipy over the root mean square of F'(0): its test, of the largest entry of F', then bounds
          ||F'|| / ||F'(0)|| by the tolerance, at every C.

A ladder over the tolerance of the gradient; its other test, on the change of F, is switched off.
Widths    The smoothed hinge is solved at a width of about 1 first, then at a quarter of it, and so on down to delta,
          each from the answer of the one before and to the same tolerance: h'' is 1/delta between two kinks and 0
          beyond, of which secants tell nothing where a step crosses many kinks, and near the answer there are few. To
          1e-4 on the reference problem breast_cancer-1000.0-none: 404286 evaluations at once, 3287 by widths.
Rounding  Near the answer F falls by g^2 delta, below the last digit of F long before g is small. scipy is therefore
          given F(x) - F(start), summed from the changes of its terms.
Renewals  Where a line search finds no smaller F, scipy ends (its word is ABNORMAL). It is begun anew from there, with
          an empty memory of steps, as long as that makes the gradient smaller.

Byrd, Lu, Nocedal and Zhu 1995; Zhu et al. 1997 (algorithm 778, L-BFGS-B), without bounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import Array, InputError
from marginbench.harness.model.programs import Loss, Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Claim, Iterate

IDLE = 3
"""Renewals that do not halve the gradient, after which a width is left."""

NARROWER = 4.0
"""By which a width is divided."""

CLAIMS: dict[int, Claim] = {0: "inaccurate", 1: "limit", 2: "inaccurate"}
"""Of scipy's status, where the gradient is not small: F stood still, the limit, a line search without a decrease."""


@dataclass(frozen=True)
class LBFGS(Ladder):
    """tolerances: the rungs, bounds of ||F'|| over ||F'(0)||. memory: pairs of steps and gradients that are kept."""

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
        assert isinstance(program, RegularisedRisk)
        x = np.zeros(program.d + program.intercept)
        scale = float(np.linalg.norm(program.gradient(x))) / np.sqrt(x.size) or 1.0
        info = {"library_iterations": 0, "evaluations": 0, "renewals": 0}
        for loss in easier_first(program.loss):
            found, small = self._minimise(replace(program, loss=loss), x, scale, tolerance, info)
            x = found.x
        claim: Claim = "converged" if small else CLAIMS.get(found.status, "failed")
        return Iterate(x, claim=claim, said=str(found.message), info=info)

    def _minimise(
        self, program: RegularisedRisk, x: Array, scale: float, tolerance: float, info: dict[str, int]
    ) -> tuple[Any, bool]:
        """What scipy found from x on, renewed while that helps; and whether the gradient is as small as asked."""
        from scipy.optimize import minimize

        options = {"maxcor": self.memory, "maxfun": 10 * self.max_iter, "ftol": 0.0, "gtol": tolerance}
        least, idle, info["renewals"] = np.inf, 0, info["renewals"] - 1
        while True:
            options["maxiter"] = max(1, self.max_iter - info["library_iterations"])
            known = program, scale, x, program.margins(x)
            found = minimize(change_and_gradient, x, known, method="L-BFGS-B", jac=True, options=options)
            info["library_iterations"] += int(found.nit)
            info["evaluations"] += int(found.nfev)
            info["renewals"] += 1
            size = float(np.abs(found.jac).max())
            x, idle, least = found.x, 0 if size < 0.5 * least else idle + 1, min(least, size)
            if size <= tolerance or idle == IDLE or info["library_iterations"] >= self.max_iter:
                return found, size <= tolerance


def easier_first(loss: Loss) -> Iterator[Loss]:
    """The smoothed hinge at wider widths, up to 1 (all margins at w = 0 are on its slope still), and then itself."""
    if isinstance(loss, SmoothedHinge) and NARROWER * loss.delta <= 1.0:
        yield from easier_first(SmoothedHinge(NARROWER * loss.delta))
    yield loss


def change_and_gradient(
    x: Array, program: RegularisedRisk, scale: float, start: Array, m_start: Array
) -> tuple[float, Array]:
    """F(x) - F(start) and F'(x) over `scale`; m_start are the margins at the start."""
    step, w = x - start, x[: program.d]
    dm = program.margins(step)
    pull = program.weight * program.y * program.loss.slope(m_start + dm)
    g = program.lam * w - program.X.T @ pull
    change = 0.5 * program.lam * float(step[: program.d] @ (w + start[: program.d]))
    change += float(program.weight @ change_of_loss(program.loss, m_start, dm))
    return change / scale, (np.append(g, -pull.sum()) if program.intercept else g) / scale


def change_of_loss(loss: Loss, m: Array, dm: Array) -> Array:
    """h(m + dm) - h(m): by the mean of both slopes where no kink is between, which is exact for a parabola."""
    before, after = loss.slope(m), loss.slope(m + dm)
    top = 1.0 if isinstance(loss, SmoothedHinge) else np.inf
    one_piece = ((before > 0.0) == (after > 0.0)) & ((before < top) == (after < top))
    return np.where(one_piece, -0.5 * dm * (before + after), loss.value(m + dm) - loss.value(m))
