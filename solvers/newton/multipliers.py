"""The last step with a kernel, where the answer is alpha alone and w is w(alpha).

The gap of a pair (w, alpha) is of second order in w - w(alpha), and that of alpha alone of first order, times C: on
four points at C = 1e4 a pair at 1e-14 has multipliers at 3e-7. Smaller widths do not help: v_i / h times the rounding
of a margin is felt in alpha. So the last system is solved for alpha itself, on K:

    m_i = 1 - c_i alpha_i  in the rows with 0 < alpha_i < u_i, the others held;  sum_i alpha_i y_i = 0 with a free bias
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Array
from marginbench.harness.model.solver import Iterate
from marginbench.solvers.newton.rounding import judged
from marginbench.solvers.newton.smoothing import Block, State

ENOUGH = 1e-11
"""Relative gap of alpha alone from which on nothing is done."""
RIDGE = 1e-12
"""Beside the mean of the diagonal: rows that are alike make the system singular."""
REFINEMENTS = 3
"""Solves with the one factor, each with the residual of what came before."""


def on_multipliers(program: KernelDual, block: Block, iterate: Iterate) -> Iterate:
    """The last iterate of a pair as one of alpha alone, with its own gap. block: the rows l_i, L L' = K."""
    assert iterate.x is not None
    assert iterate.dual is not None
    alpha, b, h = iterate.x, float(iterate.dual[-1]) if program.equality else 0.0, iterate.info["h"]
    gap, scale = gap_of(program, block, alpha, b, h)
    if gap > ENOUGH * scale:
        other, its_b = refined(program, alpha, b)
        its_gap, its_scale = gap_of(program, block, other, its_b, h)
        if its_gap < gap:
            alpha, gap, scale = other, its_gap, its_scale
    return judged(block, replace(iterate, x=alpha), True, gap, scale)


def gap_of(program: KernelDual, block: Block, alpha: Array, b: float, h: float) -> tuple[float, float]:
    """P - D at w(alpha) and b, and P."""
    pull = block.pull(alpha)
    theta = np.append(pull[: block.d], b) if block.bias else pull
    return block.gap(State(theta, alpha, program.y * (program.image(alpha) + b), pull, h))


def refined(program: KernelDual, alpha: Array, b: float) -> tuple[Array, float]:
    """alpha, and b, that solve the last system."""
    K, y, c, beta = program.K, program.y, program.curvature, alpha * program.y
    F = np.flatnonzero((alpha > 0.0) & (alpha < program.upper))
    k = F.size
    if k == 0:
        return alpha, b
    H = np.zeros((k + program.equality, k + program.equality))
    H[:k, :k] = K[np.ix_(F, F)]
    H[np.arange(k), np.arange(k)] += c[F] + RIDGE * float(K.diagonal().mean())
    H[k:, :k], H[:k, k:] = 1.0, 1.0
    factors, rest = lu_factor(H, overwrite_a=True), np.empty(len(H))
    for _ in range(REFINEMENTS):
        rest[:k] = (y - K @ beta - b - c * beta)[F]
        rest[k:] = -beta.sum()
        step = lu_solve(factors, rest)
        beta[F] += step[:k]
        b += float(step[k:].sum())
    return np.clip(beta * y, 0.0, program.upper), b
