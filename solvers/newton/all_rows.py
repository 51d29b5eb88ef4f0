"""Rounds of Newton's method (`augmented.py`) on all rows, for systems too large to factorise.

Proximal steps with an h that falls as slowly as conjugate gradients need. Once a round leaves F = {0 < alpha_i < u_i}
as it was, F is taken to be right, and one system in alpha gives the answer (`landing.py`).
"""

from collections.abc import Iterator

import numpy as np

from marginbench.harness.rowops import squared_norms
from marginbench.solvers.newton.landing import can_land, landed
from marginbench.solvers.newton.smoothing import Block, State

MOST_STEPS = 20
"""Newton steps of a round on all rows; h doubles where they are not enough."""
SLOW_SHRINK = 0.6, 0.6, 0.8, 0.9
"""h <- SLOW_SHRINK[k] h after a round on all rows of k Newton steps. 0.6 after up to 4 steps overshoots: products with
H (text, C = 1e4: 6000 x 2500 8400, where these take 6200; 12500 x 5000 11900 and 9000; 20000 x 4000 at 1000 39000 and
25000; 1500 x 20000 1400 and 1600)."""
GAP_SHARE = 0.01
"""Share of the gap before a round on all rows that ||g||^2 / 2 may be after it."""
SMALLEST_H = 1e-9
"""Below it, v_i / h times the rounding of a margin would be felt in alpha."""
LANDED = 1e-10, 1e-13
"""Relative gaps that a landing aims at: the first, or from there the second."""
NEARER = 0.1
"""The gap, beside that of a landing that failed, below which the next is tried."""

Rounds = Iterator[tuple[State, float, float]]
"""A copy of the state after each round, its gap and the scale of that. The margins of a round on working sets are those
of the state itself, to be read before the next round. Within a round, the state itself after a proximal step: its
margins, and so its gap, are not known, which a scale of `UNKNOWN` says."""


def rounds_on_all_rows(block: Block, state: State) -> Rounds:
    """Their condition number grows like 1 / h, and so does the number of rows that change sides on the way to g = 0. So
    h is as large as a few Newton steps a round allow: alpha comes closer at any h. Text at C = 1e4, 12500 x 5000: 7 s,
    where rounds on working sets take 27; 50000 x 20000: 100 s, where those have no first iterate after 80.
    """
    failed, (gap, scale) = np.inf, block.gap(state)
    while True:
        yield state.copy(), gap, scale
        norm, small = float(np.linalg.norm(state.theta[: block.d])), (2.0 * GAP_SHARE * gap) ** 0.5
        if block.bias and state.theta[-1] != 0.0:
            small = min(small, GAP_SHARE * gap / abs(float(state.theta[-1])))  # what is unbalanced costs b of the gap
        free = block.system.F.copy()
        solved = block.minimise(state, small / norm if norm > 0.0 and gap < np.inf else 0.1, limit=MOST_STEPS)
        easy = block.steps < len(SLOW_SHRINK)
        h = max(state.h * (SLOW_SHRINK[block.steps] if easy else 1.0 if solved else 2.0), SMALLEST_H)
        state = block.state(state.theta, state.alpha, h)  # without the rounding that updates leave
        gap, scale = block.gap(state)
        if block.steps == 1 and gap < NEARER * failed and (free == block.system.F).all() and can_land(block):
            there = landed(block, state, LANDED[gap <= 2.0 * LANDED[0] * scale] * scale)
            found = block.gap(there)[0]
            if found < gap:
                state, gap = there, found
            else:
                failed = gap


def widest(block: Block) -> float:
    """h with v_i ||x_i||^2 = h for the average row, so that the first system is well conditioned."""
    return max(2.0, float((block.v * squared_norms(block.rows, block.n)).mean()))
