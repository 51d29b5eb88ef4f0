"""How well a solver solved its own program, with what the certificate has computed already.

The residual of a `BoxDual` needs the margins at w(alpha), two products with X. The certificate has those at the point's
(w, b), which is w(alpha) but for rounding or a little more; and a change of the margins by e changes the residual by e
at most.
"""

import math

import numpy as np

from marginbench.harness.cell.certificate import Seen
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import BoxDual, Program, box_residual
from marginbench.harness.model.solver import Iterate

NEGLIGIBLE, ROUNDING = 1e-3, 1e-14
"""Of the residual, and by itself: a difference that does not show."""


def own_residual(problem: Problem, program: Program, iterate: Iterate, point: Point, seen: Seen) -> float | None:
    """`program.residual` of an iterate whose `point` the certificate has looked at."""
    x, dual = iterate.x, iterate.dual
    assert x is not None
    known = isinstance(program, BoxDual) and not problem.hard and problem.kernel is None and seen.weights is not None
    if not known or dual is None or point.alpha is None or not np.array_equal(point.alpha, x):
        return program.residual(x, dual)
    assert isinstance(program, BoxDual)
    assert seen.weights is not None

    def at(m: Array) -> float:
        return box_residual(x, m - 1.0 + program.curvature * x, program.y, program.upper, program.equality)

    constant = problem.s * problem.s * float(x @ problem.y) if problem.bias == "augmented" else point.b
    away = math.hypot(float(np.linalg.norm(point.w - seen.weights)), (point.b - constant) / problem.s)
    found = at(seen.margins)
    if away * problem.radius <= max(NEGLIGIBLE * found, ROUNDING):
        return found
    return at(problem.margins(seen.weights, constant))
