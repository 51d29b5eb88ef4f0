"""Newton's method on the augmented Lagrangian of BoxDual: the smoothed hinge, shifted so that smoothing leaves no bias.

Program    min 1/2 ||w||^2 + sum_i l_i(1 - m_i),   m_i = y_i (w.x_i + b),
           l_i(z) = max { a z - c_i a^2 / 2 : 0 <= a <= u_i }
Update     keep multipliers alpha; smooth every l_i around alpha_i with width h; minimise by Newton's method
           (`smoothing.py`); set alpha to the slopes of the smoothed losses, which are feasible for the box;
           h <- 0.35 h.
           The shift makes each h exact in the limit. A handful of steps finds the active set, and then one lands on the
           solution to rounding.
Reference  the proximal point method in alpha: Rockafellar 1976; with semismooth Newton inside: Li, Sun and Toh 2018.
Done       when the gap is at the level of rounding, or has not halved in many rounds.

Departures, each with the case that needs it:
- Working sets. Rows far from the margin (|1 - m_i| > 4 h) sit at 0 or u_i: they stay out, and only their sum takes
  part. One pass over all rows after each round gives every margin and the gap. If that grew, rows had crossed the
  margin: the round is undone, and the next has more rows.
- Large systems. Beyond `direct` rows and columns, or where a factorisation costs more (`direct_by_cost`; one-hot
  20000 x 2500), they are solved by conjugate gradients, and the proximal steps are made to suit these (`all_rows.py`):
  all rows, h from where the first system is well conditioned, and slowly down. Once the active set is right, one
  system in alpha gives the answer.
- Samples of the rows, the first with 10 d of each class, with u scaled up, give a first w for a fraction of a pass.
- Few rows. Where n is less than half of d (leukemia), X is replaced by a factor of X X'.
- A huge C on separable data (leukemia at C = 1e6). A margin that rounding leaves at 1 - 1e-15 costs C times that, far
  more than 1e-9 of P: the point proposed is (w, b) made longer by what rounding may take (`rounding.py`).
- A kernel. L with L L' = K stands for X, as with few rows; a last system makes up for w that is not given
  (`multipliers.py`).
- Hard margin (upper = inf without curvature): the same method with v_i a constant; alpha is then never capped. If the
  data are not separable, alpha grows without bound along mu with sum_i mu_i y_i (x_i, 1) = 0.

Row and column scales matter little: the method is Newton's, and starts from ridge regression (h = 2). Raw counts,
C = 1e6 and columns scaled over 1e8 need the same few steps.
"""

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.needs import Need, numbers_need, system_need
from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Compiled, Iterate, Start
from marginbench.harness.rowops import CSR, Dense, Team, combine, pass_cost
from marginbench.solvers.newton.all_rows import SMALLEST_H, Rounds, rounds_on_all_rows, widest
from marginbench.solvers.newton.gram import add_triangle, products
from marginbench.solvers.newton.landing import landed
from marginbench.solvers.newton.multipliers import on_multipliers
from marginbench.solvers.newton.passes import LEAVE, attend
from marginbench.solvers.newton.rounding import FELT, judged, on_own_rows, rounding_cost, stretched
from marginbench.solvers.newton.smoothing import Block, State, widths
from marginbench.solvers.newton.starts import SHRINK, begun, lengthened, start_on_samples
from marginbench.solvers.newton.systems import DIRECT, check_direct, direct_by_cost, factor, reach_of, substitute_back

WIDTH = 4.0
"""Rows with |1 - m_i| <= WIDTH h take part."""
NUMBERS = 7
"""For each row, at the least: upper, curvature, alpha, m, dm, alpha of the round before and of the step before."""
ROUNDING = 1e-14
"""Relative gap at which nothing is left to gain."""
SMALL = 2e4
"""Nanoseconds of a pass up to which a proximal step is shorter than the handing over of an iterate, which is felt after
it (0.2 ms in a cell, caches that have gone cold): no iterate is proposed within a round there. Comparison at C = 1,
medians of 11 in one run: 0.87 to 0.96 of the time to 1e-6, 0.79 to 0.90 to 1e-9."""
UNKNOWN = np.inf
"""Scale of a gap that was not computed: that takes a pass over all rows."""


