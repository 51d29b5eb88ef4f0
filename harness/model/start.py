"""A warm start: from what a solver answered at one C to where it begins at another.

The multipliers are multiplied by one number t, the best by D that the new box allows:

    t = min( sum_i alpha_i / (||w||^2 + sum_i c_i alpha_i^2),   min_i u_i / alpha_i )

D(t alpha) is concave in t, so this is its exact maximum where w = w(alpha). At the old optimum
sum_i alpha_i = ||w||^2 + C sum_i xi_i: without slack t = 1 and the multipliers stay; with slack they grow as far as the
box lets them, by C'/C where one of them is at its bound. Where C falls t = C'/C then. A multiple keeps
sum_i alpha_i y_i = 0. (Clipping breaks it, and on data with many free multipliers its D is worse than that of 0.)

w and b stay as they are: their P is near the new optimum long before D(t alpha) is. They do not belong to t alpha: a
solver that needs w(t alpha) computes it.
"""

import numpy as np

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Start


def start_at(problem: Problem, point: Point) -> Start:
    """Where to begin on `problem`, from a point of the same problem with another C."""
    alpha = np.zeros(problem.n) if point.alpha is None else rescaled(problem, point, point.alpha)
    w = np.empty(0) if problem.kernel is not None else np.array(problem.join(point.w, point.b))
    return Start(alpha, w, float(point.b))


def begin(program: BoxDual | KernelDual, start: Start | None) -> tuple[Array, Array]:
    """(alpha, its image w(alpha)) that a dual solver begins from: that of the start, else 0."""
    if start is not None:
        return start.alpha, program.image(start.alpha)
    return np.zeros(program.n), np.zeros(program.d if isinstance(program, BoxDual) else program.n)


def rescaled(problem: Problem, point: Point, alpha: Array) -> Array:
    """t alpha, feasible for `problem`."""
    alpha = np.maximum(alpha, 0.0)
    some = alpha > 0.0
    most = float(np.min(problem.upper[some] / alpha[some], initial=np.inf))
    curve = problem.norm2(point.w, point.b) + float(problem.curvature @ alpha**2)
    best = float(alpha.sum()) / curve if curve > 0.0 else np.inf
    t = min(best, most)
    return problem.feasible_dual(t * alpha if np.isfinite(t) else alpha)
