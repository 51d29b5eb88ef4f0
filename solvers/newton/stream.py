"""The state of Newton's method on rows that are read block by block, and how it moves (`streaming.py`)."""

from collections.abc import Iterator

import numpy as np
from numba import njit

from marginbench.harness.model.problem import Array
from marginbench.harness.rowops import CSR, FAST, Dense, Gathered, Team, bytes_of
from marginbench.solvers.newton.augmented import SMALLEST_H, WIDTH, count_near, settle_some, tighten
from marginbench.solvers.newton.block_source import Form, Looked, Share, Source, chosen, looked_at, newton_sums
from marginbench.solvers.newton.passes import press, pull_along
from marginbench.solvers.newton.smoothing import LONGEST, Block, State, next_length
from marginbench.solvers.newton.starts import SHRINK, start_on_samples
from marginbench.solvers.newton.systems import along_b, factor, substitute

FIRST_H = 0.1
"""Width of the first Newton steps on all rows, unless more rows than fit are then near the margin."""
FULL = 0.8
"""Share of the room for the working set that a first h may fill."""
SHORT, LONG = 0.3, -0.7
"""A full step is taken if the derivative at its end, over that at its start, is between these."""
STATE = 100
"""Bytes that Newton's method needs for a row of its working set beside the row."""
FULL_STEPS = 30
"""Newton steps on all rows for one h."""


class Seen:
    """What a read at theta has found: gap and scale, the rows near the margin, pull with the others at their bounds."""

    def __init__(self, like: Dense | CSR, most: int, pull: Array, width: float) -> None:
        self.near, self.pull, self.width, self.loss, self.terms = Gathered(like, most), pull.copy(), width, 0.0, 0.0
        self._index: list[Array] = []

    @property
    def index(self) -> Array:
        return np.concatenate(self._index)

    @property
    def count(self) -> int:
        return sum(part.size for part in self._index)

    def add(self, rows: slice, found: Looked) -> None:
        self.loss, self.terms = self.loss + found.loss, self.terms + found.terms
        self.pull += found.pull
        self._index.append(found.near + rows.start)
        self.near.add(found.rows)


