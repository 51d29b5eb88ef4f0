"""Where Newton's method begins: on samples of the rows, or from what it is given."""

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.solver import Start
from marginbench.harness.rowops import Dense
from marginbench.solvers.newton.smoothing import Block, State

SAMPLE_ROWS = 10
"""Rows of each class in the first sample: d times this. With fewer than three times as many there is no sample."""
SAMPLE_GROWTH = 8
"""Each sample of the start is this many times larger than the one before."""
SHRINK = 0.35
"""h <- SHRINK h after each proximal step."""
GENTLE, STEEP = [(2.0, 0.1), (0.5, 0.1)], [(2.0, 0.5), (0.3, 0.1)]
"""h of the first smoothed hinges, and ||g|| beside ||w|| at which each is left."""
STEEP_ROWS = 10
"""Dense rows to a column from which the start is steep: to 1e-3 it takes 0.7 to 1.07 of the time (splice at C = 0.01:
0.70; spambase_standard, german, svmguide1, ionosphere at 0.01, 1, 100). Where rows are fewer (madelon) or sparse (w8a
at C = 1) it loses the rows near the margin, and takes up to 1.17 and 1.42 times as long."""
APART, NEAR = 0.1, 1e-3
"""||w - w(alpha)|| beside ||w|| from which a start's w and alpha do not belong together; relative gap below which that
does not matter."""
FAR = 0.03
"""Relative gap beyond which the alpha of a start tells little of the rows near the margin, whatever its w is worth.
From coordinate descent's point (w8a at C = 1, gap 0.09: 0.60 of the time to 1e-3; a1a at 1, mushrooms at 0.1: 0.8); at
0.01 it is better kept (mushrooms at C = 0.01: 0.85)."""


def begun(block: Block, start: Start, large: bool) -> State:
    """The state of a start. Where rows near the margin are not known, w alone is kept, as after samples: far from the
    end, or where w and alpha are of another C and far apart (a9a from C = 0.1 to 0.316: two rounds of three undone)."""
    theta = np.append(start.w, start.b) if block.size > block.d else start.w
    state = block.state(theta, start.alpha, h=0.3)
    gap, scale = block.gap(state)
    away = float(np.linalg.norm((state.pull - theta)[: block.d])) > APART * float(np.linalg.norm(theta[: block.d]))
    if gap > (NEAR if away else FAR) * scale and not large:
        state = block.state(theta, np.zeros(block.n), h=0.3)
        block.minimise(state, tolerance=0.1, limit=100)
        state.h *= SHRINK
    else:
        state.h = min(0.3, (gap / scale) ** 0.5)  # the gap that a proximal step of width h leaves is near h^2
    return state


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
    steep = isinstance(block.rows, Dense) and block.n >= STEEP_ROWS * block.d
    theta, falls = np.zeros(block.size), STEEP if steep else GENTLE
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
