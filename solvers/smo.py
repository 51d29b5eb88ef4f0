"""Sequential minimal optimisation, with the pair chosen by second-order information.

Program   min_alpha 1/2 ||w(alpha)||^2 + 1/2 sum_i gamma_i alpha_i^2 - sum_i alpha_i, 0 <= alpha_i <= upper_i,
          sum_i alpha_i y_i = 0: the dual with a free bias. g is the objective's gradient, K_ij = x_i.x_j.
Pair      up  = {i: y_i alpha_i can rise}, low = {j: y_j alpha_j can fall};
          i = argmax over up of -y_i g_i; j = argmax over low, where the difference e_j = y_j g_j - y_i g_i is
          positive, of e_j^2 / a_j, a_j = K_ii + K_jj - 2 K_ij + gamma_i + gamma_j: twice the gain of the pair.
Update    alpha_i += y_i t, alpha_j -= y_j t with t = e_j / a_j, or less where a bound is met; the balance is kept.
Bias      at the optimum -y_i g_i <= b on up and >= b on low; b is the middle of max over up and min over low.
Done      when these two differ by less than `tolerance`, a violation of margins. Under a hard margin (upper = inf)
          on data that cannot be separated alpha grows without end. Where a point has both labels it grows by leaps,
          and alpha / sum alpha is the proof; elsewhere it grows slowly, and nothing is claimed.

Platt 1998; Fan, Chen and Lin 2005, Algorithm 1 with WSS 2. K is never formed: a row of it is one pass over X, and the
latest ones are kept, up to `cache_mb`. Departures: no shrinking; gradient computed again before every yield, after
at most 100 pairs, so that rounding errors do not gather. With a kernel K is given, and every row of it is there; where
K does not fit into memory its rows are computed, and the latest ones kept (kernel_rows.py). A gradient costs as much
as n rows then, and is computed again after every n pairs, and before convergence is claimed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from marginbench.harness.model.best_bias import ends_of_bias
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.kernel_matrix import Source, fill
from marginbench.harness.model.kernel_rows import RowCache, cached, slot_for
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Claim, Compiled, Iterate, Start
from marginbench.harness.model.start import begin
from marginbench.harness.rowops import FAST, add, dot

PAIRS = 100  # between two yields


def products(rows, i, scratch, out):
    """out_k = x_i.x_k, or K_ik of a kernel; `scratch` has d numbers."""
    raise NotImplementedError("compiled code only")


@overload(products, jit_options={"fastmath": FAST})
def _products(rows, i, scratch, out):
    def linear(rows, i, scratch, out):
        scratch[:] = 0.0
        add(rows, i, 1.0, scratch)
        for k in range(out.size):
            out[k] = dot(rows, k, scratch)

    def kernel(rows, i, scratch, out):
        fill(rows, np.array([i]), out.reshape((1, out.size)))

    return kernel if rows.instance_class is Source else linear


@njit(cache=True, fastmath=FAST)
def row_of_K(rows, i, time, cache, scratch):
    """K_i. from the cache; where it is missing, it is computed over the row used longest ago."""
    slot, there = slot_for(cache, i, time)
    if not there:
        products(rows, i, scratch, cache.rows[slot])
    return cache.rows[slot]


@njit(cache=True, fastmath=FAST)
def update_pairs(rows, y, upper, gamma, K, tiny, tolerance, time, alpha, g, cache, scratch):
    """At most PAIRS (and n) updates of alpha and its gradient g; returns how many were made. K is the diagonal."""
    n = y.size
    for done in range(min(PAIRS, n)):
        i, top, bottom = -1, -np.inf, np.inf
        for k in range(n):
            value = -y[k] * g[k]
            rises, falls = alpha[k] < upper[k], alpha[k] > 0.0
            if value > top and (rises if y[k] > 0.0 else falls):
                i, top = k, value
            if value < bottom and (falls if y[k] > 0.0 else rises):
                bottom = value
        if top - bottom <= tolerance:
            return done
        row = row_of_K(rows, i, time + 2 * done, cache, scratch)
        j, best, t = -1, 0.0, 0.0
        for k in range(n):
            e = top + y[k] * g[k]
            if e > 0.0 and (alpha[k] > 0.0 if y[k] > 0.0 else alpha[k] < upper[k]):
                a = K[i] + K[k] - 2.0 * row[k] + gamma[i] + gamma[k]
                a = max(a, 1e-12 * (K[i] + K[k]) + tiny)  # equal rows: go to the bound
                if e * e / a > best:
                    j, best, t = k, e * e / a, e / a
        room_i = upper[i] - alpha[i] if y[i] > 0.0 else alpha[i]
        room_j = alpha[j] if y[j] > 0.0 else upper[j] - alpha[j]
        t = min(t, room_i, room_j)
        new_i = min(max(alpha[i] + y[i] * t, 0.0), upper[i])
        new_j = min(max(alpha[j] - y[j] * t, 0.0), upper[j])
        if t == room_i:  # exactly, in spite of rounding
            new_i = upper[i] if y[i] > 0.0 else 0.0
        if t == room_j:
            new_j = 0.0 if y[j] > 0.0 else upper[j]
        # Row i is used before row j is fetched, which may take its slot.
        step = y[i] * (new_i - alpha[i])
        for k in range(n):
            g[k] += y[k] * step * row[k]
        row = row_of_K(rows, j, time + 2 * done + 1, cache, scratch)
        step = y[j] * (new_j - alpha[j])
        for k in range(n):
            g[k] += y[k] * step * row[k]
        g[i] += gamma[i] * (new_i - alpha[i])
        g[j] += gamma[j] * (new_j - alpha[j])
        alpha[i], alpha[j] = new_i, new_j
    return min(PAIRS, n)


@dataclass(frozen=True)
class SMO(Compiled):
    accepts = (BoxDual, KernelDual)
    rows_of_kernel = True
    memory_field = "cache_mb"

    tolerance: float = 1e-10
    cache_mb: float = 100.0

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0:
            raise InputError(f"solver.tolerance={self.tolerance}: needs a number above 0")
        if not self.cache_mb >= 0.0:
            raise InputError(f"solver.cache_mb={self.cache_mb}: needs a number of megabytes, at least 0")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, BoxDual | KernelDual)
        if not program.equality:
            return "SMO moves pairs to keep sum alpha_i y_i = 0 (a free bias); without it coordinates move alone"
        return None

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual | KernelDual)
        linear = isinstance(program, BoxDual)
        rows: Any
        if isinstance(program, BoxDual):
            rows, cache, scratch = program.rows, RowCache.of(program.n, self.cache_mb), np.empty(program.d)
        else:
            rows, cache, scratch = *cached(program.K), np.empty(0)
        y, n, upper, gamma = program.y, program.n, program.upper, program.curvature
        K = program.squares()
        tiny, radius = 1e-16 * float(K.max()) or 1e-16, float(np.sqrt(K.max()))
        (alpha, w), made, fresh = begin(program, start), 0, 0
        g = np.full(n, -1.0) if start is None else y * program.scores(w) - 1.0 + gamma * alpha
        while True:
            before = alpha.copy()
            pairs = update_pairs(rows, y, upper, gamma, K, tiny, self.tolerance, 2 * made, alpha, g, cache, scratch)
            made += pairs
            if linear or pairs < min(PAIRS, n) or made - fresh >= n:
                w, fresh = program.image(alpha), made
                g = y * program.scores(w) - 1.0 + gamma * alpha
            top, bottom = ends_of_bias(-y * g, y, alpha, upper)
            b = np.mean([end for end in (top, bottom) if np.isfinite(end)])
            x, dual, said = alpha, np.append(w, b) if linear else None, ""
            claim: Claim = ""
            if top - bottom <= self.tolerance and fresh == made:
                claim = "converged"
            elif program.falls_without_end(alpha, w, radius):
                x, claim, said = alpha / alpha.sum(), "unbounded", "no hyperplane separates the data"
            elif (alpha == before).all() and fresh == made:
                claim, said = "inaccurate", "rounding ended the progress"
            yield Iterate(x, dual, claim, said, {"pairs": made})
            if claim:
                return
