"""Alternating optimisation: one block of variables at a time, the others fixed.

Program   min_x F = lam/2 ||w||^2 + sum_i weight_i h(m_i), m_i = y_i (w.x_i + b), x = w, and b with an intercept.
Update    for each block in turn (`block` columns of w; 0: all of them; b is a block of its own): minimise F over it, by
          rounds over its coordinates until they stand still. Along one coordinate F' is monotone, and its zero is found
          by Newton's method in a bracket, on the nonzeros of that column.
Theory    for a smooth loss a point that no block improves is the optimum, and the rounds converge to it: Tseng 2001,
          Theorem 4.1. For the hinge this is false: at a kink that couples two coordinates neither can move alone. Such
          a program is refused unless `kinks`: then the method runs, stops at some such point, and says so.
Widths    a narrow smoothed hinge is all but a hinge, and the rounds crawl along its kinks: ever narrower ones are
          minimised instead, as by `trust_region`, each from where the one before was left.
Done      when a whole round moves no margin by more than rounding.

The textbook's ALT-OPT; its one-variable case is primal coordinate descent (Chang, Hsieh and Lin 2008). A copy of X by
columns is made first.

Accuracy  1e-2: rounds over coordinates are slow where columns are correlated. On the reference problems rare-100.0 the
          error after 3 s is 4e-4 and, with a free bias, 1e-3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numba import njit

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Compiled, Iterate, Start
from marginbench.harness.model.widths import wider

ROUNDING = 1e-14
"""Of a margin, beside 1."""

HALFWAY, ROUNDS = 1e-5, 50
"""Of a margin, what a round moves, and rounds, after which a narrower smoothed hinge has its turn."""

INNER = 50
"""Rounds over a block at the most, before the next one has its turn."""


@njit(cache=True, fastmath=False)
def slope_at(t, x, lam, rows, values, y, weight, m, rate, cap, kink):
    """(F', F'') along one coordinate, at x + t: m_i there is m_i + t y_i values_i."""
    first, second = lam * (x + t), lam
    for k in range(rows.size):
        i = rows[k]
        z = 1.0 - m[i] - t * y[i] * values[k]
        if z > 0.0:
            pull = 1.0 if kink else min(rate * z, cap)
            first -= weight[i] * pull * y[i] * values[k]
            if not kink and rate * z < cap:
                second += weight[i] * rate * values[k] * values[k]
    return first, second


@njit(cache=True, fastmath=False)
def move(x, lam, rows, values, y, weight, m, rate, cap, kink):
    """The t that minimises F along the coordinate; m is updated. A column without nonzeros goes to 0."""
    first, second = slope_at(0.0, x, lam, rows, values, y, weight, m, rate, cap, kink)
    low, high, t, reach = -np.inf, np.inf, 0.0, 1.0
    for _ in range(200):
        if first == 0.0:
            break
        if first > 0.0:
            high = t
        else:
            low = t
        new = t - first / second if second > 0.0 else np.nan
        if kink or not low < new < high:
            if low > -np.inf and high < np.inf:
                new = 0.5 * (low + high)
            elif not low < new < high:
                new = t - np.sign(first) * reach
            reach *= 4.0
        if new in (t, low, high) or abs(new) > 1e100:
            break
        t = new
        first, second = slope_at(t, x, lam, rows, values, y, weight, m, rate, cap, kink)
    for k in range(rows.size):
        m[rows[k]] += t * y[rows[k]] * values[k]
    return t


@njit(cache=True, fastmath=False)
def block_round(first, last, indptr, indices, data, lam, y, weight, rate, cap, kink, most, still, x, m):
    """Rounds over the coordinates from `first` to `last` until no margin moves more than `still`; the largest move."""
    moved = 0.0
    for _ in range(most):
        largest = 0.0
        for j in range(first, last):
            rows, values = indices[indptr[j] : indptr[j + 1]], data[indptr[j] : indptr[j + 1]]
            t = move(x[j], lam, rows, values, y, weight, m, rate, cap, kink)
            x[j] += t
            for v in values:
                largest = max(largest, abs(t * v))
        moved = max(moved, largest)
        if largest <= still:
            break
    return moved


@dataclass(frozen=True)
class Alternating(Compiled):
    accepts = (RegularisedRisk,)
    accuracy = 1e-2

    block: int = 1
    kinks: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.block, bool) or not isinstance(self.block, int) or self.block < 0:
            raise InputError(f"solver.block={self.block}: needs a whole number, 0 for all columns in one block")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        smooth = isinstance(program.loss, SmoothedHinge | SquaredHinge)
        if not smooth and not (self.kinks and isinstance(program.loss, Hinge)):
            return (
                f"alternating optimisation may stop anywhere on a kink of the {type(program.loss).__name__}: "
                "use smoothed_hinge or squared_hinge; solver.kinks=true runs it on the hinge all the same"
            )
        if not program.lam > 0.0:
            return f"alternating optimisation needs lam > 0, not {program.lam}"
        return None

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        loss, d = program.loss, program.d
        stages = wider(program)
        kink, stage, rounds = isinstance(loss, Hinge), 0, 0
        X = sp.csc_array(program.X)
        ones = np.arange(program.n, dtype=X.indices.dtype), np.ones(program.n)
        x, m = np.zeros(d + program.intercept), np.zeros(program.n)
        if start is not None:
            x[:] = np.append(start.w, start.b) if program.intercept else start.w
            m = program.margins(x)
        ends = [*range(0, d, self.block or d), d]
        while True:
            now, moved = stages[stage], 0.0
            rate, cap = (1.0 / now.delta, 1.0) if isinstance(now, SmoothedHinge) else (2.0, np.inf)
            for first, last in pairwise(ends):
                most = INNER if last - first > 1 else 1
                moved = max(
                    moved,
                    block_round(
                        *(first, last, X.indptr, X.indices, X.data, program.lam, program.y, program.weight),
                        *(rate, cap, kink, most, ROUNDING, x, m),
                    ),
                )
            if program.intercept:
                t = move(x[-1], 0.0, *ones, program.y, program.weight, m, rate, cap, kink)
                x[-1] += t
                moved = max(moved, abs(t))
            rounds += 1
            last = stage == len(stages) - 1
            done = moved <= ROUNDING and last
            if not last and (moved <= HALFWAY or rounds >= ROUNDS):
                stage, rounds = stage + 1, 0
            yield Iterate(x, claim=("inaccurate" if kink else "converged") if done else "")
            if done:
                return
            m = program.margins(x)  # without the rounding that updates leave