@dataclass(frozen=True)
class NewtonAugmented(Compiled):
    """seed: of the samples that the method starts on. direct: the largest dense system; None: as its cost says."""

    seed: int = 0
    direct: int | None = None

    accepts = (BoxDual, KernelDual)
    single = True
    warm_up_rows = 64

    def __post_init__(self) -> None:
        if self.direct is not None:
            check_direct(self.direct)

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, BoxDual | KernelDual)
        if isinstance(program, KernelDual):
            return system_need(program.n)
        system = system_need(program.d) if program.d <= self.largest(program) else None
        rows = rows_of_numbers(program)
        return rows if system is None or rows.bytes > system.bytes else system

    def largest(self, program: BoxDual) -> int:
        """The largest dense system."""
        if self.direct is not None:
            return self.direct
        return direct_by_cost(program.n, program.d, program.nnz, isinstance(program.rows, CSR), reach_of(program))

    def refuses(self, program: Program) -> str | None:
        if not isinstance(program, BoxDual | KernelDual) or not program.curvature.any():
            return None
        kappa = program.curvature * widths(program)
        if np.ptp(kappa) > 1e-12 * kappa.max(initial=0.0):
            return "newton_augmented needs curvature_i upper_i (or, with upper = inf, curvature_i) alike in all rows"
        return None

    def warm_up(self, program: Program) -> None:
        program = on_rows(program)
        block = Block.of(program.head(self.warm_up_rows))
        state = block.state(np.zeros(block.size), np.zeros(block.n), h=2.0)
        block.minimise(state, tolerance=0.0, limit=2)
        lengthened(block, state, np.inf, block.gap(state)[1])
        landed(block, state, target=np.inf)
        deque(refine(block, state, widen=1.0), maxlen=0)
        substitute_back(factor(products(block.rows, 1, block.d) + np.eye(1)), np.ones(1))
        add_triangle(np.ones((60, 250)), np.ones((60, 250)), np.zeros((60, 60)), np.empty(3600))  # BLAS
        block.work.command[0] = LEAVE
        attend(block.work, 0)
        super().warm_up(program)

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        if isinstance(program, KernelDual):
            small = on_rows(program)
            block = Block.of(small, direct=0)
            for iterate in self._dense().iterates(small, start and start_on_rows(small, start)):
                yield replace(on_multipliers(program, block, iterate) if iterate.claim else iterate, dual=None)
            return
        assert isinstance(program, BoxDual)
        if isinstance(program.rows, Dense) and 2 * program.n <= program.d:
            yield from self._few_rows(program, start)
            return
        with Team(program.threads) as team:
            yield from self._on(Block.of(program, self.largest(program), team), start)

    def _dense(self) -> "NewtonAugmented":
        """For rows that are a factor of products: these are ill conditioned, and conjugate gradients slow."""
        return replace(self, direct=DIRECT) if self.direct is None else self

    def _on(self, block: Block, start: Start | None) -> Iterator[Iterate]:
        large = min(block.n, block.d) > block.system.direct
        if start is not None:
            first = begun(block, start, large)
        elif large:
            first = block.state(np.zeros(block.size), np.zeros(block.n), h=widest(block))
        else:
            first = start_on_samples(block, self.seed)
        best, smallest, idle = first, np.inf, 0
        small = pass_cost(block.rows) <= SMALL
        for state, gap, scale in rounds_on_all_rows(block, first) if large else rounds_on_working_sets(block, first):
            if scale == UNKNOWN:
                if not small:
                    yield Iterate(state.alpha, state.theta, info={"h": state.h, "gap": np.inf})
                continue
            state, gap = stretched(block, state, gap, scale)
            idle = 0 if gap < 0.5 * smallest else idle + 1
            least = max(ROUNDING, min(FELT, rounding_cost(block, scale)))
            done = gap <= least * scale or idle >= (4 if state.h <= SMALLEST_H else 100 if large else 20)
            if gap < smallest:
                best, smallest = state, gap
            at, gap = (best, smallest) if done else (state, gap)
            theta = at.theta if done else lengthened(block, state, gap, scale)
            yield judged(block, Iterate(at.alpha, theta, info={"h": at.h}), done, gap, scale)
            if done:
                return

    def _few_rows(self, program: BoxDual, start: Start | None) -> Iterator[Iterate]:
        """The same program on n columns instead of d (leukemia: 38 instead of 7129): x_i <- l_i with L L' = X X'.

        Products of rows are all that margins and multipliers depend on. w = X'c for L'c = w of the small program.
        """
        n = program.n
        L = factor(products(program.rows, n, program.d))
        small, block = replace(program, X=L), Block.of(program, direct=0)
        for iterate in self._dense().iterates(small, start and start_on_rows(small, start)):
            assert iterate.dual is not None
            c, w = iterate.dual[:n].copy(), np.zeros(program.d)
            substitute_back(L, c)
            combine(program.rows, np.ones(n), c, w)
            iterate = replace(iterate, dual=np.append(w, iterate.dual[n:]))
            yield on_own_rows(block, iterate) if rounding_cost(block, 0.5 * float(w @ w)) > FELT else iterate


