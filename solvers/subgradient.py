"""Subgradient descent over all samples, on the regularised hinge loss.

Program   min_w F(w) = lam/2 ||w||^2 + min_b sum_i weight_i max(0, 1 - m_i), m_i = y_i (w.x_i + b);
          b = 0 without an intercept. F is strongly convex in w either way, since b is minimised out.
Update    s_i = 1 where m_i < 1 and 0 where m_i > 1 (with an intercept: b is exact, and the s_i of the sample at the
          break is such that sum_i weight_i s_i y_i = 0); then with step eta_t
              w <- w - eta_t (lam w - sum_i weight_i s_i y_i x_i),  t = 1, 2, ...
          `average` off: eta_t = 1/(lam t), the last w. On: eta_t = 2/(lam (t+1)), the mean of the w where that
          of step t counts t times: F - F* <= 2 G^2 / (lam (T+1)), G the largest subgradient met. As lam w is a convex
          combination of sums of weight_i s_i y_i x_i, G <= 2 sum_i weight_i ||x_i||.
Dual      since eta_t lam <= 1, w is always a convex combination of sums, w = w(alpha) with
          alpha <- (1 - eta_t lam) alpha + eta_t weight s,
          feasible for the canonical dual with C_i = weight_i / lam: every iterate has a gap that can be checked.

Averages: Lacoste-Julien, Schmidt and Bach 2012. The dual, where this is the Frank-Wolfe method: Bach
2015. Elimination of b is an addition here: it keeps the theory, at the price of a sort per step.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver


def best_bias(y: Array, f: Array, weight: Array) -> tuple[float, Array]:
    """(b, s): b minimises sum_i weight_i max(0, 1 - y_i (f_i + b)), with slopes s that balance: sum weight s y = 0.

    In b the derivative starts at -(weight of the positive samples) and rises by weight_i at each t_i = y_i - f_i:
    b is the t_k where it crosses 0. Positive samples are active above it, negative ones below.
    """
    t = y - f
    order = np.argsort(t)
    reached = np.cumsum(weight[order])
    positive = float(weight[y > 0].sum())
    at = min(int(np.searchsorted(reached, positive)), t.size - 1)
    k = order[at]
    s = np.zeros(t.size)
    s[order[:at]] = y[order[:at]] < 0
    s[order[at + 1 :]] = y[order[at + 1 :]] > 0
    part = np.clip(1.0 - (reached[at] - positive) / weight[k], 0.0, 1.0)
    s[k] = 1.0 - part if y[k] > 0 else part
    return float(t[k]), s


@dataclass(frozen=True)
class Subgradient(Solver):
    accepts = (RegularisedRisk,)
    accuracy = 1e-2

    average: bool = True

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, Hinge):
            return f"this subgradient method minimises the hinge loss, not the {type(program.loss).__name__}"
        if not program.lam > 0.0:
            return f"the step 1/(lam t) needs lam > 0, not {program.lam}"
        return None

    def bound(self, program: Program) -> Callable[[Mapping[str, Any]], float] | None:
        """2 G^2 / (lam (T + 1)) over lam, for F = lam P."""
        assert isinstance(program, RegularisedRisk)
        if not self.average:
            return None
        X, lam = program.X, program.lam
        norms = np.sqrt(np.asarray((X.multiply(X) if sp.issparse(X) else X**2).sum(axis=1)).ravel())
        G = 2.0 * float(program.weight @ norms)
        return lambda info: 2.0 * G**2 / (lam**2 * (info["steps"] + 1.0))

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        X, y, weight, lam = program.X, program.y, program.weight, program.lam
        w, alpha, b = np.zeros(program.d), np.zeros(program.n), 0.0
        mean = np.zeros(program.d + program.intercept)
        t = 0
        while True:
            t += 1
            f = X @ w
            if program.intercept:
                b, s = best_bias(y, f, weight)
            else:
                s = program.loss.slope(y * f)
            x = np.append(w, b) if program.intercept else w
            if self.average:
                mean += 2.0 / (t + 1.0) * (x - mean)
                yield Iterate(mean, alpha, info={"steps": t})
            else:
                yield Iterate(x, alpha)
            rate = 2.0 / (t + 1.0) if self.average else 1.0 / t
            alpha += rate * (weight * s / lam - alpha)
            w = (1.0 - rate) * w + rate * (X.T @ (weight * s * y)) / lam
