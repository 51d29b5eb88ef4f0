"""The state of coordinate descent (`solver.py`) and its moves: sweeps, checks, extrapolation, steps on a face."""

from math import sqrt

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Start
from marginbench.harness.rowops import ALONE, Room, Team, best_length, combine, margins, pass_cost, squared_norms, take
from marginbench.solvers.coordinate_descent.faces import Face, minimise_on_face, projected_search
from marginbench.solvers.coordinate_descent.sweeps import length_at_bound, survey, sweeps

SHORT_RUN, RUN, LONG_RUN = 4, 16, 64
"""Rows in a run, at most: of up to 4,000 rows (n / 1000 between), of 16,000 and more, and of data that no cache holds.
With few runs their order is not random enough. Runs of 4 take 0.90, 0.92 and 0.94 of the time of runs of 16 to 1e-3,
1e-6 and 1e-9 on 22 problems of the family with up to 4,000 rows, and 1.28, 1.17 and 1.17 on 22 with 10,000 and more.
Text of 300,000 and 1,000,000 rows takes 0.84 and 0.8 to 0.95 of the time with runs of 64, one-hot rows (500,000) 0.7 to
0.85, dense ones as long. Smaller data would need more epochs (mushrooms: twice as many)."""
BEYOND_CACHE = 4_000_000
"""Entries of data that no cache holds: 48 MB of CSR."""
EPOCHS = 10
"""From one iterate to the next, at most; more than one while they visit few rows."""
COPIED = 0.5
"""Share of the rows below which those at work are copied to lie side by side."""
SHORT = 300e3
"""Nanoseconds that a call of the sweeps may take whatever it visits. What is around it in Python costs 50e3 or so, and
250e3 where another process looks at each iterate and leaves the cache cold: on 19 problems of small data, to 1e-3 and
to 1e-6, in such processes, 0.92 and 0.95 of the time that 100e3 takes (a1a at C = 0.01: 0.76, at worst 1.03)."""
SAMPLE, SHORTER = 200, 0.5
"""Rows that tell whether to begin with alpha = u, and ||w(u)||^2 / sum_i u_i below which that is done."""
WORTH_A_PATH = 10.0
"""Epochs still needed beyond which a check notes where it was, for an extrapolation from there."""


