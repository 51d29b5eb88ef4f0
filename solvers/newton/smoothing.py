"""The proximal smoothing of a loss around given multipliers, and Newton's method on it.

    l_i(z) = max { a z - c_i a^2 / 2 : 0 <= a <= u_i }                       hinge, its square, the smoothed hinge

Given multipliers alpha and a width h, l_i gives way to the same maximum less (h / v_i)(a - alpha_i)^2 / 2. Its slope is

    p_i(w, b) = clip((h alpha_i + v_i (1 - m_i)) / (h + kappa), 0, u_i),     v_i = u_i (or 1 / c_i),  kappa = c_i v_i

and its sum with 1/2 ||w||^2 has the gradient g = (w, 0) - sum_i p_i y_i (x_i, 1). With alpha = 0 and c = 0 this is
the smoothed hinge with delta = h.

Newton's matrix is diag(1, 0) + sum_F v_i (x_i, 1)(x_i, 1)' / (h + kappa), F = {i: 0 < p_i < u_i}: see `systems.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.rowops import ALONE, CSR, FAST, Dense, Team, pass_cost, read_only
from marginbench.solvers.newton.passes import (
    DERIVE,
    KAPPA,
    LENGTH,
    RESPOND,
    TRY,
    H,
    Work,
    attend,
    dismiss,
    new_work,
    together,
    total,
)
from marginbench.solvers.newton.systems import DIRECT, PRODUCTS, bring_up_to_date, rebuild, solve, switch

ROUNDING = 1e-18
"""Newton's decrement g'H^-1 g, relative to the objective, from which on a gradient that does not shrink is rounding."""


PASSES = 4
"""Of a proximal step, at the least, after the other threads were woken for it."""
LONGEST = 1e12
"""A step that goes on beyond this many times its length has no end."""


@dataclass
class State:
    """theta: w, followed by b where it is free. pull: sum_i alpha_i y_i (x_i, 1), equal to (w, 0) at the optimum."""

    theta: Array
    alpha: Array
    m: Array
    pull: Array
    h: float

    def copy(self, team: Team = ALONE) -> "State":
        return State(self.theta.copy(), team.copy(self.alpha), team.copy(self.m), self.pull.copy(), self.h)


def widths(program: BoxDual | KernelDual) -> Array:
    """v_i: u_i, or 1/c_i where u_i = inf; without either (hard margin) a constant of the scale of 1 / ||x||^2."""
    if np.isfinite(program.upper).all():
        return program.upper
    if (program.curvature > 0.0).all():
        return 1.0 / program.curvature
    return np.full(program.n, 1e4 / max(program.squares().mean(), 1e-300))


class Block:
    """Some rows of the program and Newton's method on them.

    direct: the largest dense system it may form; products: how many conjugate gradients may use instead.
    """

    def __init__(
        self,
        rows: Dense | CSR,
        y: Array,
        upper: Array,
        v: Array,
        kappa: float,
        d: int,
        bias: bool,
        direct: int = DIRECT,
        products: int = PRODUCTS,
        team: Team = ALONE,
    ) -> None:
        self.rows, self.y, self.kappa, self.d, self.bias = rows, read_only(y), kappa, d, bias
        self.upper = read_only(upper)
        self.v = self.upper if v is upper else read_only(v)
        self.n, self.size = y.size, d + bias
        self.top = kappa if upper.max(initial=0.0) < np.inf else np.inf  # at 1 - m_i > top, l_i has slope u_i
        self.team, self.parts, self.steps = team, team.parts(pass_cost(rows), PASSES), 0
        limits = direct, products
        self.work = new_work(rows, self.y, self.upper, self.v, self.size, bias, limits, self.parts)
        self.system = self.work.system

    @classmethod
    def of(cls, program: BoxDual, direct: int = DIRECT, team: Team = ALONE) -> "Block":
        v = widths(program)
        kappa = float((program.curvature * v).max(initial=0.0)) if program.curvature.any() else 0.0
        return cls(
            program.rows, program.y, program.upper, v, kappa, program.d, program.equality, direct=direct, team=team
        )

    def take(self, index: Array, factor: Array | None = None) -> "Block":
        """The rows of `index`, their u_i and v_i times `factor`."""
        rows, y, upper = self.team.take(self.rows, index), *(self.team.gather(a, index) for a in (self.y, self.upper))
        v = upper if self.v is self.upper else self.team.gather(self.v, index)
        if factor is not None:
            upper *= factor
            if v is not upper:
                v *= factor
        limits = self.system.direct, self.system.products
        return Block(rows, y, upper, v, self.kappa, self.d, self.bias, *limits, self.team)

    def state(self, theta: Array, alpha: Array, h: float) -> State:
        return State(theta, alpha, self.margins(theta), self.pull(alpha), h)

    def margins(self, theta: Array, out: Array | None = None) -> Array:
        m = np.empty(self.n) if out is None else out
        self.team.margins(self.rows, self.y, theta, theta[-1] if self.bias else 0.0, m)
        return m

    def pull(self, alpha: Array, out: Array | None = None) -> Array:
        """out + sum_i alpha_i y_i (x_i, 1)"""
        total = np.zeros(self.size) if out is None else out
        balance = self.team.combine(self.rows, self.y, alpha, total)
        if self.bias:
            total[-1] += balance
        return total

    def gradient(self, state: State) -> Array:
        """(w, 0) - pull"""
        g = state.theta - state.pull
        g[self.d :] -= state.theta[self.d :]
        return g

    def gap(self, state: State) -> tuple[float, float]:
        """P - D as a sum of terms >= 0, and P, which it is compared with (1 where P = 0)."""
        w, pull = state.theta[: self.d], state.pull[: self.d]
        if np.isinf(self.top) and self.kappa == 0.0:
            least, reach = state.m.min(), np.linalg.norm(pull)
            if least <= 0.0 or reach == 0.0:  # no separator yet, or none at all: then alpha grows along its proof
                return np.inf, 1.0
            P = 0.5 * float(w @ w) / least**2
            return P - 0.5 * (state.alpha.sum() / reach) ** 2, P or 1.0
        about = state.m, state.alpha, self.upper, self.v, self.kappa
        found = self.team.over(self.n, self.parts, lambda start, end: losses(*about, start, end))
        loss, terms = map(sum, zip(*found, strict=True))
        gap = terms + 0.5 * float((w - pull) @ (w - pull))
        if self.bias:
            gap += abs(float(state.theta[-1] * state.pull[-1]))
        return gap, (0.5 * float(w @ w) + loss) or 1.0

    def minimise(self, state: State, tolerance: float, limit: int) -> bool:
        """One proximal step: theta and m <- those of g = 0, alpha <- p, and pull with it.

        pull includes the rows held elsewhere. False when `limit` steps did not bring ||g|| below tolerance ||w||.
        """
        p = self.team.copy(state.alpha)
        work = self.work._replace(alpha=state.alpha, m=state.m, p=p)
        if self.parts == 1:
            work = work._replace(pulls=state.pull[None])
        work.numbers[H], work.numbers[KAPPA] = state.h, self.kappa
        solved, self.steps = self._led(work, lambda: newton(work, state.theta, state.pull, tolerance, limit))
        state.alpha = p
        return solved

    def solve(self, g: Array, s: float, accuracy: float = 1e-10) -> Array:
        """H^-1 g for the rows of `system.F`."""
        return self._led(self.work, lambda: solve(self.work, g, s, accuracy))

    def gram(self) -> Array:
        """sum_i v_i (x_i, 1)(x_i, 1)' over the rows of `system.F`, its lower triangle."""
        k = int(self.system.F.sum())
        self._led(self.work, lambda: bring_up_to_date(self.work, k))
        return np.tril(self.system.G.sum(axis=0) if self.parts > 1 else self.system.G[0])

    def _led(self, work: Work, do: Callable[[], Any]) -> Any:
        """What the first thread does, while the others attend to the passes that it asks for."""

        def take_part(part: int) -> Any:
            if part > 0:
                return attend(work, part)
            try:
                return do()
            finally:
                dismiss(work)

        return self.team.each(self.parts, take_part)[0]


