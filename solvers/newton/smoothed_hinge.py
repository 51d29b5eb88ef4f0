"""Newton's method on the smoothed hinge (and the squared hinge, by the same steps).

Program   min_{w,b} F = lam/2 ||w||^2 + sum_i c_i h(z_i), z_i = 1 - y_i (w.x_i + b), c_i the weights; b = 0 without
          an intercept. F / lam = 1/2 ||w||^2 + sum_i l_i(z_i) with l_i'(z) = clip(v_i z / delta, 0, u_i):
          u_i = v_i = c_i / lam for the smoothed hinge; u_i = inf, v_i = 2 c_i / lam, delta = 1 for the squared one.
Update    F is C^1 and piecewise quadratic. With the curved set {i: 0 < v_i z_i / delta < u_i}, of which H is a
          generalised Hessian: (w, b) -= t H^{-1} F', t an almost exact minimiser along the step. These are the steps
          of `newton_augmented`, by the same linear systems (`smoothing.py`, `systems.py`), with kappa = delta for its
          curvature and h = 0: nothing is shifted, and what smoothing costs stays.
Path      delta starts at 2, where the first step from w = 0 is a ridge regression, and falls tenfold whenever F' is
          small, to the program's own. What changes little on the way is z / delta, not z: hence the next delta starts
          from the solution that it would have if the curved set stayed.
Dual      alpha_i = l_i'(z_i), inside the canonical box; w = w(alpha) at the optimum of every delta.
Done      when the gradient is at the level of rounding: once the curved set is right, one step is exact.

One iterate per delta, and where STEPS do not suffice, one after these.

Keerthi and DeCoste 2005 and Chapelle 2007 (squared and Huber hinge); P(w_delta) - P* <= sum_i C_i delta / 2
in the canonical problem, C_i = c_i / lam.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from marginbench.harness.model.needs import Need, system_need
from marginbench.harness.model.programs import Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from marginbench.harness.model.solver import Claim, Compiled, Iterate
from marginbench.harness.rowops import ALONE, Team
from marginbench.solvers.newton.smoothing import Block, State
from marginbench.solvers.newton.systems import DIRECT, check_direct

START = 2.0
"""The first delta, or the program's own where that is larger."""
FALL = 0.1
"""delta <- FALL delta once F' is small."""
SMALL = 1e-4
"""||F'|| beside lam ||w|| at which delta falls."""
STEPS = 20
"""Newton steps from one iterate to the next, at most."""


@dataclass(frozen=True)
class NewtonSmoothedHinge(Compiled):
    """direct: the largest dense system; beyond it, conjugate gradients."""

    accepts = (RegularisedRisk,)

    direct: int = DIRECT

    def __post_init__(self) -> None:
        check_direct(self.direct)

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, RegularisedRisk)
        return system_need(program.d) if program.d <= self.direct else None

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, SmoothedHinge | SquaredHinge):
            return f"Newton's method needs a smooth loss, not the {type(program.loss).__name__}"
        if not program.lam > 0.0:
            return f"Newton's method needs lam > 0, not {program.lam}"
        return None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        with Team(program.threads) as team:
            yield from self._on(block_of(program, self.direct, team))

    def _on(self, block: Block) -> Iterator[Iterate]:
        state = block.state(np.zeros(block.size), np.zeros(block.n), h=0.0)
        target, fall, settled = block.kappa, FALL, None
        block.kappa = max(target, START)
        while True:
            small = block.minimise(state, SMALL, limit=STEPS)
            state = block.state(state.theta, state.alpha, h=0.0)  # without the rounding that updates leave
            yield self._iterate(block, state)
            if not small:
                fall = fall**0.5
                if settled is None:
                    # Sparse rows, C = 1e4: H is almost singular at the first delta. A larger one adds to its ridge.
                    block.kappa *= 100.0
                    continue
                # Text at delta = 1e-4: a tenfold fall lost the curved set, and steps are short from there on.
                state, block.kappa = settled[0].copy(), settled[1]
            elif block.kappa == target:
                break
            else:
                fall = max(FALL, fall**2)
                settled = state.copy(), block.kappa
            follow(block, state, max(target, fall * block.kappa))
        yield from self._to_rounding(block, state)

    def _to_rounding(self, block: Block, state: State) -> Iterator[Iterate]:
        start = block.pull(np.minimum(block.v / block.kappa, block.upper))  # F' at w = 0
        smallest, idle = np.inf, 0
        claim: Claim = ""
        while not claim:
            still = block.minimise(state, 1e-15, limit=STEPS)
            state = block.state(state.theta, state.alpha, h=0.0)
            size = float(np.linalg.norm(block.gradient(state)))
            scale = float(np.linalg.norm(start) + np.linalg.norm(state.theta[: block.d]))
            smallest, idle = min(size, smallest), 0 if size < 0.5 * smallest else idle + 1
            if still or (idle == 3 and size <= 1e-8 * scale):  # a sample on the kink: rounding moves it in every step
                claim = "converged" if size <= 1e-8 * scale else "inaccurate"
            yield self._iterate(block, state, claim)

    @staticmethod
    def _iterate(block: Block, state: State, claim: Claim = "") -> Iterate:
        info = {"delta": block.kappa, "curved": int(np.count_nonzero(block.system.F))}
        return Iterate(state.theta, state.alpha, claim, info=info)


def block_of(program: RegularisedRisk, direct: int, team: Team = ALONE) -> Block:
    u = program.weight / program.lam
    if isinstance(program.loss, SmoothedHinge):
        upper, v, delta = u, u, program.loss.delta
    else:
        upper, v, delta = np.full(program.n, np.inf), 2.0 * u, 1.0
    return Block(program.rows, program.y, upper, v, delta, program.d, program.intercept, direct, team=team)


def follow(block: Block, state: State, delta: float) -> None:
    """On to `delta` as if the curved set stayed: there alpha_i grows to v_i z_i / delta, elsewhere it is at a bound."""
    growth, block.kappa = block.kappa / delta - 1.0, delta
    block.system.F[:] = (state.alpha > 0.0) & (state.alpha < block.upper)
    pull = state.pull + block.pull(np.where(block.system.F, growth * state.alpha, 0.0))
    state.theta -= block.solve(block.gradient(replace(state, pull=pull)), delta, SMALL)
    block.margins(state.theta, state.m)