class Descent:
    """alpha, w = w(alpha), b, the rows at work, and what is known of the gap.

    at_work[:active]: the rows at work. high, low: gradients beyond which a row at a bound comes to rest.
    rows, place: the data, or a copy of some rows, and where each row at work lies in it.
    estimate: the gap of the rows at work with the margins met on the way, so of many slightly different w.
    gap: that of all rows at the last check. scale: what both are compared with. visited: rows swept since the check.
    way: how far w has come from check to check. m_i, seen_i: the margin of row i and the way when it was last read.
    length: the multiple of w that is best for P.
    rest: a gradient beyond which a check lets a row rest at a bound, whatever `high` and `low` are; 0 after a start at
    the bound, where most rows rest from the beginning: a few long rows with large violations would wake them all.
    """

    def __init__(self, program: BoxDual, seed: int, team: Team = ALONE) -> None:
        n, self.team = program.n, team  # a new page costs some 3 us: arrays of n are made when they are needed
        self.program, self.alpha, self.w, self.b = program, np.zeros(n), np.zeros(program.d), 0.0
        self.q = np.full(n, -1.0)  # ||x_i||^2, not yet known
        self.at_work, self.active, self.high, self.low = np.arange(n, dtype=np.int32), n, np.inf, -np.inf
        self.rest = np.inf
        self.rows, self.place, self.where = program.rows, self.at_work, np.empty(0, dtype=np.int32)
        self.copy, self.copied, self.room, self.face_room = program.rows, n, Room(), Room()
        longest = LONG_RUN if program.nnz > BEYOND_CACHE else min(max(n // 1000, SHORT_RUN), RUN)
        self.run = int(min(max(1000 * max(longest // RUN, 1) * n // max(program.nnz, 1), 1), longest))
        self.short = int(SHORT * n / (2.0 * program.nnz + 15.0 * n))
        self.bits = np.array([mixed(seed)], dtype=np.uint64)
        self.last: tuple[Array, Array] | None = None
        self.products, self.epochs = 0, 0
        self.m, self.seen, self.met, self.read = np.empty(0), np.empty(0), np.empty(0, dtype=np.int32), n
        self.way, self.w_at_check = 0.0, np.zeros(program.d)
        self.estimate, self.gap, self.scale, self.rho = np.inf, np.inf, 1.0, 0.0
        self.unbalanced, self.visited, self.visits, self.length = np.inf, 0, 0, 1.0
        self.scalable = is_hinge(program)
        if program.equality:
            self.q = squared_norms(program.rows, n)
            self.typical = max(float(np.median(self.q)), 1e-300)
            C = float(np.minimum(program.upper, 1.0).mean())
            self.rho = min(max(0.01 / C, 0.01), 1.0) * self.typical

    def begin(self, start: Start) -> None:
        """From the alpha of a start, and its b."""
        P, self.alpha[:] = self.program, start.alpha
        self.team.combine(P.rows, P.y, self.alpha, self.w)
        self.b = start.b if P.equality else 0.0

    def begin_at_bound(self, w: Array) -> None:
        """alpha = u and w = w(u); at work are the rows whose margin is 1 or more."""
        self.alpha[:], self.w, self.rest = self.program.upper, w, 0.0
        self.check()

    def free(self) -> Array:
        """The rows strictly inside the box."""
        return np.flatnonzero((self.alpha > 0.0) & (self.alpha < self.program.upper))

    def sweep(self, most: int = EPOCHS) -> tuple[list[float], int]:
        """One epoch, or up to `most` while these visit few rows; the estimate after each, and how many rows changed.

        Few: half of all, as many as take `SHORT`, or, late and with few rows at work, 10,000, which take about a
        millisecond.
        """
        P, estimates = self.program, np.empty(most)
        budget = max(P.n // 2, self.short, min(self.active * (self.epochs // 6), 10_000))
        count, visited, changes, self.active, self.high, self.low, self.b = sweeps(
            self.rows, P.y, P.upper, P.curvature, self.q, self.alpha, self.w, self.b, self.rho, self.at_work,
            self.place, self.active, self.run, self.high, self.low, self.bits, budget, 0.1 * self.gap, estimates
        )  # fmt: skip
        self.visited, self.visits, self.estimate = self.visited + visited, self.visits + visited, estimates[count - 1]
        self.epochs, self.length = self.epochs + count, 1.0
        if self.gap == np.inf:
            self.set_scale()
        return estimates[:count].tolist(), changes

    def set_scale(self) -> None:
        """D, or 1 where that is larger."""
        self.scale = max(1.0, float(self.alpha.sum()) - 0.5 * float(self.w @ self.w))

    def check(self) -> None:
        """The gap, the rows at work, the best length of w, and with a free bias the step of its multiplier."""
        P, balance = self.program, 0.0
        self.set_scale()
        if self.gap <= 1e-6 * self.scale:  # w drifts by many additions: near the end it is computed from alpha
            self.w[:] = 0.0
            self.team.combine(P.rows, P.y, self.alpha, self.w)
        if P.equality:
            balance = float(self.alpha @ P.y)
        self.w_at_check -= self.w
        self.way += np.inf if P.equality else sqrt(self.w_at_check @ self.w_at_check)  # with a free b every row is read
        self.w_at_check[:] = self.w
        known, pulled, shortest, longest = self.survey()
        if self.scalable:  # rows that were not read are at 0 or u_i, and sum_i a_i m_i = ||w||^2
            norm2 = float(self.w @ self.w)
            self.length = best_length(self.m, known, P.upper, norm2, norm2 - pulled, shortest, longest)
        worth = (1.0 + abs(self.b)) * abs(balance)  # what is unbalanced is worth a margin each, and b
        self.gap += worth
        far_from_done = self.estimate > 0.1 * self.scale and worth < 0.02 * self.estimate
        if balance != 0.0 and not far_from_done:
            if abs(balance) > 0.5 * self.unbalanced:
                self.rho = min(2.0 * self.rho, self.typical)
            self.unbalanced = abs(balance)
            self.b += self.rho * balance
            self.active, self.high, self.low = P.n, np.inf, -np.inf  # b has moved: no row is known to be at rest
            self.at_work[:] = np.arange(P.n)
        self.copy_rows_at_work()

    def survey(self) -> tuple[Array, float, float, float]:
        """The rows at work and the gap; the rows read, their sum_i a_i m_i, and the bounds on the length of w (`survey`
        in `sweeps.py`)."""
        P = self.program
        if not self.m.size:
            self.m, self.seen, self.met = np.empty(P.n), np.full(P.n, -np.inf), np.empty(P.n, dtype=np.int32)
        about = (
            P.rows, P.y, P.upper, P.curvature, self.q, self.alpha, self.w, self.b, self.way, self.seen, self.m,
            min(self.high, self.rest), max(self.low, -self.rest), self.at_work, self.met
        )  # fmt: skip
        parts = self.team.parts(pass_cost(P.rows))
        found = self.team.over(P.n, parts, lambda start, end: survey(*about, start, end))
        listed, known, gaps, pulled, shortest, longest = zip(*found, strict=True)
        if parts > 1:
            together = np.concatenate(listed)
            self.at_work[: together.size] = together
        self.active, self.gap, self.read = sum(map(len, listed)), sum(gaps), sum(map(len, known))
        return known[0] if parts == 1 else np.concatenate(known), sum(pulled), max(shortest), min(longest)

    def copy_rows_at_work(self) -> None:
        """Few rows at work are copied to lie side by side. A copy is used again while they are half of it or more."""
        P, index = self.program, self.at_work[: self.active]
        if self.active >= COPIED * P.n:
            self.rows, self.place = P.rows, self.at_work
            return
        if not self.where.size:
            self.where = np.full(P.n, -1, dtype=np.int32)
        if self.active < COPIED * self.copied or not (self.where[index] >= 0).all():
            self.copy, self.copied, self.where[:] = take(P.rows, index, self.room), self.active, -1
            self.where[index] = np.arange(self.active)
        self.rows, self.place = self.copy, self.where[index]

    def value(self) -> float:
        """What the sweep increases: D, less the two terms of the augmented Lagrangian in sum a_i y_i."""
        alpha, balance = self.alpha, float(self.alpha @ self.program.y) if self.rho > 0.0 else 0.0
        D = float(alpha.sum()) - 0.5 * float(self.w @ self.w) - 0.5 * float((self.program.curvature * alpha) @ alpha)
        return D - (self.b - 0.5 * self.rho * balance) * balance

    def extrapolate(self) -> None:
        """alpha += t (alpha - alpha at the last call), clipped to the box, t from the exact line search.

        Two rows alike with opposite labels push each other to the bound by 2 / ||x_i||^2 an epoch: with raw counts and
        C ||x_i||^2 = 1e5 a sweep alone would take as many epochs. Along that step the curvature is zero, so one t
        covers the way. w - w(last) is its image: only rows that were clipped are read.
        """
        P, alpha, w, b = self.program, self.alpha.copy(), self.w.copy(), self.b
        last, self.last = self.last, (alpha, w)
        if last is None:
            return
        step, dw = alpha - last[0], w - last[1]
        balance = float(step @ P.y)
        curve = float(dw @ dw) + self.rho * balance * balance + float((P.curvature * step) @ step)
        slope = float(step.sum() - w @ dw - (P.curvature * step) @ alpha) - b * balance
        worth = float(1e-3 * self.estimate + 1e-13 * self.scale)  # less is rounding, and disturbs what has settled
        if not slope > 0.0 or slope * slope <= 2.0 * curve * worth:
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
        """Where the next extrapolation starts from."""
        if self.last is None:
            self.last = self.alpha.copy(), self.w.copy()
        else:
            self.last[0][:], self.last[1][:] = self.alpha, self.w

    def face_beats_sweep(self, free: Array, limit: int) -> bool:
        """One sweep, then a step on the face of the free rows: did the step gain more per row visited?"""
        start, rows = self.value(), self.active
        self.sweep(most=1)
        middle = self.value()
        products = self.step_on_face(free, limit)
        return (self.value() - middle) / (2 * (products + 2) * free.size) > (middle - start) / rows

    def step_on_face(self, free: Array, limit: int) -> int:
        """Conjugate gradients on the face of the free rows, kept inside the box; returns the products with K."""
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


def is_hinge(program: BoxDual) -> bool:
    """Whether P(t w) is that of the soft margin without a free bias."""
    return not program.equality and float(program.upper.max()) < np.inf and not program.curvature.any()


def at_bound(program: BoxDual) -> Array | None:
    """w(u), if it is so short that most rows will end with alpha_i = u_i: that is where to begin. One pass."""
    w = np.zeros(program.d)
    if not is_hinge(program):
        return None
    if not length_at_bound(program.rows, program.y, program.upper, w, min(program.n, SAMPLE)) < SHORTER:
        return None
    with Team(program.threads) as team:
        team.combine(program.rows, program.y, program.upper, w)
    return w


def mixed(seed: int) -> int:
    """The first state of the random order, not 0: SplitMix64 of the seed, sooner made than a generator of numpy."""
    mask, x = 2**64 - 1, (seed + 0x9E3779B97F4A7C15) & (2**64 - 1)
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return (x ^ (x >> 31)) or 1
