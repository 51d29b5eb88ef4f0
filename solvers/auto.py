"""A choice between two solvers of BoxDual, not a third algorithm: coordinate descent, or Newton (`newton_augmented`).

First choice  Newton where its system is of moderate size, min(n, d) <= 3000. The exceptions, where coordinate descent
              goes first:
              - C is small: u_i ||x_i||^2 <= 1/2 for the average row, so that the first step from 0 goes beyond u_i.
                Most multipliers end at their bound, and coordinate descent puts them there in a few epochs, when Newton
                would still be setting up. Not with a free bias, which needs multiplier steps on top, and not where
                Newton costs no more than ten epochs.
              - Newton costs as much as 300 epochs (n < d, sparse rows), whatever C is.
              - The system is larger: Newton then needs conjugate gradients.
Handing over  The decay of coordinate descent's own estimate of the gap predicts how many epochs it still needs. Once
              those would cost more than Newton from the point reached, Newton takes over there. Beyond 3000 it takes
              over when coordinate descent has visited so many rows that it is plainly stuck (`MOST_VISITS`).
Costs         in nanoseconds, from counts alone, so that the choice is the same in every run:
                  epoch     3 nnz + 20 n, times the share of rows not at rest
                  Newton    35 nnz + 1.5 D^3 + 4e5,   D = min(n, d)            15 passes and 40 factorisations
              An entry of a dense matrix costs a third of a non-zero in an epoch, and half of one in Newton.

Each iterate says which solver made it and why (`picked`, `why`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver
from marginbench.harness.rowops import CSR, squared_norms
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.systems import DIRECT

BELIEVED_AFTER = 0.25
"""Share of a Newton solve that coordinate descent may cost before its slowness is believed: at a large C the first
epochs predict nothing (text, wide at C = 100: done in 40 and 75 epochs, where the first 13 predicted a million)."""
NEWTON_COSTLY = "a Newton solve costs as much as 300 epochs"
SMALL_C = "u_i ||x_i||^2 <= 1/2 on average: most multipliers end at their bound"
MOST_VISITS = 0.15
"""Rows that coordinate descent may visit where Newton needs conjugate gradients, in units of d min(n, d): on text of
5000 to 20000 columns at C = 1e4 Newton visits 3. News20 at C = 1e4 is done with 0.04, text_large at C = 100 and a free
bias with 0.1; what needs more is not done with much more (text_large at C = 1000: a gap of 1 % with 1.1)."""
GIVES_WAY = f"coordinate descent has visited {MOST_VISITS} d min(n, d) rows"
SLOWER = 2.0
"""Epochs that coordinate descent needs, beside those that its decay so far predicts: it slows down (mushrooms)."""
FINISH = 0.4
"""Cost of what is left for Newton from the point of coordinate descent, in units of a whole solve."""
NEAR = 0.05
"""Relative gap below which the point of coordinate descent is a better start for Newton than its own."""


@dataclass(frozen=True)
class Auto(Solver):
    """seed: of the order of the coordinates and of Newton's first samples."""

    seed: int = 0

    accepts = (BoxDual,)
    baseline = True

    def warm_up(self, program: Program) -> None:
        assert isinstance(program, BoxDual)
        CoordinateDescent(self.seed).warm_up(program)
        NewtonAugmented(self.seed).warm_up(program)
        first_choice(program, Costs(program))
        next(self.iterates(program.head(64)))

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        newton, start = NewtonAugmented(self.seed), None
        against, costs = newton.refuses(program), Costs(program)
        why = against or first_choice(program, costs)
        if against or costs.large or why in (SMALL_C, NEWTON_COSTLY):
            for iterate in CoordinateDescent(self.seed).iterates(program):
                yield labelled(iterate, "coordinate_descent", why)
                verdict = "" if against else costs.slow(iterate)
                if verdict:
                    break
            else:
                return
            why = verdict
            if iterate.info["estimate"] < NEAR and iterate.x is not None and iterate.dual is not None:
                start = iterate.dual.copy(), iterate.x.copy()
        for iterate in newton.iterates(program, start):
            yield replace(labelled(iterate, "newton_augmented", why), look=True)


def first_choice(program: BoxDual, costs: "Costs") -> str:
    """SMALL_C or NEWTON_COSTLY or too large a system, for which coordinate descent goes first, or why Newton does."""
    if costs.large:
        return f"min(n, d) = {min(program.n, program.d)} is beyond a dense Newton system ({DIRECT})"
    epoch = costs.row * program.n + 40e3
    if costs.newton > 300.0 * epoch and min(program.n, program.d) > 200:  # below that, both take a moment
        return NEWTON_COSTLY
    if program.equality:
        return "free bias, and a Newton system of moderate size"
    q = squared_norms(program.rows, min(program.n, 200))
    reach = float((np.minimum(program.upper[: q.size], 1e300) * q).mean())
    if reach > 0.5:
        return f"u_i ||x_i||^2 = {reach:.2g} on average, and a Newton system of moderate size"
    return "ten epochs cost more than Newton" if 10.0 * epoch > costs.newton else SMALL_C


class Costs:
    """What coordinate descent and Newton cost, in nanoseconds from counts alone."""

    def __init__(self, program: BoxDual) -> None:
        size = min(program.n, program.d)
        self.large, self.most_visits = size > DIRECT, MOST_VISITS * program.d * size
        entry, passes = (3.0, 35.0) if isinstance(program.rows, CSR) else (1.0, 15.0)
        self.row = entry * program.nnz / program.n + 20.0
        self.newton = passes * program.nnz + 1.5 * size**3 + 0.4e6
        self.multipliers = program.equality

    def slow(self, iterate: Iterate) -> str:
        """Why coordinate descent should give way, or nothing."""
        if self.large:
            return GIVES_WAY if iterate.info["visits"] > self.most_visits else ""
        spent = self.row * iterate.info["visits"]
        more = 0.0 if self.multipliers else SLOWER * iterate.info["remaining"]  # with these the gap is not monotone
        if more * self.row * iterate.info["active"] > FINISH * self.newton and spent > BELIEVED_AFTER * self.newton:
            return f"coordinate descent would need {min(more, 1e6):.0f} more epochs, more expensive than Newton"
        return "coordinate descent has cost as much as Newton would" if spent > self.newton else ""


def labelled(iterate: Iterate, picked: str, why: str) -> Iterate:
    return replace(iterate, info={**iterate.info, "picked": picked, "why": why})