class Stream:
    """The state of the method: theta, alpha, m and pull as of `smoothing.State`, of all rows; and how they move."""

    def __init__(self, whole: Share, form: Form, source: Source, team: Team, most: int, seed: int) -> None:
        self.whole, self.form, self.source, self.team, self.seed = whole, form, source, team, seed
        self.n, self.reads, self.working, self.h = whole.y.size, 0, 0, FIRST_H
        self.theta, self.pull = np.zeros(form.size), np.zeros(form.size)
        self.alpha, self.m = np.zeros(self.n), np.zeros(self.n)
        total = bytes_of(whole.rows)
        rows = most * self.n // (total + STATE * self.n)
        self.room = min(self.n, max(rows, 4 * form.size))  # fewer than 2 d rows need not bind w
        self.most = min(total, int(1.5 * self.room * total / self.n))  # sparse rows differ in length

    # -- the start -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """theta, alpha, pull and h: of a sample, and where that is not all rows, of Newton steps on all of them."""
        part = self._sample()
        state = start_on_samples(part, self.seed)
        self.theta = state.theta
        if part.n == self.n:
            self.alpha, self.m, self.pull, self.h = state.alpha, state.m, state.pull, state.h
            return
        distance = np.sort(np.abs(1.0 - state.m))
        fitting = distance[min(part.n - 1, int(FULL * part.n * self.room / self.n))] / WIDTH
        self.h = float(np.clip(fitting, SMALLEST_H, FIRST_H))
        h = FIRST_H
        while True:
            state = part.state(self.theta, np.zeros(part.n), h)
            part.minimise(state, tolerance=0.1, limit=100)
            self.theta = state.theta
            if h <= self.h:
                break
            h = max(self.h, SHRINK * h)
        del part, state
        self.minimise(self.h, 0.1, FULL_STEPS)
        self.h *= SHRINK

    def _sample(self) -> Block:
        """Half of each class or more as far as they fit, u scaled up to make up for those that do not."""
        upper, v, y = self.whole.upper, self.whole.v, np.array(self.whole.y)
        index, scale = np.arange(self.n), np.ones(self.n)
        if self.room < self.n:
            rng, kept, scales = np.random.default_rng(self.seed), [], []
            for sign in (1.0, -1.0):
                rows = np.flatnonzero(y == sign)
                count = min(rows.size, max(1, self.room // 2))
                kept.append(rng.choice(rows, count, replace=False) if count < rows.size else rows)
                scales.append(np.full(count, rows.size / max(1, count)))
            index, scale = np.concatenate(kept), np.concatenate(scales)
            order = np.argsort(index)
            index, scale = index[order], scale[order]
        gathered = Gathered(self.whole.rows, bytes_of(self.whole.rows, index))
        self.reads += 1
        for _, rows in self.source.each(chosen, lambda start, end: (_between(index, start, end) - start,)):
            gathered.add(rows)
        return Share(gathered.taken(), y[index], scale * upper[index], scale * v[index]).block(self.form, self.team)

    # -- Newton steps on all rows ----------------------------------------------------------------------------------

    def minimise(self, h: float, tolerance: float, limit: int) -> bool:
        """One proximal step on all rows: theta and m <- those of ||g|| <= tolerance ||w||, alpha <- p, pull with it.

        A read for each Newton step, and one more where a step is not taken in full. False if `limit` were not enough.
        """
        form, base, solved, step, slope = self.form, self.pull, False, np.zeros(self.form.size), 0.0
        theta, m, new, full = self.theta, self.m, np.empty(self.n), False
        for taken in range(limit + 1):
            pull, G, free = self._sums(theta, base, h, new)
            g = theta - pull
            g[form.d :] -= theta[form.d :]
            if full and not LONG * -slope <= float(g @ step) <= SHORT * -slope:
                new -= m
                length = self._search(m, new, h, slope, step)
                if not 0.0 < length < np.inf:
                    break  # as near as rounding allows, or without end: as it was
                theta, full = self.theta + length * step, False
                continue
            self.theta, self.pull, m, new = theta, pull, new, m
            solved = float(np.linalg.norm(g)) <= tolerance * float(np.linalg.norm(theta[: form.d]))
            step = -_solved(G, g, h + form.kappa, form, free, self.whole.v)
            slope, theta, full = float(g @ step), theta + step, True
            if solved or taken == limit or not slope < 0.0:
                break
        self.m = m
        press(self.alpha, self.whole.upper, self.whole.v, m, h, form.kappa)
        return solved

    def _sums(self, theta: Array, base: Array, h: float, m: Array) -> tuple[Array, Array, int]:
        """pull, G and |F| at theta; its margins are written to m. base: pull of alpha."""
        pull, G, free = base.copy(), np.zeros((self.form.size, self.form.size)), 0
        self.reads += 1
        for rows, sums in self.source.each(newton_sums, lambda start, end: (theta, self.alpha[start:end], h)):
            m[rows], free = sums.m, free + sums.free
            pull += sums.pull
            G += sums.G
        return pull, G, free

    def _search(self, m: Array, dm: Array, h: float, slope: float, step: Array) -> float:
        curve = float(step[: self.form.d] @ step[: self.form.d])
        about = self.alpha, self.whole.upper, self.whole.v
        return search(m, dm, *about, h, self.form.kappa, slope, curve)

    # -- rounds on the rows near the margin ------------------------------------------------------------------------

    def rounds(self) -> Iterator[tuple[float, float]]:
        """(gap, scale) of each round that is not undone."""
        least, widen, undo = np.inf, 1.0, None
        while True:
            seen: Seen | None = self._look(widen * WIDTH * self.h)
            assert seen is not None
            gap, scale = self._gap(seen)
            if undo is not None and gap > 3.0 * least and gap > 1e-7 * scale and widen < 1e6:
                self._undo(*undo)  # rows left out have crossed the margin: back, with more rows
                undo, widen, seen = None, 10.0 * widen, None
                continue
            if undo is not None or least == np.inf:
                least, widen = gap, max(1.0, widen / 3.0)
                yield gap, scale
            if seen.near.overfull or seen.count > self.room < self.n:
                undo, seen = None, None
                self.minimise(self.h, min(0.03, 0.3 * self.h), FULL_STEPS)
                self.h, least = max(SHRINK * self.h, SMALLEST_H), np.inf
                continue
            undo, settled = self._refine(seen, widen)
            seen = None  # its rows would be there twice in the next read
            if not settled:
                self._undo(*undo)
                undo, widen = None, 10.0 * widen

    def _look(self, width: float) -> Seen:
        """A read at theta, wide enough for 2 d rows, by the margins of the read before; where it was not, once more."""
        enough = min(self.n, 2 * self.form.size)
        seen = self._read(self._wide_enough(width, enough))
        return seen if seen.count >= enough else self._read(self._wide_enough(width, enough))

    def _wide_enough(self, width: float, enough: int) -> float:
        if count_near(self.m, width, 0, self.n) >= enough:
            return width
        return float(np.partition(np.abs(1.0 - self.m), enough - 1)[enough - 1])

    def _read(self, width: float) -> Seen:
        """All margins, and the rows within `width` of 1."""
        seen = Seen(self.whole.rows, self.most, self.pull, width)
        self.reads += 1
        done = self.source.each(looked_at, lambda start, end: (self.theta, self.alpha[start:end], width, self.room))
        for rows, found in done:
            self.m[rows] = found.m
            seen.add(rows, found)
        return seen

    def _gap(self, seen: Seen) -> tuple[float, float]:
        """P - D as a sum of terms >= 0, and P, which it is compared with."""
        d = self.form.d
        w, pull = self.theta[:d], self.pull[:d]
        gap = seen.terms + 0.5 * float((w - pull) @ (w - pull))
        if self.form.bias:
            gap += abs(float(self.theta[-1] * self.pull[-1]))
        return gap, (0.5 * float(w @ w) + seen.loss) or 1.0

    def _refine(self, seen: Seen, widen: float) -> tuple[tuple, bool]:
        """Rows far from the margin to their bounds, proximal steps on the others; what undoes these, and whether they
        settled."""
        self._settle(seen.width)
        index = seen.index
        self.working, self.pull = index.size, seen.pull
        before = index, self.alpha[index], self.theta.copy(), self.pull.copy(), self.h
        upper, v = self.whole.upper[index], self.whole.v[index]
        part = Share(seen.near.taken(), self.whole.y[index], upper, v).block(self.form, self.team)
        small = State(self.theta, self.alpha[index], self.m[index], self.pull, self.h)
        settled = None not in tighten(part, small, widen, self.n)
        self.alpha[index], self.theta, self.pull, self.h = small.alpha, small.theta, small.pull, small.h
        return before, settled

    def _settle(self, width: float) -> None:
        """The change that the read at theta has summed up, in alpha."""
        size = 2**20
        index, change = np.empty(size, np.int64), np.empty(size)
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n))
            arrays = self.m[rows], self.alpha[rows], self.whole.upper[rows]
            settle_some(*arrays, width, self.form.top, index, change, 0, rows.stop - start)

    def _undo(self, index: Array, alpha: Array, theta: Array, pull: Array, h: float) -> None:
        self.alpha[index], self.theta, self.pull, self.h = alpha, theta, pull, h


