"""The perceptron.

Program   min_w sum_i max(0, gamma - m_i), m_i = y_i w.x_i; any w with m_i > gamma for all i has value 0.
          Weights of samples play no part: they do not change which w these are.
Update    start at w = 0; visit the samples, and where m_i <= gamma: w <- w + y_i x_i.
          `<=`, since with `<` nothing would ever move away from w = 0.
Average   of the w after every visit, kept lazily: with c visits so far and u = sum over updates of c y_i x_i, it is
          w - u / c, so that a visit without update costs nothing.
Done      after an epoch without updates, when the point it yields makes no mistake. Without end on data that cannot
          be separated.
Bound     gamma = 0: updates <= (R / rho)^2, R = max ||x_i||, rho the largest geometric margin; gamma > 0, by the same
          proof: updates <= (R^2 + 2 gamma) / rho^2.

Rosenblatt 1958; the bound: Novikoff 1962; the average: Freund and Schapire 1999, as the mean of its voters.
A bias is learnt as the weight of a constant feature (bias=augmented).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk
from marginbench.harness.model.solver import Compiled, Iterate
from marginbench.harness.rowops import FAST, add, dot


@njit(cache=True, fastmath=FAST)
def epoch(rows, y, gamma, order, average, visits, w, u):
    """Visit the samples in `order`; the number of updates. `visits` counts those of earlier epochs."""
    updates = 0
    for i in order:
        if y[i] * dot(rows, i, w) <= gamma:
            add(rows, i, y[i], w)
            if average:
                add(rows, i, y[i] * visits, u)
            updates += 1
        visits += 1
    return updates


@dataclass(frozen=True)
class Perceptron(Compiled):
    accepts = (RegularisedRisk,)

    order: Literal["cyclic", "random"] = "cyclic"
    average: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.order not in ("cyclic", "random"):
            raise InputError(f"solver.order={self.order}: possible are cyclic, random")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, PerceptronLoss):
            return f"the perceptron minimises its own criterion, not the {type(program.loss).__name__}"
        if program.intercept:
            return "the perceptron learns a bias as the weight of a constant feature (bias=augmented), not a free one"
        return None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        assert isinstance(program.loss, PerceptronLoss)
        rows, y, n, gamma = program.rows, program.y, program.n, float(program.loss.gamma)
        rng = np.random.default_rng(self.seed)
        order = np.arange(n)
        w, u = np.zeros(program.d), np.zeros(program.d)
        visits = updates = 0
        while True:
            if self.order == "random":
                order = rng.permutation(n)
            new = epoch(rows, y, gamma, order, self.average, visits, w, u)
            visits, updates = visits + n, updates + new
            x = w - u / visits if self.average else w
            separates = new == 0 and not (self.average and (program.margins(x) <= gamma).any())
            yield Iterate(x, claim="converged" if separates else "", info={"updates": updates, "mistakes": new})
            if separates:
                return