@njit(cache=True, fastmath=FAST, nogil=True)
def newton(work, theta, pull, tolerance, limit):
    """Semismooth Newton on g = 0 from theta, the m and p of `work`, and their pull, in place.

    Did ||g|| fall to tolerance ||w||, and in how many steps?
    """
    m, p, step, bias = work.m, work.p, work.step, work.bias
    if m.size == 0 and bias:
        return False, 0  # nothing here binds b
    d, g = theta.size - bias, np.empty(theta.size)
    length, slope, rebuilt, size = 0.0, -np.inf, False, np.inf
    work.numbers[LENGTH] = 0.0
    for steps in range(limit + 1):
        together(RESPOND, work)
        changed = total(work.sums[:, 0])
        if len(work.pulls) > 1:
            for part in range(len(work.pulls)):
                for j in range(pull.size):
                    pull[j] += work.pulls[part, j]
        before, size, norm = size, 0.0, 0.0
        for j in range(g.size):
            g[j] = theta[j] - pull[j] if j < d else -pull[j]
        for j in range(g.size):
            size += g[j] * g[j]
            norm += theta[j] * theta[j] if j < d else 0.0
        size, norm = size**0.5, norm**0.5
        solved = size <= tolerance * norm
        if length > 0.0 and size > 0.5 * before:
            if length == 1.0 and changed == 0:
                # A full step on an unchanged F is exact, and the next refines it. If not, the system is to blame.
                solved = switch(work.system, d) or solved
            # All rows alike and b free: w = 0, beside which no gradient is small.
            solved = solved or -slope <= ROUNDING * (norm**2 + abs(weighted(p, m)))
        if solved or steps == limit:
            return solved, steps
        accuracy, slope = worthwhile(size, norm, tolerance, changed if steps > 0 else m.size, work.system.F), 0.0
        x = solve(work, g, work.numbers[H] + work.numbers[KAPPA], accuracy)
        for j in range(step.size):
            step[j] = -x[j]
        for j in range(step.size):
            slope += g[j] * step[j]
        length = advance(work, theta, slope)
        if np.isinf(length):
            return False, steps  # unbounded in b: the rows of one class are all held elsewhere
        if length == 0.0 and rebuilt:
            return True, steps  # as near as rounding allows
        rebuilt = length == 0.0
        if rebuilt:
            rebuild(work.system)  # no descent: once more, by a new system
    return False, limit


