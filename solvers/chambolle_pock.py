"""The primal-dual method of Chambolle and Pock on the saddle point of the max-margin problem.

Program   min_{w, b} max_alpha 1/2 ||w||^2 + sum_i alpha_i (1 - m_i) - 1/2 sum_i gamma_i alpha_i^2,
          0 <= alpha_i <= upper_i, m_i = y_i (w.x_i + b); b = 0 unless the bias is free.
Update    alpha <- clip((alpha + sigma (1 - m(w', b'))) / (1 + sigma gamma), 0, upper)
          w <- (w + tau w(alpha)) / (1 + tau),   b <- b + tau sum_i alpha_i y_i
          w' = w + theta (w - w_before), b' likewise; tau <- theta tau, sigma <- sigma / theta.
          theta = 1 / sqrt(1 + 2 tau): 1/2 ||w||^2 is strongly convex, so that ||w - w*||^2 falls like 1/k^2
          (Algorithm 2). A free b is not: theta = 1 then (Algorithm 1, 1/k).
Step      tau sigma L^2 = 1, L the norm of the matrix: a power iteration, and larger as soon as a step shows more.
Restart   the steps go back to tau = sigma = 1/L whenever the gap P - D has fallen to a fifth. Near the optimum the
          method then converges linearly instead of like 1/k^2.

Chambolle and Pock 2011. Restarts: Applegate et al. 2023, here by the gap of the program itself. A step reads
X twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.model.start import begin

POWER = 10
"""Steps of the power iteration."""

FALL = 0.2
"""Of the gap, between two restarts."""


@dataclass(frozen=True)
class ChambollePock(Solver):
    accepts = (BoxDual,)
    accuracy = 1e-2

    restart: bool = True

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, BoxDual)
        if np.isinf(program.upper).any() and not program.curvature.all():
            return "its steps need bounded multipliers, and a hard margin has none"
        return None

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        y, gamma, upper, free = program.y, program.curvature, program.upper, program.equality
        L = norm(program)
        tau = sigma = 1.0 / L
        alpha, pull = begin(program, start)
        w, b, balance = np.zeros(program.d), 0.0, 0.0
        if start is not None:
            w, b = start.w, start.b * free
        f = f_before = program.X @ w + b if w.any() else np.full(program.n, b)  # now and one step ago
        theta, best = 1.0, np.inf
        while True:
            ahead = f + theta * (f - f_before)
            new = np.clip((alpha + sigma * (1.0 - y * ahead)) / (1.0 + sigma * gamma), 0.0, upper)
            pull_new, balance_new = program.X.T @ (new * y), float(new @ y) * free
            stretch = float(np.linalg.norm(np.append(pull_new - pull, balance_new - balance)))
            if stretch > L * float(np.linalg.norm(new - alpha)) * (1.0 + 1e-9):
                grown = 1.05 * stretch / float(np.linalg.norm(new - alpha))
                tau, sigma, L = tau * L / grown, sigma * L / grown, grown
            alpha, pull, balance = new, pull_new, balance_new
            w, b = (w + tau * pull) / (1.0 + tau), b + tau * balance
            f_before, f = f, program.X @ w + b
            yield Iterate(alpha, np.append(w, b) if free else w)
            theta = 1.0 if free else 1.0 / np.sqrt(1.0 + 2.0 * tau)
            tau, sigma = tau * theta, sigma / theta
            gap = own_gap(program, alpha, pull, w, y * f)
            if self.restart and gap <= FALL * best:
                tau = sigma = 1.0 / L
                best = gap


def norm(program: BoxDual) -> float:
    """||[y_i x_i, y_i]||, the second part for a free bias, from below and 2 % more."""
    v = program.y / np.sqrt(program.n)
    size = 1.0
    for _ in range(POWER):
        w, b = program.X.T @ (v * program.y), float(v @ program.y) * program.equality
        v = program.y * (program.X @ w + b)
        size = float(np.linalg.norm(v))
        if size == 0.0:
            return 1.0
        v /= size
    return 1.02 * float(np.sqrt(size))


def own_gap(program: BoxDual, alpha: Array, pull: Array, w: Array, m: Array) -> float:
    """P(w, b) - D(alpha), where alpha balances the labels; `pull` is w(alpha)."""
    z = np.maximum(0.0, 1.0 - m)
    gamma, upper = program.curvature, program.upper
    s = np.minimum(z / np.where(gamma > 0.0, gamma, np.inf), upper) if gamma.any() else upper * (z > 0.0)
    loss = float(s @ z - 0.5 * (gamma * s) @ s)
    return 0.5 * float(w @ w) + loss - float(alpha.sum()) + 0.5 * float(pull @ pull) + 0.5 * float(gamma @ alpha**2)
