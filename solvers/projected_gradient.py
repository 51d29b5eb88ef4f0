"""Accelerated projected gradient on the dual.

Program   min_alpha f(alpha) = 1/2 ||w(alpha)||^2 + 1/2 sum_i gamma_i alpha_i^2 - sum_i alpha_i over the set
          A = {0 <= alpha_i <= upper_i and, with a free bias, sum_i alpha_i y_i = 0}; upper_i may be inf.
Update    at v = alpha_k + beta_k (alpha_k - alpha_{k-1}):  alpha_{k+1} = projection onto A of v - f'(v) / L,
          f'(v)_i = y_i w(v).x_i - 1 + gamma_i v_i, beta_k from t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2; the momentum
          starts again where it points uphill. w is linear in alpha, so that a step costs one pass over X each way, or
          with a kernel one over K.
          `accelerated` off: beta_k = 0.
Step      L starts at the largest ||x_i||^2 + gamma_i and grows while f's curvature along the step exceeds it.
Bias      the projection is clip(v - mu y, 0, upper) with the mu that balances the labels; b = L mu.
Bound     k steps after the last restart f - f* <= 2 L R^2 / (k + 1)^2, without acceleration L R^2 / (2 k), where R is
          the diameter of the box: R^2 = sum_i upper_i^2. It is one of D* - D; of P it says little.
Done      when the gradient mapping L |alpha_{k+1} - v| is at the level of rounding. Where A is unbounded and f falls
          without end (data no hyperplane separates), with alpha / sum alpha as its proof.

Beck and Teboulle 2009, FISTA with backtracking; restart by the gradient: O'Donoghue and Candes 2015. The
rate is 1/k^2, and 1/k without acceleration. The balance is found by Newton's method in a bracket: the sum
is piecewise linear and monotone in mu, so that it ends exactly, in O(n) per trial.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Compiled, Iterate, Start
from marginbench.harness.model.start import begin
from marginbench.harness.rowops import FAST

ROUNDING = 1e-13  # of a margin: where the gradient mapping cannot get smaller


@njit(cache=True, fastmath=FAST)
def balance(v, y, upper, mu, out):
    """out = clip(v - mu y, 0, upper) with sum out_i y_i = 0; returns mu, searched from the given one."""
    lo, hi, step = -np.inf, np.inf, 1.0
    for _ in range(200):
        total, scale, free = 0.0, 0.0, 0
        for i in range(v.size):
            out[i] = min(max(v[i] - mu * y[i], 0.0), upper[i])
        for i in range(v.size):
            free += 0.0 < out[i] < upper[i]
            total += out[i] * y[i]
            scale += out[i]
        if abs(total) <= 4e-16 * scale:
            return mu
        if total > 0.0:
            lo = mu
        else:
            hi = mu
        new = mu + total / free if free > 0 else np.nan
        if not lo < new < hi:
            if hi - lo < np.inf:
                new = 0.5 * (lo + hi)
            else:  # not bracketed yet: go on in the same direction, faster
                new = mu + np.sign(total) * step
                step *= 4.0
        if new in (mu, lo, hi):
            return mu
        mu = new
    return mu


@dataclass(frozen=True)
class ProjectedGradient(Compiled):
    accepts = (BoxDual, KernelDual)

    bounds_dual = True

    accelerated: bool = True

    def bound(self, program: Program) -> Callable[[Mapping[str, Any]], float] | None:
        assert isinstance(program, BoxDual | KernelDual)
        R2 = float(program.upper @ program.upper)
        if not np.isfinite(R2):
            return None
        if not self.accelerated:
            return lambda info: info["L"] * R2 / (2.0 * info["steps"])
        return lambda info: 2.0 * info["L"] * R2 / (info["steps"] + 1.0) ** 2

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual | KernelDual)
        y, gamma, q = program.y, program.curvature, program.squares()
        radius = float(np.sqrt(q.max()))
        L = float((q + gamma).max()) or 1.0
        alpha, w = begin(program, start)
        v, w_v, t, mu = alpha, w, 1.0, 0.0
        steps = 0
        while True:
            steps += 1
            gradient = y * program.scores(w_v) - 1.0 + gamma * v
            while True:
                new, mu = self._project(program, v - gradient / L, mu)
                w_new = program.image(new)
                step = new - v
                length = float(step @ step)
                curvature = program.norm2(step, w_new - w_v) + float(step @ (gamma * step))
                if curvature <= L * length * (1.0 + 1e-12) or length == 0.0:
                    break
                L = max(1.25 * L, curvature / length)
            mapping = L * float(np.abs(step).max())
            dual = None
            if isinstance(program, BoxDual):
                dual = np.append(w_new, L * mu) if program.equality else w_new
            if program.falls_without_end(new, w_new, radius):
                yield Iterate(new / new.sum(), claim="unbounded", said="no hyperplane separates the data")
                return
            if mapping <= ROUNDING * (1.0 + radius * program.norm2(new, w_new) ** 0.5):
                yield Iterate(new, dual, claim="converged", info={"steps": steps, "L": L})
                return
            yield Iterate(new, dual, info={"steps": steps, "L": L})
            t_new = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            uphill = float(step @ (new - alpha)) < 0.0
            beta = 0.0 if uphill or not self.accelerated else (t - 1.0) / t_new
            t = 1.0 if uphill else t_new
            steps = 0 if uphill and self.accelerated else steps
            v, w_v = new + beta * (new - alpha), w_new + beta * (w_new - w)
            alpha, w = new, w_new

    @staticmethod
    def _project(program: BoxDual | KernelDual, v: Array, mu: float) -> tuple[Array, float]:
        if not program.equality:
            return np.clip(v, 0.0, program.upper), 0.0
        out = np.empty(program.n)
        mu = balance(v, program.y, program.upper, mu, out)
        return out, mu
