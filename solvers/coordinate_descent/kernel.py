"""Dual coordinate descent with a kernel.

Program   max_alpha sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j K_ij - 1/2 sum_i c_i a_i^2, 0 <= a_i <= u_i; with a free bias
          also sum_i a_i y_i = 0.
Update    one coordinate at a time, f = K (a y) kept up to date:
              g   = y_i (f_i + b) - 1 + c_i a_i,   q_i = K_ii + c_i + rho
              a_i <- clip(a_i - g / q_i, 0, u_i),   f += (change) y_i K_i.,   b += rho (change) y_i
          A coordinate that stays costs nothing, one that moves a row of K: no shrinking is needed. Where K does not
          fit into memory, its rows are computed, and those used last are kept (kernel_rows.py).
Bias      the method of multipliers, as without a kernel (`solver.py`): a sweep minimises the augmented Lagrangian,
          whose multiplier b + rho sum a_i y_i is kept as b. Once sweeps move the margins less than the balance does,
          b += rho sum a_i y_i; rho doubles where that has not halved the sum.
Reference Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 1; Joachims 1999 for f in the place of w.
Done      when no margin of a sweep is off by more than rounding.
"""

from collections.abc import Iterator

import numpy as np
from numba import njit

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.kernel_rows import cached, cached_row
from marginbench.harness.model.solver import Claim, Iterate, Start
from marginbench.harness.rowops import FAST

ROUNDING = 1e-13
"""Of a margin beside the largest |f_i|, where nothing is left to gain."""
FRESH = 50
"""Sweeps after which f is computed from alpha again."""


@njit(cache=True, fastmath=FAST)
def kernel_sweep(source, cache, time, y, upper, curvature, q, rho, order, alpha, f, b):
    """One visit of each coordinate; returns b and the largest change of an own margin. time: sweeps so far."""
    worst = 0.0
    for i in order:
        g = y[i] * (f[i] + b) - 1.0 + curvature[i] * alpha[i]
        new = min(max(alpha[i] - g / q[i], 0.0), upper[i])
        change = new - alpha[i]
        if change != 0.0:
            worst = max(worst, abs(change) * q[i])
            step, row = change * y[i], cached_row(source, i, time, cache)
            for j in range(f.size):
                f[j] += step * row[j]
            b += rho * step
            alpha[i] = new
    return b, worst


def descend(program: KernelDual, seed: int, start: Start | None = None) -> Iterator[Iterate]:
    """A sweep, with the step of the multiplier where one is due, is an iterate."""
    n, y, rng = program.n, program.y, np.random.default_rng(seed)
    squares = program.squares() + program.curvature
    C, largest = float(np.minimum(program.upper, 1.0).mean()), float(np.median(squares))
    rho = min(max(0.01 / C, 0.01), 1.0) * largest if program.equality else 0.0
    alpha, f, b, sweeps, unbalanced = np.zeros(n), np.zeros(n), 0.0, 0, np.inf
    if start is not None:
        alpha, f, b = start.alpha, program.image(start.alpha), start.b if program.equality else 0.0
    source, cache = cached(program.K)
    claim: Claim = ""
    while not claim:
        q = np.maximum(squares + rho, 1e-300)
        order = rng.permutation(n)
        bounds = y, program.upper, program.curvature, q
        b, moved = kernel_sweep(source, cache, sweeps, *bounds, rho, order, alpha, f, b)
        sweeps += 1
        if sweeps % FRESH == 0:
            f = program.image(alpha)
        balance = float(alpha @ y) if program.equality else 0.0
        if moved <= 0.3 * rho * abs(balance):
            rho = min(2.0 * rho, largest) if abs(balance) > 0.5 * unbalanced else rho
            b, unbalanced = b + rho * balance, abs(balance)
        level = ROUNDING * (1.0 + float(np.abs(f).max()))
        claim = "converged" if moved <= level and rho * abs(balance) <= level else ""
        yield Iterate(alpha, claim=claim, info={"epochs": sweeps})
