"""Stochastic dual coordinate ascent, the plain version.

Program   max_alpha sum_i alpha_i - 1/2 ||w(alpha)||^2 - 1/2 sum_i gamma_i alpha_i^2, 0 <= alpha_i <= upper_i, with
          w(alpha) = sum_i alpha_i y_i x_i: the dual of the hinge (gamma = 0), smoothed and squared hinge.
Update    draw i uniformly with replacement and maximise over alpha_i alone:
              alpha_i <- clip(alpha_i + (1 - m_i - gamma_i alpha_i) / (||x_i||^2 + gamma_i), 0, upper_i),
          keeping w = w(alpha), so that m_i = y_i w.x_i costs the nonzeros of one row.
Done      never: it has no test of its own. n draws are an epoch.

Shalev-Shwartz and Zhang 2013, Procedure SDCA with the closed-form steps for these losses. Departures: the last alpha,
not an average or a random choice of the last epochs; the scaling of the canonical dual. No permutations, no
shrinking: what those are worth is seen by comparing with coordinate descent.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Compiled, Iterate, Start
from marginbench.harness.model.start import begin
from marginbench.harness.rowops import FAST, add, dot, squared_norms


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, upper, gamma, q, samples, alpha, w):
    for i in samples:
        ascent = 1.0 - y[i] * dot(rows, i, w) - gamma[i] * alpha[i]
        if q[i] > 0.0:
            new = min(max(alpha[i] + ascent / q[i], 0.0), upper[i])
        else:  # a zero row: the objective rises with alpha_i without end
            new = upper[i]
        if new != alpha[i]:
            add(rows, i, (new - alpha[i]) * y[i], w)
            alpha[i] = new


@dataclass(frozen=True)
class SDCA(Compiled):
    accepts = (BoxDual,)

    seed: int = 0

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, BoxDual)
        if program.equality:
            return "one coordinate cannot move alone under sum alpha_i y_i = 0 (a free bias)"
        return None

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        rows, y, n, upper, gamma = program.rows, program.y, program.n, program.upper, program.curvature
        rng = np.random.default_rng(self.seed)
        (alpha, w), q = begin(program, start), squared_norms(rows, n) + gamma
        endless = np.isinf(upper) & (q == 0.0)
        if endless.any():
            yield Iterate(endless / endless.sum(), claim="unbounded", said="a row is zero and has no upper bound")
            return
        while True:
            epoch(rows, y, upper, gamma, q, rng.integers(n, size=n), alpha, w)
            yield Iterate(alpha, w)
