"""The primal-dual method of Chambolle and Pock on the saddle point of the max-margin problem.

Program   min_{w, b} max_alpha 1/2 ||w||^2 + sum_i alpha_i (1 - m_i) - 1/2 sum_i gamma_i alpha_i^2,
          0 <= alpha_i <= upper_i, m_i = y_i (w.x_i + b); b = 0 unless the bias is free.
Update    alpha <- clip((alpha + sigma (1 - m(w', b'))) / (1 + sigma gamma), 0, upper)
          w <- (w + tau w(alpha)) / (1 + tau),   b <- b + tau sum_i alpha_i y_i
          w' = 2 w - w_before, b' likewise (Algorithm 1).
Step      tau = 1 / (balance L), sigma = balance / L; L the norm of the matrix: a power iteration, and larger as soon as
          a step shows more.
Restart   from the better of the last point and the average since the last restart, whenever its gap has fallen to a
          fifth, and after a third of all steps. The last point circles around the saddle where multipliers are free;
          the average goes to its middle. Near the optimum the method then converges linearly instead of like 1/k.
Balance   1 at first; at a restart it moves to ||change of alpha|| / ||change of (w, b)|| since the one before, half the
          way in logarithms. The multipliers grow with C, w does not: with tau = sigma one of them hardly moves.
Answer    after ten steps, the point with the smallest gap so far: it never gets worse.

Chambolle and Pock 2011. Restarts and balance: Applegate et al. 2021 (PDLP), here by the gap of the program itself.
Departs from the paper's Algorithm 2: steps that shrink for ever make w converge like 1/k^2, and alpha jump from bound
to bound. A step reads X twice. Margins and w(alpha) are linear: those of an average are averages, and read nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.model.start import begin

POWER = 10
"""Steps of the power iteration."""

STEPS = 10
"""Between two looks at the gap."""

FALL, SHARE = 0.2, 0.36
"""Of the gap, and of all steps so far, between two restarts."""

VISIBLE = 1e-8
"""Of w(alpha): smaller changes may be rounding, and say nothing of L."""


class Saddle(NamedTuple):
    """A point and its images: v = w, and b where it is free; pull = w(alpha), and sum_i alpha_i y_i; f = w.x + b."""

    alpha: Array
    pull: Array
    v: Array
    f: Array


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
        L, balance = norm(program), 1.0
        point = anchor = best = first(program, start)
        f_before, least, left = point.f, np.inf, np.inf  # gaps: the smallest, and that of the last restart
        k, steps, total = 0, 0, zeros(point)
        while True:
            for _ in range(STEPS):
                new, L = step(program, point, 2.0 * point.f - f_before, balance, L)
                point, f_before = new, point.f
                for sum_, part in zip(total, point, strict=True):
                    sum_ += part
            k, steps = k + STEPS, steps + STEPS
            average = Saddle(*(sum_ / k for sum_ in total))
            np.minimum(average.alpha, program.upper, out=average.alpha)  # a sum of k bounds is rounded
            gap, better = min(((own_gap(program, one), one) for one in (point, average)), key=lambda pair: pair[0])
            if gap < least:
                least, best = gap, better
            yield Iterate(best.alpha, best.v)
            if self.restart and (gap <= FALL * left or k >= SHARE * steps > STEPS):
                moved = [float(np.linalg.norm(a - b)) for a, b in ((better.alpha, anchor.alpha), (better.v, anchor.v))]
                if min(moved) > 0.0:
                    balance = np.sqrt(balance * moved[0] / moved[1])
                point = anchor = better
                f_before, left, k, total = point.f, gap, 0, zeros(point)


def first(program: BoxDual, start: Start | None) -> Saddle:
    """Where it begins: that of the start, else 0."""
    alpha, pull = begin(program, start)
    v = np.zeros(program.d + program.equality)
    if start is not None:
        v = np.append(start.w, start.b) if program.equality else start.w
    return Saddle(alpha, joined(program, pull, alpha), v, decisions(program, v))


def zeros(point: Saddle) -> Saddle:
    return Saddle(*(np.zeros_like(part) for part in point))


def joined(program: BoxDual, pull: Array, alpha: Array) -> Array:
    return np.append(pull, alpha @ program.y) if program.equality else pull


def decisions(program: BoxDual, v: Array) -> Array:
    f = program.X @ v[: program.d]
    return f + v[-1] if program.equality else f


def step(program: BoxDual, old: Saddle, ahead: Array, balance: float, L: float) -> tuple[Saddle, float]:
    """The next point, and L as it is known then; `ahead` is f at (w', b')."""
    y, gamma, sigma = program.y, program.curvature, balance / L
    alpha = np.clip((old.alpha + sigma * (1.0 - y * ahead)) / (1.0 + sigma * gamma), 0.0, program.upper)
    pull = joined(program, program.X.T @ (alpha * y), alpha)
    moved, stretch = float(np.linalg.norm(alpha - old.alpha)), float(np.linalg.norm(pull - old.pull))
    if stretch > max(L * moved * (1.0 + 1e-9), VISIBLE * float(np.linalg.norm(pull))) and moved > 0.0:
        L = 1.05 * stretch / moved
    tau = 1.0 / (balance * L)
    v = old.v + tau * pull
    v[: program.d] /= 1.0 + tau
    return Saddle(alpha, pull, v, decisions(program, v)), L


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


def own_gap(program: BoxDual, point: Saddle) -> float:
    """P(w, b) - D(alpha) + (1 + |b|) |sum_i alpha_i y_i|: the last part is what a b of that size gains by an alpha that
    does not balance the labels yet."""
    w, b = point.v[: program.d], point.v[program.d :]
    pull, balance = point.pull[: program.d], point.pull[program.d :]
    z = np.maximum(0.0, 1.0 - program.y * point.f)
    gamma, upper = program.curvature, program.upper
    s = np.minimum(z / np.where(gamma > 0.0, gamma, np.inf), upper) if gamma.any() else upper * (z > 0.0)
    primal = 0.5 * float(w @ w) + float(s @ z - 0.5 * (gamma * s) @ s)
    dual = float(point.alpha.sum()) - 0.5 * float(pull @ pull) - 0.5 * float(gamma @ point.alpha**2)
    return primal - dual + float(((1.0 + np.abs(b)) * np.abs(balance)).sum())