def _between(index: Array, start: int, end: int) -> Array:
    """Of increasing numbers those from `start` to before `end`."""
    return index[slice(*np.searchsorted(index, [start, end]))]


def _solved(G: Array, g: Array, s: float, form: Form, free: int, v: Array) -> Array:
    """H^-1 g, H = diag(1, ..., 1, 0) + G / s."""
    if free == 0:
        return along_b(v, form.bias, g, s)
    x = g.copy()
    substitute(factor(G / s + np.diag(np.arange(form.size) < form.d).astype(float)), x)
    return x


@njit(cache=True, fastmath=FAST)
def search(m, dm, alpha, upper, v, h, kappa, slope, curve):
    """The length of a step along which margins change by dm, from those at its start: as of `line_search`."""
    s, low, high = 1.0, 0.0, np.inf
    rest = slope + pull_along(alpha, upper, v, m, dm, 0.0, h, kappa, 0, m.size)[0]
    for _ in range(60):
        pulled, second = pull_along(alpha, upper, v, m, dm, s, h, kappa, 0, m.size)
        derivative, second = rest + s * curve - pulled, curve + second
        if abs(derivative) <= -0.2 * slope:
            return s
        s, low, high = next_length(s, low, high, derivative, second)
        if s > LONGEST:
            return np.inf
    return s