def rows_of_numbers(program: BoxDual) -> Need:
    """What is kept for each row, with `upper` and `curvature`; more where many rows are near the margin."""
    streams = program.d <= DIRECT and bool(np.isfinite(program.upper).all() or program.curvature.all())
    instead = "method=newton_streaming keeps fewer, and no copy of rows" if streams else ""
    return numbers_need(program.n, NUMBERS, instead)


def on_rows(program: Program) -> BoxDual:
    """The same program on rows l_i with L L' = K, where it has a kernel."""
    assert isinstance(program, BoxDual | KernelDual)
    if isinstance(program, BoxDual):
        return program
    L = factor(program.K.copy())
    return BoxDual(L, program.y, program.upper, program.curvature, program.equality, threads=program.threads)


def start_on_rows(program: BoxDual, start: Start) -> Start:
    """A start on other rows, as one on these, which have the same products: w is w(alpha) here, as long as that of the
    start where it has one."""
    w = program.image(start.alpha)
    size = float(np.linalg.norm(w))
    if start.w.size and size > 0.0:
        w *= float(np.linalg.norm(start.w)) / size
    return start._replace(w=w)


def rounds_on_working_sets(block: Block, state: State) -> Rounds:
    """Proximal steps on the rows near the margin: Newton's systems are cheap, so each round makes h much smaller."""
    saved, least, widen = state, np.inf, 1.0
    while True:
        gap, scale = block.gap(state)
        kept = copy_but_margins(block, state)
        yield kept, gap, scale
        if gap > 3.0 * least and gap > 1e-7 * scale and widen < 1e6:
            go_back(block, state, saved)  # rows left out have crossed the margin: back, with more rows
            widen = 10.0 * widen
        else:
            saved, least, widen = kept, gap, max(1.0, widen / 3.0)
        while not (yield from refine(block, state, widen)):
            go_back(block, state, saved)
            widen = 10.0 * widen


def copy_but_margins(block: Block, state: State) -> State:
    """A copy of all but the margins, which follow from theta: for 5e7 rows they would take another 0.4 GB."""
    return State(state.theta.copy(), block.team.copy(state.alpha), state.m, state.pull.copy(), state.h)


