"""Dual coordinate descent on BoxDual: Hsieh, Chang, Lin, Keerthi, Sundararajan (ICML 2008), Algorithm 3,
made to last to high accuracy.

    max sum_i a_i - 1/2 ||w(a)||^2 - 1/2 sum_i c_i a_i^2,  0 <= a_i <= u_i,   w(a) = sum_i a_i y_i x_i

One coordinate at a time, in runs of neighbours whose order is random and new in each epoch, with w kept up to date:

    g   = m_i - 1 + c_i a_i                                      the negated derivative, m_i = y_i (w.x_i + b)
    a_i <- clip(a_i - g / (||x_i||^2 + c_i + rho), 0, u_i),      w += (change) y_i x_i,  b += rho (change) y_i

- Shrinking (their section 3.2): a row at a bound whose gradient points out of the box by more than any violation of the
  last epoch rests. A check gives the gap and the rows that should return; it is due when the gap of the rows at work
  has fallen tenfold, or when the epochs have grown by a third and half of all rows were visited since (few rows at
  work make an epoch free: ijcnn1 at C = 0.01 ends with 18 of 50,000). It reads a row only if w has moved far enough
  since the row was last read for it to have left its rest (w8a at C = 0.01: 49,749 rows, then 2,000, in the end 700).
  Once fewer than half of the rows are at work, they are copied to lie side by side.
- Free bias (sum a_i y_i = 0): method of multipliers. The sweep minimises the augmented Lagrangian, whose multiplier
  b + rho sum a_i y_i is kept as b, and a check ends with b += rho sum a_i y_i, unless the sweeps themselves are far
  from done: b would wander, and every row with it (news20 at C = 100). rho starts small beside ||x_i||^2, or the sum
  would tie all coordinates together and slow the sweep, and doubles when the sum has not halved. Without the equality
  rho = b = 0.
- Large C or raw counts leave K badly scaled, and sweeps slow. Where the decay of the gap promises more than 45 further
  epochs, a check comes every 12 and tries two larger steps, and keeps what gains more. Extrapolation along the path of
  the sweeps costs next to nothing; it shortens the march of duplicate rows with opposite labels to their bound, one
  part of what makes raw counts hard (news20: 18 of the 43 rows at C = 1 are such; rescaling rows would change
  nothing, since each coordinate step is invariant to it). Conjugate gradients on the face of the free rows
  (`faces.py`), once that is nearly at rest, alternate with as much time of sweeps while they gain more per row visited
  (text, news20 at C = 100). Once it is at rest, what is left is a linear system, and theirs (raw counts, wide at
  C = 100: D is right to 1e-8 when P, which depends on every margin, is not to 1e-3).
- w(alpha) is not the best w that alpha knows: at a large C the slacks of rows that should have none cost more than all
  else, and a w longer by as little has none (dorothea at C = 100: 12 epochs instead of 19). A check gives the best
  multiple of w, which is what the iterate after it holds.
- ||x_i||^2 is computed when a row is first met. Runs of rows that lie side by side (about 1000 non-zeros, 16 rows at
  most) are what memory is good at: an epoch over text costs half of one in a random order of rows, in which each is
  asked for ahead, and as many epochs are needed. Rows of 1000 non-zeros are runs of their own (dorothea).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Claim, Compiled, Iterate
from marginbench.harness.rowops import Room, combine, margins, squared_norms, take
from marginbench.solvers.coordinate_descent.faces import Face, minimise_on_face, projected_search
from marginbench.solvers.coordinate_descent.sweeps import best_length, survey, sweeps

RUN = 16
"""Rows in a run, at most."""
EPOCHS = 10
"""From one iterate to the next, at most; more than one while they visit few rows."""
COPIED = 0.5
"""Share of the rows below which those at work are copied to lie side by side."""
ROUNDING = 1e-13
"""Relative gap at which nothing is left to gain."""
SETTLED = 1e-11
"""Relative gap from which sweeps alone go on: the gain of any larger step would be lost in the rounding of D."""
PATIENCE = 45
"""Predicted epochs to a gap of 1e-6 (then of 1e-9) beyond which larger steps are tried."""
PATIENCE_AT_REST = 15
"""The same on a face at rest."""
AT_REST = 0.001
"""Share of the free rows that may become free or bound in an epoch on a face at rest."""
STABLE = 0.05
"""Share of the free rows that may enter or leave in the last epoch, for each epoch since the last iterate, for
conjugate gradients to be tried against a sweep."""


@dataclass(frozen=True)
class CoordinateDescent(Compiled):
    """seed: of the random order of the coordinates."""

    seed: int = 0

    accepts = (BoxDual,)
    warm_up_rows = 64

    def warm_up(self, program: Program) -> None:
        assert isinstance(program, BoxDual)
        head = Descent(program.head(8), self.seed)
        head.sweep()
        head.gap = 0.0  # so that w is made afresh too
        head.check()
        head.extrapolate()
        head.accelerate(np.arange(head.alpha.size), limit=2)
        head.active = 1
        head.gather()
        super().warm_up(program)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        state, checked, history = Descent(program, self.seed), 0, [np.inf]
        slow, winning, limit, spent = False, False, 0, 0.0
        claim: Claim = ""
        while not claim:
            done, changes = state.sweep()
            history += done
            epochs, more = len(history) - 1, remaining(history, state.scale)
            wait = max(2, epochs // 5) if program.equality else max(6, epochs // 3)
            wait = 2 if winning else min(wait, 12) if slow else wait
            due = epochs - checked >= wait and state.visited >= (spent if winning else program.n / 2)
            if due or state.estimate <= 0.1 * state.gap < np.inf or state.active == 0:
                checked, state.visited, products, free = epochs, 0, state.products, state.free()
                rest = changes <= AT_REST * free.size
                slow = winning or (epochs > 8 and more > (PATIENCE_AT_REST if rest else PATIENCE))
                if slow and state.estimate > SETTLED * state.scale:
                    # A trial should cost less than it may save.
                    trial = min(more / 4.0, 50.0) if rest else max(min(more / 5.0, 30.0), epochs / 12.0)
                    limit = min(2 * limit, 400) if winning else int(trial)
                    if rest:
                        state.accelerate(free, limit)
                        winning, spent = True, 0.0
                    else:
                        state.extrapolate()
                        stable = more > PATIENCE and changes < STABLE * len(done) * free.size
                        winning = stable and state.compare(free, min(limit, 200))
                        spent = 0.6 * (state.products - products) * free.size  # then sweeps for as long
                else:
                    state.remember()
                state.check()
                claim = "converged" if state.gap <= ROUNDING * state.scale else ""
            info = {"epochs": epochs, "visits": state.visits, "products": state.products, "active": state.active,
                    "estimate": state.estimate / state.scale, "remaining": more}  # fmt: skip
            w = None if program.equality else state.w if state.length == 1.0 else state.length * state.w
            yield Iterate(state.alpha, w, claim=claim, info=info, look=state.length != 1.0)


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


class Descent:
    """alpha, w(alpha), b, the rows at work (at_work[:active]) and the two measures of what is left.

    estimate: the gap of the rows at work with the margins met on the way, so of many slightly different w.
    gap: the gap of all rows at the last check. visited: rows swept since.
    path: how far w has come from check to check; m_i, seen_i: the margin of row i and the path when it was last read.
    """

    def __init__(self, program: BoxDual, seed: int) -> None:
        n = program.n
        self.program, self.alpha, self.w, self.b = program, np.zeros(n), np.zeros(program.d), 0.0
        self.q = np.full(n, -1.0)  # ||x_i||^2, not yet known
        self.at_work, self.active, self.high, self.low = np.arange(n, dtype=np.int32), n, np.inf, -np.inf
        self.rows, self.place, self.where = program.rows, self.at_work.copy(), np.full(n, -1, dtype=np.int32)
        self.copy, self.copied, self.room, self.face_room = program.rows, n, Room(), Room()
        entries = program.nnz
        self.run = int(min(max(1000 * n // max(entries, 1), 1), RUN))
        self.bits = np.random.default_rng(seed).integers(1, 2**63, size=1, dtype=np.uint64)
        self.last, self.products, self.epochs = (np.zeros(n), np.zeros(program.d)), 0, 0
        self.m, self.seen, self.read = np.zeros(n), np.full(n, -np.inf), n
        self.path, self.surveyed = 0.0, np.zeros(program.d)
        self.estimate, self.gap, self.scale, self.rho = np.inf, np.inf, 1.0, 0.0
        self.unbalanced, self.visited, self.visits, self.length = np.inf, 0, 0, 1.0
        self.plain = not program.equality and not program.curvature.any() and bool(np.isfinite(program.upper).all())
        if program.equality:
            self.q = squared_norms(program.rows, n)
            self.typical = max(float(np.median(self.q)), 1e-300)
            C = float(np.minimum(program.upper, 1.0).mean())
            self.rho = min(max(0.01 / C, 0.01), 1.0) * self.typical

    def free(self) -> Array:
        """The rows strictly inside the box."""
        return np.flatnonzero((self.alpha > 0.0) & (self.alpha < self.program.upper))

    def sweep(self, most: int = EPOCHS) -> tuple[list[float], int]:
        """One epoch, or up to `most` while these visit few rows; the estimate after each, and how many rows changed.

        Few: half of all, or, late and with few rows at work, 10,000, which take about a millisecond.
        """
        P, estimates = self.program, np.empty(most)
        budget = max(P.n // 2, min(self.active * (self.epochs // 6), 10_000))
        count, visited, changes, self.active, self.high, self.low, self.b = sweeps(
            self.rows, P.y, P.upper, P.curvature, self.q, self.alpha, self.w, self.b, self.rho, self.at_work,
            self.place, self.active, self.run, self.high, self.low, self.bits, budget, 0.1 * self.gap, estimates
        )  # fmt: skip
        self.visited, self.visits, self.estimate = self.visited + visited, self.visits + visited, estimates[count - 1]
        self.epochs, self.length = self.epochs + count, 1.0
        if self.gap == np.inf:
            self.measure()
        return estimates[:count].tolist(), changes

    def measure(self) -> None:
        """scale: D, or 1 where that is larger, as of the last check."""
        self.scale = max(1.0, float(self.alpha.sum()) - 0.5 * float(self.w @ self.w))

    def check(self) -> None:
        P, balance = self.program, 0.0
        self.measure()
        if self.gap <= 1e-6 * self.scale:  # many additions drift: near the end w is made afresh
            self.w[:] = 0.0
            combine(P.rows, P.y, self.alpha, self.w)
        if P.equality:
            balance = float(self.alpha @ P.y)
        self.surveyed -= self.w
        self.path += np.inf if P.equality else float(np.linalg.norm(self.surveyed))  # with a free b every row is read
        self.surveyed[:], read = self.w, np.empty(P.n, dtype=np.int32)
        self.active, self.gap, self.read, shortest, longest = survey(
            P.rows, P.y, P.upper, P.curvature, self.q, self.alpha, self.w, self.b, self.path, self.seen, self.m,
            self.high, self.low, self.at_work, read
        )  # fmt: skip
        if self.plain:
            known = read[: self.read]
            self.length = best_length(self.m, known, self.alpha, P.upper, float(self.w @ self.w), shortest, longest)
        worth = (1.0 + abs(self.b)) * abs(balance)  # what is unbalanced is worth a margin each, and b
        self.gap += worth
        early = self.estimate > 0.1 * self.scale and worth < 0.02 * self.estimate
        if balance != 0.0 and not early:
            if abs(balance) > 0.5 * self.unbalanced:
                self.rho = min(2.0 * self.rho, self.typical)
            self.unbalanced = abs(balance)
            self.b += self.rho * balance
            self.active, self.high, self.low = P.n, np.inf, -np.inf  # b has moved: no row is known to be at rest
            self.at_work[:] = np.arange(P.n)
        self.gather()

    def gather(self) -> None:
        """Few rows at work are copied to lie side by side, unless half of an earlier copy or more is what they are."""
        P, index = self.program, self.at_work[: self.active]
        if self.active >= COPIED * P.n:
            self.rows, self.place[: self.active] = P.rows, index
            return
        if self.active < COPIED * self.copied or not (self.where[index] >= 0).all():
            self.copy, self.copied, self.where[:] = take(P.rows, index, self.room), self.active, -1
            self.where[index] = np.arange(self.active)
        self.rows, self.place[: self.active] = self.copy, self.where[index]

    def value(self) -> float:
        """What the sweep increases: D, less the two terms of the augmented Lagrangian in sum a_i y_i."""
        alpha, balance = self.alpha, float(self.alpha @ self.program.y) if self.rho > 0.0 else 0.0
        D = float(alpha.sum()) - 0.5 * float(self.w @ self.w) - 0.5 * float(self.program.curvature @ alpha**2)
        return D - (self.b - 0.5 * self.rho * balance) * balance

    def extrapolate(self) -> None:
        """alpha += t (alpha - alpha at the last call), clipped to the box, t from the exact line search.

        Two rows alike with opposite labels push each other to the bound by 2 / ||x_i||^2 an epoch: with raw counts and
        C ||x_i||^2 = 1e5 a sweep alone would take as many epochs. Along that step the curvature is zero, so one t
        covers the way. w - w(last) is its image: only rows that were clipped are read.
        """
        P, alpha, w, b = self.program, self.alpha.copy(), self.w.copy(), self.b
        step, dw = alpha - self.last[0], w - self.last[1]
        self.last = alpha, w
        balance = float(step @ P.y)
        curve = float(dw @ dw) + self.rho * balance**2 + float(P.curvature @ step**2)
        slope = float(step.sum() - w @ dw - P.curvature @ (step * alpha)) - b * balance
        worth = 1e-3 * self.estimate + 1e-13 * self.scale  # less would be rounding, and disturb what has settled
        if not slope > 0.0 or slope**2 <= 2.0 * curve * worth:
            return
        t, before, moved = min(slope / curve, 1e6) if curve > 0.0 else 1e6, self.value(), np.flatnonzero(step)
        for _ in range(6):
            path = alpha[moved] + t * step[moved]
            inside = np.clip(path, 0.0, P.upper[moved])
            clipped = np.flatnonzero(inside != path)
            if clipped.size < 0.1 * self.active:  # else the path is one of rows on their way to a bound: too long
                self.alpha[moved], self.w[:], rows = inside, w + t * dw, moved[clipped]
                excess = combine(take(P.rows, rows, self.face_room), P.y[rows], inside[clipped] - path[clipped], self.w)
                self.b = b + self.rho * (t * balance + excess)
                if self.value() > before + worth:
                    return
            t *= 0.3
        self.alpha[:], self.w[:], self.b = alpha, w, b

    def remember(self) -> None:
        self.last[0][:], self.last[1][:] = self.alpha, self.w

    def compare(self, free: Array, limit: int) -> bool:
        """One sweep, then conjugate gradients on the free face: did these gain more per row visited?"""
        start, rows = self.value(), self.active
        self.sweep(most=1)
        middle = self.value()
        products = self.accelerate(free, limit)
        return (self.value() - middle) / (2 * (products + 2) * free.size) > (middle - start) / rows

    def accelerate(self, free: Array, limit: int) -> int:
        """A step of conjugate gradients on the face of the free rows, kept inside the box; returns the products."""
        P = self.program
        rows, y, alpha = take(P.rows, free, self.face_room), P.y[free], self.alpha[free]
        diagonal = self.q[free] + P.curvature[free] + self.rho
        face = Face(rows, y, P.upper[free], P.curvature[free], np.where(diagonal > 0.0, diagonal, 1.0), self.rho)
        g = np.empty(free.size)
        margins(rows, y, self.w, self.b, g)
        g += face.curvature * alpha - 1.0
        step, products = minimise_on_face(face, alpha, g, P.d, limit)
        self.alpha[free], pulled, balance = projected_search(face, alpha, g, step, P.d)
        self.w += pulled
        self.b += self.rho * balance
        self.products, self.visits = self.products + products, self.visits + products * free.size
        self.remember()  # extrapolation is for what sweeps did
        return products
