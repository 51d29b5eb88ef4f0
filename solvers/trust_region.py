"""Trust-region Newton on the squared and the smoothed hinge, its systems solved by conjugate gradients.

Program   min_x F = lam/2 ||w||^2 + sum_i weight_i h(1 - m_i), m_i = y_i (w.x_i + b), x = w, and b with an intercept.
Update    F is C^1 and piecewise quadratic; H = lam I + sum over curved rows of weight_i h'' x_i x_i' is a generalised
          Hessian. The step s minimises g.s + 1/2 s'Hs within ||s|| <= radius, by conjugate gradients from 0 that stop
          at the boundary or when the residual is below `forcing` ||g||. It is taken when F falls; the radius follows
          the ratio of the fall to the predicted one.
Widths    where the smoothed hinge is narrow, F is all but piecewise linear, and no quadratic model holds beyond a tiny
          step. So it is minimised for a delta at which the curvature of the loss is that of lam/2 ||w||^2, for a
          quarter of it and so on down to its own, each from the minimum before.
Done      when g is at the level of rounding: below 1e-14 of F'(0), or small and no smaller after five more steps.

Lin, Weng and Keerthi 2008 (Algorithm 2), which is LIBLINEAR's primal method; Steihaug 1983 for the conjugate
gradients. Departures: the widths; a step is judged by its change of F summed row by row, so that rounding of
the large sums does not refuse the last good steps.

Accuracy  1e-3: the conjugate gradients have no preconditioner. Where the columns of X differ by powers of ten and C is
          large (breast_cancer, C = 1000) it comes to rest at a relative error of 2e-4.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from marginbench.harness.model.problem import Array, InputError
from marginbench.harness.model.programs import Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.model.widths import wider

ROUNDING = 1e-14
"""Of ||F'|| beside ||F'(0)||: where it cannot get smaller."""

SMALL, STILL, LOST = 1e-8, 5, 1000
"""Of ||F'|| beside ||F'(0)||, what may be called converged; steps without a smaller one after which that is said, and
steps after which the method gives up."""

HALFWAY, PATIENT = 1e-10, 60
"""Of ||F'|| beside ||F'(0)||, where a narrower delta has its turn; steps without a smaller one after which it has, too.
Halfway at 1e-6 was not enough at C = 1e4."""

ACCEPT, POOR, GOOD = 1e-4, 0.25, 0.75
"""Of the fall of F over the predicted one: a step is taken; the radius shrinks; it grows."""


@dataclass(frozen=True)
class TrustRegion(Solver):
    accepts = (RegularisedRisk,)
    accuracy = 1e-3

    forcing: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.forcing < 1.0:
            raise InputError(f"solver.forcing={self.forcing}: needs a number between 0 and 1")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, SmoothedHinge | SquaredHinge):
            return f"Newton's method needs a smooth loss, not the {type(program.loss).__name__}"
        if not program.lam > 0.0:
            return f"Newton's method needs lam > 0, not {program.lam}"
        return None

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        x = np.zeros(program.d + program.intercept)
        first = float(np.linalg.norm(program.gradient(x)))
        if start is not None:
            x[:] = np.append(start.w, start.b) if program.intercept else start.w
        stages = [replace(program, loss=loss) for loss in wider(program)]
        for stage in stages:
            for iterate in self._minimise(stage, x, first, last=stage is stages[-1]):
                assert iterate.x is not None
                x = iterate.x
                yield iterate

    def _minimise(self, program: RegularisedRisk, x: Array, first: float, last: bool) -> Iterator[Iterate]:
        """From x, to the end, or halfway where it is not the last one."""
        m, g = program.margins(x), program.gradient(x)
        radius, idle, smallest = first / program.lam, 0, np.inf
        while True:
            size = float(np.linalg.norm(g))
            smallest, idle = min(size, smallest), 0 if size < 0.5 * smallest else idle + 1
            small = size <= SMALL * first
            if not last and (size <= HALFWAY * first or idle > PATIENT):
                yield Iterate(x, info={"gradient": size})
                return
            if size <= ROUNDING * first or idle > (STILL if small else LOST):
                yield Iterate(x, claim="converged" if small else "inaccurate", info={"gradient": size})
                return
            yield Iterate(x, info={"gradient": size})
            s, predicted = step(curvature(program, m), g, radius, self.forcing * min(1.0, np.sqrt(size / first)))
            m_new = program.margins(x + s)
            fall = falls_by(program, x, s, m, m_new)
            length, ratio = float(np.linalg.norm(s)), fall / predicted if predicted > 0.0 else 0.0
            if ratio < POOR:
                radius = 0.25 * min(radius, length)
            elif ratio > GOOD:
                radius = max(radius, 4.0 * length)
            if ratio > ACCEPT:
                x, m = x + s, m_new
                g = program.gradient(x)


def curvature(program: RegularisedRisk, m: Array) -> Callable[[Array], Array]:
    """v -> H v at the margins m."""
    loss, z = program.loss, 1.0 - m
    if isinstance(loss, SmoothedHinge):
        h = program.weight / loss.delta * ((z > 0.0) & (z < loss.delta))
    else:
        h = 2.0 * program.weight * (z > 0.0)
    d = program.d

    def product(v: Array) -> Array:
        u = h * (program.X @ v[:d] + (v[-1] if program.intercept else 0.0))
        top = program.lam * v[:d] + program.X.T @ u
        return np.append(top, u.sum()) if program.intercept else top

    return product


def step(H: Callable[[Array], Array], g: Array, radius: float, forcing: float) -> tuple[Array, float]:
    """(s, predicted fall of F) of the trust-region problem, by Steihaug's conjugate gradients."""
    s, r, p = np.zeros(g.size), -g, -g
    rr, stop = float(r @ r), (forcing * float(np.linalg.norm(g))) ** 2
    for _ in range(20 * g.size):
        if rr <= stop:
            break
        Hp = H(p)
        curve = float(p @ Hp)
        a = rr / curve if curve > 0.0 else np.inf
        if not np.isfinite(a) or np.linalg.norm(s + a * p) >= radius:
            a = to_boundary(s, p, radius)
            s, r = s + a * p, r - a * Hp
            break
        s, r = s + a * p, r - a * Hp
        rr, before = float(r @ r), rr
        p = r + rr / before * p
    return s, -0.5 * float(g @ s - r @ s)  # Hs = -g - r


def to_boundary(s: Array, p: Array, radius: float) -> float:
    """a >= 0 with ||s + a p|| = radius"""
    sp, pp, rest = float(s @ p), float(p @ p), max(0.0, radius**2 - float(s @ s))
    root = float(np.sqrt(sp**2 + pp * rest))
    return rest / (sp + root) if sp > 0.0 else (root - sp) / pp


def falls_by(program: RegularisedRisk, x: Array, s: Array, m: Array, m_new: Array) -> float:
    """F(x) - F(x + s), row by row."""
    w, v = x[: program.d], s[: program.d]
    loss = program.loss
    return -program.lam * float(v @ (w + 0.5 * v)) + float(program.weight @ (loss.value(m) - loss.value(m_new)))
