"""Stochastic subgradient descent with a constant or a falling step, and averaging; b may be free.

Program   min F = lam/2 ||w||^2 + 1/n sum_i scale_i max(0, 1 - m_i), scale_i = n weight_i, m_i = y_i (w.x_i + b).
Update    draw i uniformly; with step eta_t
              w <- (1 - eta_t lam) w + eta_t scale_i y_i x_i   and   b <- b + eta_t scale_i y_i   where m_i < 1,
              w <- (1 - eta_t lam) w                                                              elsewhere.
Step      `constant`: eta_t = eta R / G: it stops at a distance that eta decides. `root`: eta R / (G sqrt(t)); its mean
          has E F - F* = O(R G log T / sqrt(T)) for convex F; no strong convexity is used, so that a free b is allowed.
          R = sqrt(sum_i weight_i / lam) holds the optimal w, G = max_i scale_i sqrt(||x_i||^2 + 1 with b) + R lam.
Average   `none`: the last w; `uniform`: the mean of all; `tail`: the mean since the step count was last a power of 2.
Done      never: it has no test of its own. n draws are an epoch.

Robbins and Monro 1951; averages: Polyak and Juditsky 1992; tails: Rakhlin, Shamir and Sridharan 2012. The step
1/(lam t) is Pegasos (`pegasos.py`). Here w = s v and the sum of the averaged w is c v + u, so that a step costs the
nonzeros of one row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Compiled, Iterate
from marginbench.harness.rowops import FAST, add, dot, squared_norms

STEPS = ("constant", "root")
AVERAGES = ("none", "uniform", "tail")
SMALL = 1e-6
"""Of s: w is written out below it."""


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, scale, lam, eta, power, t, free, samples, w, b, total):
    """One step per sample, eta_t = eta / t^power; w moves, `total` gains the sum of the w. Returns (b, sum of b)."""
    s, c, b_total = 1.0, 0.0, 0.0
    v = w
    for i in samples:
        t += 1
        step = eta / t**power
        active = y[i] * (s * dot(rows, i, v) + b) < 1.0
        s *= 1.0 - step * lam
        if active:
            pull = step * scale[i] * y[i]
            add(rows, i, pull / s, v)
            add(rows, i, -c * pull / s, total)
            if free:
                b += pull
        c += s
        b_total += b
        if s < SMALL:
            for j in range(v.size):
                total[j] += c * v[j]
                v[j] *= s
            s, c = 1.0, 0.0
    for j in range(v.size):
        total[j] += c * v[j]
        v[j] *= s
    return b, b_total


@dataclass(frozen=True)
class StochasticSubgradient(Compiled):
    accepts = (RegularisedRisk,)
    accuracy = 1e-1

    step: Literal["constant", "root"] = "root"
    eta: float = 1.0
    average: Literal["none", "uniform", "tail"] = "tail"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, given, possible in (("step", self.step, STEPS), ("average", self.average, AVERAGES)):
            if given not in possible:
                raise InputError(f"solver.{name}={given}: possible are {', '.join(possible)}")
        if not 0.0 < self.eta < np.inf:
            raise InputError(f"solver.eta={self.eta}: needs a finite number above 0")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, Hinge):
            return f"this subgradient method minimises the hinge loss, not the {type(program.loss).__name__}"
        if not program.lam > 0.0:
            return f"the radius of its steps needs lam > 0, not {program.lam}"
        return None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        rng = np.random.default_rng(self.seed)
        n, lam, free = program.n, program.lam, program.intercept
        scale = n * program.weight
        radius = float(np.sqrt(program.weight.sum() / lam))
        norms = np.sqrt(squared_norms(program.rows, n) + free)
        G = float((scale * norms).max()) + lam * radius
        eta, power = self.eta * radius / G, 0.5 if self.step == "root" else 0.0
        eta = min(eta, 0.5 / lam)  # w must not change its sign by shrinking
        w, b, t = np.zeros(program.d), 0.0, 0
        mean, seen, next_tail = np.zeros(program.d + free), 0, 1
        while True:
            samples, total = rng.integers(n, size=n), np.zeros(program.d)
            b, b_total = epoch(program.rows, program.y, scale, lam, eta, power, t, free, samples, w, b, total)
            t += n
            if self.average == "tail" and t >= next_tail * n:
                seen, next_tail = 0, 2 * next_tail
            seen += n
            mean += (np.append(total, b_total)[: mean.size] - n * mean) / seen
            last = np.append(w, b) if free else w
            yield Iterate(last if self.average == "none" else mean, info={"steps": t})
