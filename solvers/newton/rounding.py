"""Huge C on separable data: what the rounding of margins costs, and a point that allows for it.

A margin that rounding leaves at 1 - 1e-15 costs C times that: at C = 1e6 more than 1e-9 of P on leukemia and
colon_cancer. So (w, b) is made longer by what rounding may take, and judged on the rows that were given.
"""

from dataclasses import replace

import numpy as np

from marginbench.harness.model.solver import Claim, Iterate
from marginbench.harness.rowops import squared_norms
from marginbench.solvers.newton.smoothing import Block, State

EPSILON = float(np.finfo(float).eps)
FELT = 1e-11
"""Relative gap that the rounding of margins has to cost before (w, b) is stretched."""


def judged(block: Block, iterate: Iterate, done: bool, gap: float, scale: float) -> Iterate:
    """The iterate with its gap and, if it is the last one, a claim; where rounding leaves more than 1e-9, why."""
    claim: Claim = "" if not done else "converged" if gap <= 1e-9 * scale else "inaccurate"
    cost = rounding_cost(block, scale)
    why = f"margins rounded by {EPSILON:.1e} cost a relative gap of {cost:.1e} at this C" if cost > FELT else ""
    said = why if claim == "inaccurate" else ""
    return replace(iterate, claim=claim, said=said, info={**iterate.info, "gap": gap / scale})


def rounding_cost(block: Block, P: float) -> float:
    """What margins near 1 cost at least, relative to P, if rounding leaves all of them below 1."""
    return 0.0 if np.isinf(block.top) or block.kappa > 0.0 else EPSILON * float(block.upper.sum()) / max(P, 1e-300)


def stretched(block: Block, state: State, gap: float, scale: float) -> tuple[State, float]:
    """The state with (w, b) times t, the least with t m_i >= 1 in all rows whatever rounding does; and its gap.

    With a free bias the row with the most room takes what rounding has left of sum_i alpha_i y_i, which costs b times
    that. As it was where that gains nothing: where rows belong below 1, or where C is moderate.
    """
    if rounding_cost(block, scale) <= FELT or (least := float(state.m.min(initial=1.0))) < 0.5:
        return state, gap
    reach = float(squared_norms(block.rows, block.n).max(initial=0.0) + block.bias) ** 0.5
    t = 1.0 / (least - 4.0 * EPSILON * reach * float(np.linalg.norm(state.theta)))
    alpha = state.alpha.copy()
    if block.bias:
        room = np.minimum(alpha, block.upper - alpha)
        most = int(room.argmax())
        alpha[most] -= np.clip(block.y[most] * float(alpha @ block.y), -room[most], room[most])
    longer = State(t * state.theta, alpha, t * state.m, block.pull(alpha), state.h)
    found = block.gap(longer)[0]
    return (longer, found) if found < gap else (state, gap)


def on_own_rows(block: Block, iterate: Iterate) -> Iterate:
    """An iterate found on other rows with the same products, judged and stretched on the rows of the block: at a huge
    C the two differ by more than what is left."""
    assert iterate.x is not None
    assert iterate.dual is not None
    state = block.state(iterate.dual, iterate.x, iterate.info["h"])
    gap, scale = block.gap(state)
    state, gap = stretched(block, state, gap, scale)
    return judged(block, replace(iterate, dual=state.theta), bool(iterate.claim), gap, scale)
