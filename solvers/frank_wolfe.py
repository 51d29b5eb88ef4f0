"""Block-coordinate Frank-Wolfe on the dual, with its own duality gap.

Program   min_alpha f(alpha) = 1/2 ||w(alpha)||^2 + 1/2 sum_i gamma_i alpha_i^2 - sum_i alpha_i over the product of the
          intervals [0, upper_i], all finite.
Update    draw i; towards the end s_i of its interval that a linear f prefers, s_i = upper_i where f'_i < 0, else 0:
              alpha_i <- alpha_i + eta (s_i - alpha_i), eta = clip(f'_i (alpha_i - s_i) / (q_i (s_i - alpha_i)^2), 0, 1)
          with q_i = ||x_i||^2 + gamma_i; without `line_search`, eta = 2n / (k + 2n) at step k. n draws are an epoch.
Gap       g(alpha) = sum_i f'_i (alpha_i - s_i) bounds f - f*, and is P - D at w(alpha). It costs one pass an epoch.
Done      when g <= tolerance (g - f), that is (P - D) / P <= tolerance.

Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013, Algorithm 4. An interval is its own convex hull of two vertices: with
the line search a step minimises f over alpha_i, and the method is SDCA with a proof of its distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Compiled, Iterate, Start
from marginbench.harness.model.start import begin
from marginbench.harness.rowops import FAST, add, dot, squared_norms


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, upper, gamma, q, samples, k, alpha, w):
    """One step per sample; k steps were made before, and k < 0 asks for the line search."""
    for i in samples:
        slope = y[i] * dot(rows, i, w) - 1.0 + gamma[i] * alpha[i]
        way = (upper[i] if slope < 0.0 else 0.0) - alpha[i]
        if k >= 0:
            eta = 2.0 * y.size / (k + 2.0 * y.size)
            k += 1
        elif q[i] * way * way > 0.0:
            eta = min(max(-slope * way / (q[i] * way * way), 0.0), 1.0)
        else:  # a row of zeros: f is linear in alpha_i
            eta = 1.0
        if way != 0.0:
            add(rows, i, eta * way * y[i], w)
            alpha[i] += eta * way


@njit(cache=True, fastmath=FAST)
def gap_and_value(rows, y, upper, gamma, alpha, w):
    """(g, f) at alpha, where w = w(alpha)."""
    gap, value = 0.0, 0.0
    for j in range(w.size):
        value += 0.5 * w[j] * w[j]
    for i in range(y.size):
        slope = y[i] * dot(rows, i, w) - 1.0 + gamma[i] * alpha[i]
        gap += slope * (alpha[i] - (upper[i] if slope < 0.0 else 0.0))
        value += (0.5 * gamma[i] * alpha[i] - 1.0) * alpha[i]
    return gap, value


@dataclass(frozen=True)
class FrankWolfe(Compiled):
    accepts = (BoxDual,)

    line_search: bool = True
    tolerance: float = 1e-11
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0:
            raise InputError(f"solver.tolerance={self.tolerance}: needs a number above 0")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, BoxDual)
        if program.equality:
            return "one coordinate cannot move alone under sum alpha_i y_i = 0 (a free bias)"
        if np.isinf(program.upper).any():
            return "Frank-Wolfe needs a bounded set, and the multipliers have no upper bound here"
        return None

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        rows, y, n, upper, gamma = program.rows, program.y, program.n, program.upper, program.curvature
        rng = np.random.default_rng(self.seed)
        (alpha, w), q = begin(program, start), squared_norms(rows, n) + gamma
        steps = 0
        while True:
            samples = rng.integers(n, size=n)
            epoch(rows, y, upper, gamma, q, samples, -1 if self.line_search else steps, alpha, w)
            steps += n
            gap, value = gap_and_value(rows, y, upper, gamma, alpha, w)
            done = gap <= self.tolerance * (gap - value)
            yield Iterate(alpha, w, claim="converged" if done else "", info={"own_gap": gap})
            if done:
                return