def go_back(block: Block, state: State, saved: State) -> None:
    """state <- what was saved of it, its margins computed again."""
    state.theta, state.pull, state.h = saved.theta.copy(), saved.pull.copy(), saved.h
    np.copyto(state.alpha, saved.alpha)
    block.margins(state.theta, state.m)


def refine(block: Block, state: State, widen: float) -> Generator[tuple[State, float, float], None, bool]:
    """Proximal steps on the rows within widen WIDTH h of the margin; the others are put at 0 or u_i and held.

    The state after each but the last is yielded: alpha and theta are worth a look (splice at C = 0.01: 1e-3 is reached
    within the first round), their margins are not yet known.

    At least 2 d rows take part: fewer need not bind w once |F| has come down to d (madelon). widen > 1, after a step
    that failed, asks for more accuracy too: ||g|| beside ||w|| means little where columns differ in scale. Returns
    False when Newton's method does not settle.
    """
    width, least = widen * WIDTH * state.h, min(block.n, 2 * block.size)
    index, change, moved = settle(block, state, width, least)
    if moved:
        block.pull(change, out=state.pull)
    part = block.take(index)
    alpha, m = (block.team.gather(values, index) for values in (state.alpha, state.m))
    small = State(state.theta, alpha, m, state.pull, state.h)
    for more in tighten(part, small, widen, block.n):
        if more is None:
            return False
        block.team.scatter(small.alpha, index, state.alpha)
        state.pull, state.h = small.pull, small.h
        if more:
            yield state, np.inf, UNKNOWN
    block.margins(state.theta, state.m)
    return True


def tighten(part: Block, small: State, widen: float, n: int) -> Iterator[int | None]:
    """The proximal steps of `refine` on the rows that take part, of n: after each, how many are to follow, or None when
    Newton's method does not settle."""
    everything, count = part.n == n, 2 if part.n > 0.2 * n else 3
    for k in range(count):
        tolerance = max(min(0.03, 0.3 * small.h) / widen**2 if small.h > 1e-6 else 0.0, 1e-13)
        if not part.minimise(small, tolerance, limit=300 if everything else 60) and not everything:
            yield None
            return
        small.h = max(small.h * SHRINK, SMALLEST_H)
        yield count - 1 - k


def settle(block: Block, state: State, width: float, least: int) -> tuple[Array, Array, int]:
    """The rows that take part, `least` of them at least; those that do not move to the bound on their side.

    Returns their indices, by how much each row moved (in the memory of dm, which a step fills anew), and how many did.
    """
    rows = block.n, block.parts
    near = sum(block.team.over(*rows, lambda start, end: count_near(state.m, width, start, end)))
    if near < least:
        width = float(np.partition(np.abs(1.0 - state.m), least - 1)[least - 1])
    index, change = np.empty(block.n, np.int64), block.work.dm
    at = state.m, state.alpha, block.upper, width, block.top, index, change
    some, moved = zip(*block.team.over(*rows, lambda start, end: settle_some(*at, start, end)), strict=True)
    return np.concatenate(some), change, sum(moved)


@njit(cache=True, fastmath=False, nogil=True)
def count_near(m, width, start, end):
    """Rows with |1 - m_i| <= width."""
    near = 0
    for i in range(start, end):
        near += -width <= 1.0 - m[i] <= width
    return near


@njit(cache=True, fastmath=False, nogil=True)
def settle_some(m, alpha, upper, width, top, index, change, start, end):
    """`settle` of the rows from `start` to before `end`, the places of `index` from `start` on: those that take part,
    and how many moved.
    """
    k, moved = start, 0
    for i in range(start, end):
        z, change[i] = 1.0 - m[i], 0.0
        if -width <= z <= top + width or 0.0 < alpha[i] < upper[i]:
            index[k], k = i, k + 1
            continue
        bound = upper[i] if z > 0.0 else 0.0
        if bound != alpha[i]:
            change[i] = bound - alpha[i]
            alpha[i], moved = bound, moved + 1
    return index[start:k], moved
