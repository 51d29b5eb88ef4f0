"""OCAS: the cutting-plane (bundle) method with an exact line search, on the regularised hinge loss.

Program   min_w F(w) = lam/2 ||w||^2 + R(w), R(w) = sum_i weight_i max(0, 1 - m_i), m_i = y_i w.x_i.
Model     every s in [0, 1]^n bounds R from below: R(w) >= sum_i weight_i s_i (1 - m_i) = c - a.w. The cuts met so far,
          and 0, give F_k <= F, whose dual is a QP over the simplex with as many variables as there are cuts:
              max_beta c'beta - 1/(2 lam) ||A'beta||^2,  beta >= 0, sum beta = 1;   w_k = A'beta / lam.
Update    1. w_k minimises the model. 2. The best point moves towards it, v <- argmin_t F(v + t (w_k - v)), exact.
          3. The next cut is taken at v + 0.1 (w_k - v), s_i = 1 where m_i < 1. Two reads of X a step.
Dual      alpha = sum_k beta_k weight s_k / lam is feasible and w_k = w(alpha): D(alpha) is the model's value over lam.
Done      when F(v) - F_k(w_k) <= tolerance F(v).

Franc and Sonnenburg 2009, OCAS for binary SVMs. Departures: a cut whose beta was 0 for fifty steps is dropped, and the
small QP is solved by exchanges of pairs, warm. A free bias would need an inner minimisation over b, and is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from marginbench.harness.model.problem import Array, InputError
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Compiled, Iterate

AHEAD = 0.1
"""Where the next cut is taken, between the best point (0) and the model's (1)."""

IDLE = 50
"""Steps after which a cut that does not take part is dropped."""


@njit(cache=True, fastmath=False)
def exchange_pairs(H, c, beta, accuracy, most):
    """min 1/2 beta'H beta - c'beta over the simplex: balance the pair that promises most, again and again."""
    g = H @ beta - c
    for _ in range(most):
        up, low = 0, -1
        for k in range(g.size):
            if g[k] < g[up]:
                up = k
        best = 0.0
        for k in range(g.size):
            if beta[k] > 0.0 and g[k] > g[up]:
                promise = (g[k] - g[up]) ** 2 / max(H[k, k] + H[up, up] - 2.0 * H[k, up], 1e-300)
                if promise > best:
                    best, low = promise, k
        gap = 0.0
        for k in range(g.size):
            gap += beta[k] * (g[k] - g[up])
        if low < 0 or gap <= accuracy:
            return
        curve = max(H[low, low] + H[up, up] - 2.0 * H[low, up], 1e-300)
        step = min((g[low] - g[up]) / curve, beta[low])
        beta[up] += step
        beta[low] -= step
        for k in range(g.size):
            g[k] += step * (H[k, up] - H[k, low])


@njit(cache=True, fastmath=False)
def mixed(weight, S, beta, lam, alpha):
    """alpha = sum_k beta_k weight s_k / lam, in the box: rounded, the beta_k may add up to more than 1."""
    alpha[:] = 0.0
    for k in range(beta.size):
        if beta[k] > 0.0:
            for i in range(alpha.size):
                alpha[i] += beta[k] * S[k, i]
    for i in range(alpha.size):
        alpha[i] = min(alpha[i], 1.0) * (weight[i] / lam)


def nearest(m: Array, change: Array, weight: Array, linear: float, square: float) -> float:
    """argmin_{t >= 0} linear t + square t^2 / 2 + sum_i weight_i max(0, 1 - m_i - t change_i), exact.

    The slope grows by square a unit of t, and by weight_i |change_i| where row i crosses its kink.
    """
    active = (m < 1.0) | ((m == 1.0) & (change < 0.0))
    slope = linear - float(weight[active] @ change[active])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (1.0 - m) / change
    crosses = np.flatnonzero((t > 0.0) & np.isfinite(t))
    order = crosses[np.argsort(t[crosses])]
    at = t[order]
    jumps = np.cumsum(weight[order] * np.abs(change[order]))
    after = slope + square * at + jumps
    k = int(np.searchsorted(after, 0.0))  # the first kink after which F rises
    before = slope + (jumps[k - 1] if k else 0.0)
    last = at[k] if k < at.size else np.inf
    first = at[k - 1] if k else 0.0
    return float(np.clip(-before / square, first, last)) if square > 0.0 else float(first)


@dataclass(frozen=True)
class OCAS(Compiled):
    accepts = (RegularisedRisk,)
    accuracy = 1e-4

    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0:
            raise InputError(f"solver.tolerance={self.tolerance}: needs a number above 0")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, Hinge):
            return f"OCAS minimises the hinge loss, not the {type(program.loss).__name__}"
        if program.intercept:
            return "OCAS has no free bias: b is part of w, and penalised"
        if not program.lam > 0.0:
            return f"OCAS needs lam > 0, not {program.lam}"
        return None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        X, y, weight, lam = program.X, program.y, program.weight, program.lam
        v, m = np.zeros(program.d), np.zeros(program.n)
        ahead, alpha = m, np.zeros(program.n)
        cuts = Cuts(program)
        while True:
            cuts.add(ahead < 1.0)
            F = 0.5 * lam * float(v @ v) + float(weight @ np.maximum(0.0, 1.0 - m))
            bound = cuts.minimise(0.01 * self.tolerance * F)
            w = cuts.A.T @ cuts.beta / lam
            change = y * (X @ w) - m
            t = nearest(m, change, weight, lam * float(v @ (w - v)), lam * float((w - v) @ (w - v)))
            ahead = m + (t + AHEAD * (1.0 - t)) * change
            v, m = v + t * (w - v), m + t * change
            F = 0.5 * lam * float(v @ v) + float(weight @ np.maximum(0.0, 1.0 - m))
            mixed(weight, cuts.S, cuts.beta, lam, alpha)
            done = F - bound <= self.tolerance * F
            info = {"cuts": cuts.beta.size, "own_gap": (F - bound) / lam}
            yield Iterate(v, alpha, claim="converged" if done else "", info=info)
            if done:
                return


class Cuts:
    """The model: slopes A, heights c, the choices s behind them, and the weights beta of the last solution."""

    def __init__(self, program: RegularisedRisk) -> None:
        self.program = program
        self.A, self.c = np.zeros((1, program.d)), np.zeros(1)  # R >= 0 is the first cut
        self.H, self.beta, self.idle = np.zeros((1, 1)), np.ones(1), np.zeros(1, dtype=int)
        self.S = np.zeros((1, program.n), dtype=np.uint8)

    def add(self, s: Array) -> None:
        program = self.program
        pull = program.weight * s
        a = program.X.T @ (pull * program.y)
        kept = self.idle < IDLE
        kept[0] = True
        A = np.vstack([self.A[kept], a])
        column = A @ a / program.lam
        H = self.H[np.ix_(kept, kept)]
        self.H = np.block([[H, column[:-1, None]], [column[None, :]]])
        self.A, self.c = A, np.append(self.c[kept], pull.sum())
        self.beta, self.idle = np.append(self.beta[kept], 0.0), np.append(self.idle[kept], 0)
        self.S = np.vstack([self.S[kept], s.astype(np.uint8)])

    def minimise(self, accuracy: float) -> float:
        """The smallest value of the model, from below."""
        exchange_pairs(self.H, self.c, self.beta, accuracy, 1000 * self.beta.size)
        self.idle = np.where(self.beta > 0.0, 0, self.idle + 1)
        return float(self.c @ self.beta - 0.5 * self.beta @ self.H @ self.beta)
