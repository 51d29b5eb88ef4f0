"""Pegasos: stochastic subgradient descent on the regularised hinge loss.

Program   min_w F(w) = lam/2 ||w||^2 + sum_i weight_i max(0, 1 - m_i), m_i = y_i w.x_i.
          Pegasos' own form has weight_i = 1/n and lam = 1/(Cn); the others are multiples of it.
Update    step t = 1, 2, ...: draw `batch` samples uniformly with replacement. n weight_i times the subgradient of
          sample i has the sum's subgradient as its mean, so with the step 1/(lam t)
              w <- (1 - 1/t) w + n/(lam t batch) sum over drawn i with m_i < 1 of weight_i y_i x_i,
          then, if `project`, w <- w min(1, radius/||w||): the optimum has ||w||^2 <= radius^2 = sum_i weight_i / lam.
Average   `uniform`: of all w; `linear`: the w of step t counts t times, so that early steps are forgotten.
Bound     projected, uniform: E F - F* <= G^2 (1 + ln T)/(2 lam T), G = n max_i weight_i ||x_i|| + lam radius,
          which is max ||x_i|| + sqrt(lam) in Pegasos' own form.

Shalev-Shwartz, Singer, Srebro and Cotter 2011, Figures 1 and 2. The linear average: Lacoste-Julien, Schmidt and Bach
2012. Here w = s v and the sum of the averaged w is c v + u, so that a step costs the nonzeros of its rows;
after each epoch of n samples both are written out, which also stops rounding errors from growing.
The theory has no room for a free bias: F is not strongly convex in b.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numba import njit

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Compiled, Iterate
from marginbench.harness.rowops import FAST, add, dot, norm2


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, pull, samples, t, radius, power, v, u):
    """One step per row of `samples`. pull_i = n weight_i / (lam batch); w = v on entry; power < 0: no average.

    Returns (s, c, total): w = s v, the sum of the new w times their weights t^power = c v + u, total of the weights.
    """
    s, c, total = 1.0, 0.0, 0.0
    squared = 0.0
    for j in range(v.size):
        squared += v[j] * v[j]
    active = np.empty(samples.shape[1], dtype=np.bool_)
    for batch in samples:
        t += 1
        for k in range(batch.size):
            active[k] = y[batch[k]] * s * dot(rows, batch[k], v) < 1.0
        if t > 1:  # at t = 1 the factor is 0 and w is 0 already
            s *= 1.0 - 1.0 / t
        for k in range(batch.size):
            if active[k]:
                i = batch[k]
                step = y[i] * pull[i] / (t * s)
                if radius < np.inf:
                    squared += step * (2.0 * dot(rows, i, v) + step * norm2(rows, i))
                add(rows, i, step, v)
                if power >= 0.0:
                    add(rows, i, -c * step, u)
        if s * s * squared > radius * radius:
            s = radius / np.sqrt(squared)
        if power >= 0.0:
            weight = t if power > 0.0 else 1.0
            c += weight * s
            total += weight
    return s, c, total


@dataclass(frozen=True)
class Pegasos(Compiled):
    accepts = (RegularisedRisk,)
    accuracy = 1e-2

    batch: int = 1
    project: bool = False
    average: Literal["none", "uniform", "linear"] = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise InputError(f"solver.batch={self.batch}: needs a whole number of at least 1")
        if self.average not in ("none", "uniform", "linear"):
            raise InputError(f"solver.average={self.average}: possible are none, uniform, linear")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, Hinge):
            return f"Pegasos minimises the hinge loss, not the {type(program.loss).__name__}"
        if program.intercept:
            return "Pegasos has no free bias: its theory needs an objective that is strongly convex in b too"
        if not program.lam > 0.0:
            return f"Pegasos' step 1/(lam t) needs lam > 0, not {program.lam}"
        return None

    def bound(self, program: Program) -> Callable[[Mapping[str, Any]], float] | None:
        """G^2 (1 + ln T) / (2 lam T) over lam, for F = lam P; T is the number of steps."""
        assert isinstance(program, RegularisedRisk)
        if not (self.project and self.average == "uniform"):
            return None
        X, lam = program.X, program.lam
        norms = np.sqrt(np.asarray((X.multiply(X) if sp.issparse(X) else X**2).sum(axis=1)).ravel())
        G = program.n * float((program.weight * norms).max()) + float(np.sqrt(lam * program.weight.sum()))
        return lambda info: G**2 * (1.0 + math.log(info["steps"])) / (2.0 * lam**2 * info["steps"])

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        rng = np.random.default_rng(self.seed)
        n, lam = program.n, program.lam
        pull = n * program.weight / (lam * self.batch)
        radius = float(np.sqrt(program.weight.sum() / lam)) if self.project else np.inf
        power = {"none": -1.0, "uniform": 0.0, "linear": 1.0}[self.average]
        steps = -(-n // self.batch)
        w, mean, seen, t = np.zeros(program.d), np.zeros(program.d), 0.0, 0
        while True:
            samples = rng.integers(n, size=(steps, self.batch))
            u = np.zeros(program.d)
            s, c, total = epoch(program.rows, program.y, pull, samples, t, radius, power, w, u)
            t += steps
            if self.average != "none":
                seen += total
                mean += (c * w + u - total * mean) / seen
            w *= s
            yield Iterate(w if self.average == "none" else mean, info={"steps": t})
