"""Where Newton's method begins: on samples of the rows, or from what it is given."""

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.solver import Start
from marginbench.harness.rowops import Dense, best_length
from marginbench.solvers.newton.smoothing import Block, State

SAMPLE_ROWS = 10
"""Rows of each class in the first sample: d times this. With fewer than three times as many there is no sample."""
SAMPLE_GROWTH = 8
"""Each sample of the start is this many times larger than the one before."""
SHRINK = 0.35
"""h <- SHRINK h after each proximal step."""
GENTLE, STEEP = [(2.0, 0.1), (0.5, 0.1)], [(2.0, 0.5), (0.15, 0.1)]
"""h of the first smoothed hinges, and ||g|| beside ||w|| at which each is left."""
STEEP_ROWS = 10
"""Dense rows to a column from which the start is steep. Its first point, at its best length, is often within 1e-3: what
smoothing leaves grows like h^2. On 26 problems of small dense data at C = 0.01, 1 and 100, h = 0.15 takes 0.95 of the
time of h = 0.3 to 1e-3 and 0.96 to 1e-6 (splice at C = 0.01: 0.82; at worst 1.2, spambase_standard at 100). Where rows
are fewer (madelon) or sparse (w8a at C = 1) a steep start loses the rows near the margin, and takes up to 1.17 and 1.42
times as long."""
GIVEN = 0.4
"""h of the one smoothed hinge after the w of a start, where that is gentle. With 0.3 w8a at C = 1, from the point of
coordinate descent, loses the rows near the margin: a round is undone, and 1e-6 takes 1.5 times as long."""
APART, NEAR = 0.1, 1e-3
"""||w - w(alpha)|| beside ||w|| from which a start's w and alpha do not belong together; relative gap below which that
does not matter."""
FAR = 0.03
"""Relative gap beyond which the alpha of a start tells little of the rows near the margin, whatever its w is worth.
From coordinate descent's point (w8a at C = 1, gap 0.09: 0.60 of the time to 1e-3; a1a at 1, mushrooms at 0.1: 0.8); at
0.01 it is better kept (mushrooms at C = 0.01: 0.85)."""
FIRST_DIGITS = 1e-3
"""Relative gap above which the best multiple of (w, b) is proposed."""
LENGTH_ROWS = 20_000
"""Rows, spread evenly, that tell what is best: P is flat there, and with all of 427,373 x 3 it took 12 ms of 66."""


def begun(block: Block, start: Start, large: bool) -> State:
    """The state of a start. Where rows near the margin are not known, w alone is kept, as after samples: far from the
    end, or where w and alpha are of another C and far apart (a9a from C = 0.1 to 0.316: two rounds of three undone)."""
    theta = np.append(start.w, start.b) if block.size > block.d else start.w
    state = block.state(theta, start.alpha, h=0.3)
    gap, scale = block.gap(state)
    away = float(np.linalg.norm((state.pull - theta)[: block.d])) > APART * float(np.linalg.norm(theta[: block.d]))
    if gap > (NEAR if away else FAR) * scale and not large:
        state = block.state(theta, np.zeros(block.n), h=STEEP[-1][0] if is_steep(block) else GIVEN)
        block.minimise(state, tolerance=0.1, limit=100)
        state.h *= SHRINK
    else:
        state.h = min(0.3, (gap / scale) ** 0.5)  # the gap that a proximal step of width h leaves is near h^2
    return state


def is_steep(block: Block) -> bool:
    return isinstance(block.rows, Dense) and block.n >= STEEP_ROWS * block.d


def start_on_samples(block: Block, seed: int) -> State:
    """The smoothed hinge alone, alpha = 0, on samples of the rows that grow eightfold, with u scaled up.

    h = 2 makes the first step ridge regression on all rows of the sample, which no C and no scale can upset.
    """
    classes = [np.flatnonzero(block.y > 0.0), np.flatnonzero(block.y <= 0.0)]
    cap, parts, rng = max(750, SAMPLE_ROWS * block.size), [], None
    while 3 * cap < min(rows.size for rows in classes):
        rng = rng or np.random.default_rng(seed)
        parts.append(sample(block, classes, cap, rng))
        cap *= SAMPLE_GROWTH
    del classes  # where there are very many rows, memory is dear
    theta, falls = np.zeros(block.size), STEEP if is_steep(block) else GENTLE
    for part in [*parts, block]:
        state = part.state(theta, np.zeros(part.n), h=2.0)
        for h, tolerance in falls:
            state.h = h
            part.minimise(state, tolerance, limit=100)
        falls = [(0.3, 0.1)]
    state.h *= SHRINK
    return state


def sample(block: Block, classes: list[Array], cap: int, rng: np.random.Generator) -> Block:
    """`cap` rows of each class, so that none is missed (ijcnn1 has one of 10 %), with u scaled up to make up for it."""
    chosen = [np.sort(rng.choice(rows, cap, replace=False)) for rows in classes]
    factors = [np.full(cap, rows.size / cap) for rows in classes]
    return block.take(np.concatenate(chosen), np.concatenate(factors))


def lengthened(block: Block, state: State, gap: float, scale: float) -> Array:
    """(w, b) times what is best for P; as it is near the end, and where the loss is no hinge.

    Smoothed by h around alpha = 0, the hinge is about that of margins 1 - h / 2, so that the first w is too short: a9a,
    covtype and one_hot at C = 1 come from 9e-3 above P* to 2e-4, 2e-5 and 2e-4, and to 1e-3 a proximal step sooner.
    """
    if gap <= FIRST_DIGITS * scale or not 0.0 == block.kappa == block.top:
        return state.theta
    step, w = -(-block.n // LENGTH_ROWS), state.theta[: block.d]
    m, upper = state.m[::step].copy(), block.upper[::step].copy()
    norm2 = float(w @ w) * m.size / block.n
    return state.theta * best_length(m, np.arange(m.size, dtype=np.int32), upper, norm2, 0.0, 0.5, 2.0)