@njit(cache=True, fastmath=FAST)
def worthwhile(size, norm, tolerance, changed, F):
    """How well conjugate gradients should solve, ||H x - g|| beside ||g||: as well as F is known, of which `changed`
    rows are new. Their last digits are cheap: text of 6000 x 2500 at C = 1e4 takes 8000 products with H instead of the
    11000 at 0.03 throughout.

    The root makes the end faster than linear. Better than what `newton` is asked for is never worth it.
    """
    if norm == 0.0:
        return 0.1
    free = 1
    for i in range(F.size):
        free += F[i]
    known = min(0.03, max(changed / free, 1e-4), (size / norm) ** 0.5)
    return max(known, 0.3 * tolerance * norm / size)


@njit(cache=True, fastmath=FAST)
def weighted(p, m):
    """sum_i p_i (1 - m_i)"""
    total = 0.0
    for i in range(m.size):
        total += p[i] * (1.0 - m[i])
    return total


@njit(cache=True, fastmath=FAST)
def advance(work, theta, slope):
    """theta moved along the step, on which the derivative at 0 is `slope`; returns how far (`line_search`).

    m follows with the next pass.
    """
    step, curve = work.step, 0.0
    for j in range(step.size - work.bias):
        curve += step[j] * step[j]
    length = line_search(work, slope, curve)
    work.numbers[LENGTH] = length if length < np.inf else 0.0
    for j in range(step.size):
        theta[j] += work.numbers[LENGTH] * step[j]
    return length


@njit(cache=True, fastmath=FAST)
def line_search(work, slope, curve):
    """The zero of s -> rest + s curve - sum_i p_i(m + s dm) dm_i, to a fifth of its value at 0, which is `slope`.

    The function is piecewise linear and increasing: Newton's method inside a bracket. 0 if s = 0 is no descent, inf if
    there is no zero.
    """
    if not slope < 0.0:
        return 0.0
    s, low, high, rest = 1.0, 0.0, np.inf, 0.0
    for trial in range(60):
        work.numbers[LENGTH] = s
        together(TRY if trial else DERIVE, work)
        if trial == 0:
            rest = slope + total(work.sums[:, 2])
        derivative, second = rest + s * curve - total(work.sums[:, 0]), curve + total(work.sums[:, 1])
        if abs(derivative) <= -0.2 * slope:
            return s
        s, low, high = next_length(s, low, high, derivative, second)
        if s > LONGEST:
            return np.inf
    return s


@njit(cache=True, fastmath=FAST, nogil=True)
def next_length(s, low, high, derivative, second):
    """(s, low, high): the next length to try, and the bracket. A length is at most quadrupled."""
    if derivative > 0.0:
        high = s
    else:
        low = s
    s -= derivative / second if second > 0.0 else 0.0
    if high == np.inf:
        s = min(s, 4.0 * low) if s > low else 4.0 * low
    elif not low < s < high:
        s = 0.5 * (low + high)
    return s, low, high


@njit(cache=True, fastmath=FAST, nogil=True)
def losses(m, alpha, upper, v, kappa, start, end):
    """sum_i l_i(z_i), and sum_i l_i(z_i) - alpha_i z_i + c_i alpha_i^2 / 2 >= 0; z_i = 1 - m_i, c_i = kappa / v_i.

    Over the rows from `start` to before `end`.
    """
    loss, terms = 0.0, 0.0
    for i in range(start, end):
        z, c = 1.0 - m[i], kappa / v[i] if kappa > 0.0 else 0.0
        best = 0.0 if z <= 0.0 else min(z / c, upper[i]) if c > 0.0 else upper[i]
        loss += best * z - 0.5 * c * best * best
        terms += (best - alpha[i]) * (z - 0.5 * c * (best + alpha[i]))
    return loss, terms
