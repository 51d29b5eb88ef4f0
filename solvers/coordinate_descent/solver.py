"""Dual coordinate descent, made to last to high accuracy.

Program    max_alpha sum_i a_i - 1/2 ||w(a)||^2 - 1/2 sum_i c_i a_i^2, 0 <= a_i <= u_i, w(a) = sum_i a_i y_i x_i; with a
           free bias also sum_i a_i y_i = 0.
Update     one coordinate at a time, w kept up to date, m_i = y_i (w.x_i + b):
               g   = m_i - 1 + c_i a_i                                   the negated derivative
               a_i <- clip(a_i - g / (||x_i||^2 + c_i + rho), 0, u_i),   w += (change) y_i x_i,   b += rho (change) y_i
Reference  Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008, Algorithm 3.
Done       when the gap of all rows, which a check computes, is at the level of rounding.

Departures, each with the case that needs it:
- Order. Runs of rows that lie side by side (about 1000 non-zeros, 16 rows at most, 4 of small data) are visited in a
  random order that is new in each epoch. An epoch over text costs half of one in a random order of rows, and as many
  epochs are needed. Rows of 1000 non-zeros are runs of their own (dorothea). ||x_i||^2 is computed when a row is first
  met.
- Shrinking (their section 3.2). A row at a bound rests when its gradient points out of the box by more than any
  violation of the last epoch. A check gives the gap and the rows that should return. It is due when the gap of the rows
  at work has fallen tenfold, or when the epochs have grown by a third and half of all rows were visited since: few rows
  at work make an epoch free (ijcnn1 at C = 0.01 ends with 18 of 50,000). A check reads a row only if w has moved far
  enough since the row was last read (w8a at C = 0.01: 49,749 rows, then 2,000, in the end 700). Once fewer than half of
  the rows are at work, they are copied to lie side by side.
- Free bias: the method of multipliers. The sweep minimises the augmented Lagrangian, whose multiplier
  b + rho sum a_i y_i is kept as b. A check ends with b += rho sum a_i y_i, unless the sweeps are far from done: b would
  wander, and every row with it (news20 at C = 100). rho starts small beside ||x_i||^2, or the sum would tie all
  coordinates together and slow the sweep. It doubles when the sum has not halved. Without the equality rho = b = 0.
- Larger steps. Large C or raw counts leave K badly scaled, and sweeps slow. Where the decay of the gap promises more
  than 45 further epochs, a check comes every 12 and tries two larger steps:
    Extrapolation along the path of the sweeps, which costs next to nothing. It shortens the march of duplicate rows
    with opposite labels to their bound (news20: 18 of the 43 rows at C = 1; rescaling rows would change nothing, since
    each coordinate step is invariant to it).
    Conjugate gradients on the face of the free rows (`faces.py`). While the face still changes a little, they alternate
    with as much time of sweeps as long as they gain more per row visited (text, news20 at C = 100). Once the face is at
    rest, what is left is a linear system, and they go on alone (raw counts, wide at C = 100: D is right to 1e-8 when P,
    which depends on every margin, is not to 1e-3).
- Small C. Where a sample of rows promises that w(u) is short, ||w(u)||^2 < sum_i u_i / 2, most rows end at their bound,
  and alpha = u is the first iterate: one pass, and often the answer (a quarter of `datasets/family.py`). Only rows with
  a margin of 1 or more are then at work. Elsewhere it would be no better a start than 0, and a pass is lost: where one
  class is larger, or columns have a mean, w(u) is 7 to 600 times too long (a9a, ijcnn1, w8a, mushrooms).
- Length of w. w(alpha) is not the best w that alpha knows: at a large C the slacks of rows that should have none cost
  more than all else, and a slightly longer w has none (dorothea at C = 100: 12 epochs instead of 19). A check finds the
  best multiple of w, which the iterate after it holds.
- A kernel. w has no coordinates: see `kernel.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Claim, Compiled, Iterate, Start
from marginbench.harness.rowops import Team
from marginbench.solvers.coordinate_descent.descent import WORTH_A_PATH, Descent, at_bound
from marginbench.solvers.coordinate_descent.kernel import descend

ROUNDING = 1e-13
"""Relative gap at which nothing is left to gain."""
SWEEPS_ONLY = 1e-11
"""Relative gap from which sweeps alone go on: the gain of any larger step would be lost in the rounding of D."""
SLOW = 45
"""Predicted epochs to a gap of 1e-6 (then of 1e-9) beyond which larger steps are tried."""
SLOW_AT_REST = 15
"""The same on a face at rest."""
CHANGES_AT_REST = 0.001
"""Share of the free rows that may become free or bound in an epoch on a face at rest."""
CHANGES_IN_TRIAL = 0.05
"""Share of the free rows that may become free or bound in the last epoch, for each epoch since the last iterate, for
conjugate gradients to be tried against a sweep."""

AT_BOUND = {"epochs": 0, "visits": 0, "products": 0, "active": 0, "estimate": 1.0, "remaining": 0.0}
"""Told with the first iterate, where that is alpha = u."""


@dataclass(frozen=True)
class CoordinateDescent(Compiled):
    """seed: of the random order of the coordinates."""

    seed: int = 0

    accepts = (BoxDual, KernelDual)
    rows_of_kernel = True
    warm_up_rows = 64
    single = True

    def warm_up(self, program: Program) -> None:
        if isinstance(program, KernelDual):
            super().warm_up(program)
            return
        assert isinstance(program, BoxDual)
        head = Descent(program.head(8), self.seed)
        head.sweep()
        head.gap = 0.0  # so that w is computed from alpha too
        head.check()
        head.extrapolate()
        head.step_on_face(np.arange(head.alpha.size), limit=2)
        head.active = 1
        head.copy_rows_at_work()
        super().warm_up(program)

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        if isinstance(program, KernelDual):
            yield from descend(program, self.seed, start)
            return
        assert isinstance(program, BoxDual)
        w = at_bound(program) if start is None else None
        if w is not None:
            yield Iterate(program.upper, w, info=AT_BOUND, look=True)  # nothing else is made for it
        yield from self.descend(program, start, w)

    def descend(self, program: BoxDual, start: Start | None, w: Array | None) -> Iterator[Iterate]:
        """From a start, or from alpha = u where w is w(u) (`at_bound`), or from 0."""
        with Team(program.threads) as team:
            state = Descent(program, self.seed, team)
            if start is not None:
                state.begin(start)
            elif w is not None:
                state.begin_at_bound(w)
            yield from self._descend(program, state)

    @staticmethod
    def _descend(program: BoxDual, state: Descent) -> Iterator[Iterate]:
        checked, history = 0, [np.inf]
        slow, face_wins, limit, owed = False, False, 0, 0.0  # owed: rows to sweep before the next step on the face
        claim: Claim = ""
        while not claim:
            if state.active == 0 and state.gap <= ROUNDING * state.scale:  # all rows are right at their bound
                yield Iterate(state.alpha, state.w, claim="converged", info=told(state, len(history) - 1, 0.0))
                return
            done, changes = state.sweep()
            history += done
            epochs, more = len(history) - 1, remaining(history, state.scale)
            wait = max(2, epochs // 5) if program.equality else max(6, epochs // 3)
            wait = 2 if face_wins else min(wait, 12) if slow else wait
            due = epochs - checked >= wait and state.visited >= (owed if face_wins else program.n / 2)
            if due or state.estimate <= 0.1 * state.gap < np.inf or state.active == 0:
                checked, state.visited, products, free = epochs, 0, state.products, state.free()
                at_rest = changes <= CHANGES_AT_REST * free.size
                slow = face_wins or (epochs > 8 and more > (SLOW_AT_REST if at_rest else SLOW))
                if slow and state.estimate > SWEEPS_ONLY * state.scale:
                    # A trial should cost less than it may save.
                    trial = min(more / 4.0, 50.0) if at_rest else max(min(more / 5.0, 30.0), epochs / 12.0)
                    limit = min(2 * limit, 400) if face_wins else int(trial)
                    if at_rest:
                        state.step_on_face(free, limit)
                        face_wins, owed = True, 0.0
                    else:
                        state.extrapolate()
                        nearly_at_rest = more > SLOW and changes < CHANGES_IN_TRIAL * len(done) * free.size
                        face_wins = nearly_at_rest and state.face_beats_sweep(free, min(limit, 200))
                        owed = 0.6 * (state.products - products) * free.size  # sweeps for as long as the step took
                elif more > WORTH_A_PATH:
                    state.remember()
                else:
                    state.last = None
                state.check()
                claim = "converged" if state.gap <= ROUNDING * state.scale else ""
            w = None if program.equality else state.w if state.length == 1.0 else state.length * state.w
            yield Iterate(state.alpha, w, claim=claim, info=told(state, epochs, more), look=state.length != 1.0)


def told(state: Descent, epochs: int, more: float) -> dict[str, float]:
    """What an iterate says beside alpha and w."""
    return {"epochs": epochs, "visits": state.visits, "products": state.products, "active": state.active,
            "estimate": state.estimate / state.scale, "remaining": more}  # fmt: skip


def remaining(history: list[float], scale: float) -> float:
    """Epochs to the next of the relative gaps 1e-6, 1e-9, ..., if the estimate decays on as in its later half."""
    if len(history) < 4:
        return 0.0
    middle, last = history[len(history) // 2], history[-1]
    if not 0.0 < last < middle:
        return np.inf if last >= middle else 0.0
    target = 1e-6
    while last <= 2.0 * target * scale:
        target *= 1e-3
    rate = np.log(middle / last) / (len(history) - 1 - len(history) // 2)
    return float(np.log(last / (target * scale)) / rate)
