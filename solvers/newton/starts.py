"""Where Newton's method begins: on samples of the rows, or from what it is given."""

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.model.solver import Start
from marginbench.solvers.newton.smoothing import Block, State

SAMPLE_ROWS = 10
"""Rows of each class in the first sample: d times this. With fewer than three times as many there is no sample."""
SAMPLE_GROWTH = 8
"""Each sample of the start is this many times larger than the one before."""
SHRINK = 0.35
"""h <- SHRINK h after each proximal step."""
APART, NEAR = 0.1, 1e-3
"""||w - w(alpha)|| beside ||w|| from which a start's w and alpha do not belong together; relative gap below which that
does not matter."""


def begun(block: Block, start: Start, large: bool) -> State:
    """The state of a start. Where its w and alpha are of another C and so far apart that rows near the margin are not
    known (a9a from C = 0.1 to 0.316: two rounds of three undone), w alone is kept, as after samples."""
    theta = np.append(start.w, start.b) if block.size > block.d else start.w
    state = block.state(theta, start.alpha, h=0.3)
    gap, scale = block.gap(state)
    away = float(np.linalg.norm((state.pull - theta)[: block.d])) > APART * float(np.linalg.norm(theta[: block.d]))
    if away and gap > NEAR * scale and not large:
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
    theta, hs = np.zeros(block.size), [2.0, 0.5]
    for part in [*parts, block]:
        state = part.state(theta, np.zeros(part.n), h=2.0)
        for h in hs:
            state.h = h
            part.minimise(state, tolerance=0.1, limit=100)
        hs = [0.3]
    state.h *= SHRINK
    return state


def sample(block: Block, classes: list[Array], cap: int, rng: np.random.Generator) -> Block:
    """`cap` rows of each class, so that none is missed (ijcnn1 has one of 10 %), with u scaled up to make up for it."""
    chosen = [np.sort(rng.choice(rows, cap, replace=False)) for rows in classes]
    factors = [np.full(cap, rows.size / cap) for rows in classes]
    return block.take(np.concatenate(chosen), np.concatenate(factors))
