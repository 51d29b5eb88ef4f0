"""The last step of Newton's method where its systems are solved by conjugate gradients (`all_rows.py`).

Once F = {0 < alpha_i < u_i} is known, alpha is the answer to one linear system: m_i = 1 in the rows of F,

    K s = 1 - m(w(alpha)),   K = Z Z',   Z the rows y_i x_i of F,   alpha_F <- alpha_F + s

Conjugate gradients solve it in alpha, preconditioned by ||x_i||^2. Proximal steps solve it again for each h, and in w,
where H has another d - |F| eigenvalues, near 1, beside those of K v / h. Products of text at C = 1e4 to 1e-9, with and
without this step: 6000 x 2500 5500 and 6300, 12500 x 5000 7400 and 8700.
"""

import numpy as np
from numba import njit

from marginbench.harness.rowops import FAST, add, dot, squared_norms
from marginbench.solvers.newton.smoothing import Block, State

LONGER = 3
"""Products that a landing may take, in units of those of a system: 2.3 where |F| is nearly d (text of 20000 x 4000 at
C = 1000, |F| = 3983)."""
ASTRAY, SPENT = 0.01, 0.02
"""Residual beside the first, and what a product gains beside the best one, from which on an alpha outside the box shows
that F is not right: rows of a wrong F may be dependent, and no alpha has these margins (text_large at C = 1e4 and a gap
of 2e-5: 6000 products for nothing). On the way an alpha near its bound may be outside for a while."""


def can_land(block: Block) -> bool:
    """The hinge, without a free bias: what a margin misses costs u_i times that, and no b is to be found with alpha."""
    return not block.bias and block.kappa == 0.0 and block.top < np.inf


def landed(block: Block, state: State, target: float) -> State:
    """alpha with m_i = 1 in the rows of F = `system.F`, clipped to the box, and w = w(alpha).

    target: the gap that margins may leave, at most sum_F u_i |1 - m_i|.
    """
    F, moved = np.flatnonzero(block.system.F), block.team.copy(state.alpha)
    rows, y, upper = block.team.take(block.rows, F), block.y[F], block.upper[F]
    q, alpha, w = squared_norms(rows, F.size), state.alpha[F], state.pull.copy()
    solve_on_face(rows, y, upper, np.where(q > 0.0, q, 1.0), alpha, w, target, LONGER * block.system.products)
    moved[F] = np.clip(alpha, 0.0, upper)
    return block.state(block.pull(moved), moved, state.h)


@njit(cache=True, fastmath=FAST)
def solve_on_face(rows, y, upper, q, alpha, w, target, limit):
    """K s = 1 - m by conjugate gradients, in place: alpha += s and w += Z's, until sum_i u_i |1 - m_i| <= target."""
    r, p, pulled, rz = np.empty(y.size), np.empty(y.size), np.empty(w.size), 0.0
    for i in range(y.size):
        r[i] = 1.0 - y[i] * dot(rows, i, w)
        p[i] = r[i] / q[i]
        rz += r[i] * p[i]
    first, best = rz, 0.0
    for _ in range(limit):
        for j in range(w.size):
            pulled[j] = 0.0
        for i in range(y.size):
            add(rows, i, p[i] * y[i], pulled)
        curve, before, rz, cost, inside = 0.0, rz, 0.0, 0.0, True
        for j in range(w.size):
            curve += pulled[j] * pulled[j]
        if not curve > 0.0:
            return  # nothing is left, or the rows are dependent and no alpha has these margins
        length = before / curve
        gain = length * before
        best = max(best, gain)
        for j in range(w.size):
            w[j] += length * pulled[j]
        for i in range(y.size):
            alpha[i] += length * p[i]
            r[i] -= length * y[i] * dot(rows, i, pulled)
            rz += r[i] * r[i] / q[i]
            cost += upper[i] * abs(r[i])
            inside = inside and 0.0 <= alpha[i] <= upper[i]
        if cost <= target or (not inside and (rz <= ASTRAY**2 * first or gain <= SPENT * best)):
            return
        for i in range(y.size):
            p[i] = r[i] / q[i] + rz / before * p[i]
