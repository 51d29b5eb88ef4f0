"""SAGA: stochastic gradients with a memory, on the smoothed and the squared hinge.

Program   min_w F(w) = lam/2 ||w||^2 + 1/n sum_i f_i(w), f_i(w) = n weight_i h(m_i), m_i = y_i w.x_i.
Update    f_i' = p_i x_i with one number p_i for each sample; g = 1/n sum_i p_i x_i is kept. Draw i, then with p its
          new value and eta = 1 / (3 (L + lam)), L the largest curvature n weight_i h'' ||x_i||^2 of a sample:
              w <- (1 - eta lam) w - eta ((p - p_i) x_i + g),   g <- g + (p - p_i) x_i / n,   p_i <- p.
          E ||w - w*||^2 falls linearly, by 1 - min(1/(4n), lam eta) a step. n draws are an epoch.
Done      never: it has no test of its own.

Defazio, Bach and Lacoste-Julien 2014. Here w = a v + c g, so that a step costs the nonzeros of one row, and nothing is
written out before a gets small. A free bias has no strong convexity to offer, and is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from marginbench.harness.model.programs import Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Compiled, Iterate
from marginbench.harness.rowops import FAST, add, dot, squared_norms

SMALL = 1e-6
"""Of a: w is written out below it, before v grows beyond what rounding allows."""


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, scale, rate, cap, eta, lam, samples, p, g, w):
    """One step per sample. h'(1 - m) = min(rate (1 - m)+, cap), scale_i = n weight_i."""
    a, c = 1.0, 0.0
    v = w
    for i in samples:
        m = y[i] * (a * dot(rows, i, v) + c * dot(rows, i, g))
        change = -scale[i] * y[i] * min(rate * max(1.0 - m, 0.0), cap) - p[i]
        a *= 1.0 - eta * lam
        c = (1.0 - eta * lam) * c - eta
        if change != 0.0:
            add(rows, i, -(eta + c / y.size) * change / a, v)
            add(rows, i, change / y.size, g)
            p[i] += change
        if a < SMALL:
            for j in range(v.size):
                v[j] = a * v[j] + c * g[j]
            a, c = 1.0, 0.0
    for j in range(v.size):
        v[j] = a * v[j] + c * g[j]


@dataclass(frozen=True)
class SAGA(Compiled):
    accepts = (RegularisedRisk,)
    accuracy = 1e-2

    seed: int = 0

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, SmoothedHinge | SquaredHinge):
            return f"SAGA needs a smooth loss, not the {type(program.loss).__name__}"
        if program.intercept:
            return "SAGA's theory needs an objective that is strongly convex in b too: it has no free bias"
        if not program.lam > 0.0:
            return f"SAGA needs lam > 0, not {program.lam}"
        return None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        rng = np.random.default_rng(self.seed)
        n, scale = program.n, program.n * program.weight
        loss = program.loss
        rate, cap = (1.0 / loss.delta, 1.0) if isinstance(loss, SmoothedHinge) else (2.0, np.inf)
        L = float((scale * rate * squared_norms(program.rows, n)).max())
        eta = 1.0 / (3.0 * (L + program.lam))
        p, g, w = np.zeros(n), np.zeros(program.d), np.zeros(program.d)
        while True:
            epoch(program.rows, program.y, scale, rate, cap, eta, program.lam, rng.integers(n, size=n), p, g, w)
            yield Iterate(w)
