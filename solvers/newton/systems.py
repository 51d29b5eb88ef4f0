"""The matrix of Newton's method on a smoothed loss (`smoothing.py`), and three ways to solve with it.

    H = diag(1, ..., 1, 0) + (1 / s) sum_F v_i (x_i, 1)(x_i, 1)'          the 0 and the 1s belong to b, where it is free

- The Gram matrix G of the sum, d x d, and Cholesky. F changes little from step to step, so G is kept and updated by
  the rows that enter and leave.
- Woodbury's formula, |F| x |F|, and Cholesky: the smaller system where |F| < d, but made again in each step.
- Conjugate gradients, where both |F| and d are too large for a dense system (text: sparse, d = 20000): products with
  the rows of F alone, preconditioned by the diagonal of H.
"""

import numpy as np
from numba import njit

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.rowops import FAST, add, dot, norm2
from marginbench.solvers.newton.gram import add_squares, row_products
from marginbench.solvers.newton.passes import FREE, MULTIPLY, SCALE, UPDATE, keep_rows, together

DIRECT = 3000
"""The largest dense system."""
FEWEST = 500
"""Rows and columns up to which dense systems are always taken: they are what rounding is least felt in."""
BY_PRODUCTS = {True: 350.0, False: 85.0}
"""Nanoseconds that a solve by conjugate gradients takes for each non-zero of sparse and of dense rows, times reach^0.55
(`predicted_by_products`): whole solves to 1e-9 at C = 1 and 100 of dense 6000 x 1200 (82 and, to 1e-6, 72), one-hot
10000 x 1500 and 20000 x 2500 (370, 400 and 320, 200), text 6000 x 2500 (400, 90) and 1500 x 20000 (2000, 300)."""
FACTORISED = 2.2
"""Nanoseconds that a solve by dense systems takes for each D^3, D = min(n, d): 40 factorisations. On these data 0.7 to
2.3, where it ended."""
FEWEST_ROWS, SHARE_OF_ROWS, MOST_ROWS = 16, 16, 200
"""Rows that the reach is computed from: a 16th of them, which is what a choice may cost of a pass (775 x 517 of the
family: 0.5 ms with 200 of them, 0.4 without)."""
CLEARLY = 1.5
"""How many times as long dense systems have to be predicted to take for conjugate gradients to be chosen."""
PRODUCTS = 2000
"""Products with H after which conjugate gradients give what they have: a direction of descent all the same."""
MOST, SWITCHED, BY_ROWS, CUT_SHORT = range(4)


def check_direct(direct: int) -> None:
    if not isinstance(direct, int) or direct < 0:
        raise InputError(f"solver.direct={direct}: needs the size of the largest dense system, at least 0")


def reach_of(program: BoxDual) -> float:
    """The mean of u_i ||x_i||^2 over rows spread evenly: files are sorted by class, by length, or begin with zeros."""
    some = min(max(program.n // SHARE_OF_ROWS, FEWEST_ROWS), MOST_ROWS, program.n)
    return mean_reach(program.rows, program.upper, some)


@njit(cache=True, fastmath=False)
def mean_reach(rows, upper, sample):
    total = 0.0
    for k in range(sample):
        i = k * upper.size // sample
        total += min(upper[i], 1e300) * norm2(rows, i)
    return total / sample


def predicted_by_products(nnz: int, sparse: bool, reach: float) -> float:
    """Nanoseconds of a solve by conjugate gradients. reach: `reach_of`, which the condition of the systems grows
    with."""
    return BY_PRODUCTS[sparse] * nnz * max(reach, 1.0) ** 0.55


def direct_by_cost(n: int, d: int, nnz: int, sparse: bool, reach: float) -> int:
    """The largest dense system where none is given: DIRECT, or 0 where conjugate gradients are clearly cheaper."""
    size = min(n, d)
    if size <= FEWEST:
        return DIRECT
    return 0 if CLEARLY * predicted_by_products(nnz, sparse, reach) < FACTORISED * size**3 else DIRECT


@njit(cache=True, fastmath=FAST, nogil=True)
def solve(work, g, s, accuracy):
    """H^-1 g. accuracy: of conjugate gradients, ||H x - g|| <= accuracy ||g||."""
    rows, v, bias, system, k = work.rows, work.v, work.bias, work.system, np.int64(0)
    for i in range(system.F.size):
        k += system.F[i]
    d, system.memory[CUT_SHORT] = g.size - bias, 0
    if k == 0:
        return along_b(v, bias, g, s)
    if d > system.direct and k > system.direct:
        return by_products(work, members(system, k), g, s, accuracy)
    # G is kept from step to step, the small system is not: a product of sparse rows is expensive (one-hot, d = 123).
    cheaper = 2 * k < d
    system.memory[BY_ROWS] = d > system.direct or (k < d and cheaper != system.memory[SWITCHED])
    if system.memory[BY_ROWS]:
        return by_rows(rows, v, bias, members(system, k), g, s)
    bring_up_to_date(work, k)
    H = np.empty(system.G.shape[1:])
    for j in range(g.size):
        for l in range(j + 1):
            H[j, l] = system.G[0, j, l]
            for part in range(1, len(system.G)):
                H[j, l] += system.G[part, j, l]
            H[j, l] /= s
        H[j, j] += 1.0 if j < d else 0.0
    x = g.copy()
    substitute(factor(H), x)
    return x


@njit(cache=True, fastmath=False)
def members(system, k):
    """The indices of the k rows of F."""
    if k > system.listed.size:
        raise ValueError("more rows in F than there is memory for their indices")
    index, found = system.listed[:k], 0
    for i in range(system.F.size):
        if system.F[i]:
            index[found] = i
            found += 1
    return index


@njit(cache=True, fastmath=False)
def switch(system, d):
    """From one dense system to the other, after a solution that was no better than the one before.

    The small system fails where columns differ in scale, the other one where |F| < d and s is small. True if there is
    nothing else to try.
    """
    if system.memory[CUT_SHORT]:
        return False  # slow, not wrong: the next solution starts where this one ended
    last = system.memory[SWITCHED] or d > 1000
    system.memory[SWITCHED] = True
    return last


@njit(cache=True, fastmath=False)
def rebuild(system):
    """After a solution that was no descent: G is built again, and the small system gives way to it.

    G is stale after many updates. The small system fails where s is tiny, C large and columns differ in scale over 1e8.
    """
    system.memory[MOST] = 0
    system.memory[SWITCHED] = system.memory[SWITCHED] != system.memory[BY_ROWS]


@njit(cache=True, fastmath=False)
def along_b(v, bias, g, s):
    """F empty (tiny C): w has its solution, b no curvature, so along b alone while it is unbalanced."""
    x, total = g.copy(), 0.0
    for i in range(v.size):
        total += v[i]
    if bias and abs(g[-1]) > 1e-12 * total:
        for j in range(x.size):
            x[j] = 0.0
        x[-1] = g[-1] * s / total
    elif bias:
        x[-1] = 0.0
    return x


@njit(cache=True, fastmath=False, nogil=True)
def bring_up_to_date(work, k):
    """G <- that of the k rows of F."""
    F, in_G, G, memory, changed = work.system.F, work.system.in_G, work.system.G, work.system.memory, 0
    for i in range(F.size):
        changed += F[i] != in_G[i]
    if memory[MOST] == 0 or changed > 0.7 * k or k < 0.3 * memory[MOST]:
        # Cheaper than the update, or so much has left that what remains is mostly rounding.
        for part in range(len(G)):
            for j in range(G.shape[1]):
                for l in range(j + 1):
                    G[part, j, l] = 0.0
        for i in range(F.size):
            in_G[i] = False
        memory[MOST] = k
    together(UPDATE, work)
    memory[MOST] = max(memory[MOST], k)


@njit(cache=True, fastmath=FAST)
def by_rows(rows, v, bias, index, g, s):
    """With X the rows of `index` and S = diag(v) / s: x = g - X'u, (X X' + 1/S) u = X g + x_b, sum u = g_b."""
    K, u, x = row_products(rows, index, g.size - bias), np.empty(index.size), g.copy()
    for r in range(index.size):
        K[r, r] += s / v[index[r]]
        u[r] = dot(rows, index[r], g)
    L = factor(K)
    substitute(L, u)
    if bias:
        ones, total, along = np.ones(index.size), 0.0, 0.0
        substitute(L, ones)
        for r in range(index.size):
            total += u[r]
            along += ones[r]
        x[-1] = (g[-1] - total) / along
        for r in range(index.size):
            u[r] += x[-1] * ones[r]
    for r in range(index.size):
        add(rows, index[r], -u[r], x)
    return x


@njit(cache=True, fastmath=FAST)
def by_products(work, index, g, s, accuracy):
    """Conjugate gradients with the diagonal of H as preconditioner."""
    rows, v, bias, diagonal, size = work.rows, work.v, work.bias, np.ones(g.size), 0.0
    d, p, parts = g.size - bias, work.step, work.products
    work.numbers[SCALE], work.numbers[FREE] = s, index.size
    if bias:
        diagonal[d] = 0.0
    keep_rows(rows, index, work.system.kept)
    for i in index:
        add_squares(rows, i, v[i] / s, diagonal)
        if bias:
            diagonal[d] += v[i] / s
    x, r, Hp, rz = np.zeros(g.size), g.copy(), parts[0], 0.0
    for j in range(g.size):
        p[j] = r[j] / diagonal[j]
    for j in range(g.size):
        rz += r[j] * p[j]
        size += g[j] * g[j]
    for _ in range(work.system.products):
        together(MULTIPLY, work)
        pHp = 0.0
        for j in range(g.size):
            for part in range(1, len(parts)):
                Hp[j] += parts[part, j]
        for j in range(g.size):
            pHp += p[j] * Hp[j]
        length, rest, before, rz = rz / pHp, 0.0, rz, 0.0
        for j in range(g.size):
            x[j] += length * p[j]
            r[j] -= length * Hp[j]
        for j in range(g.size):
            rest += r[j] * r[j]
            rz += r[j] * r[j] / diagonal[j]
        if rest <= accuracy**2 * size:
            return x
        for j in range(g.size):
            p[j] = r[j] / diagonal[j] + rz / before * p[j]
    work.system.memory[CUT_SHORT] = 1
    return x


@njit(cache=True, fastmath=False)
def factor(H):
    """L with L L' = H, from the lower triangle.

    Where rounding made H singular (duplicate rows), of H with a ridge, and where that is not enough, the identity.
    """
    ridge = 1e-14
    while ridge <= 1.0:
        try:
            return np.linalg.cholesky(H)
        except Exception:  # the only kind that compiled code tells apart
            mean = 0.0
            for j in range(len(H)):
                mean += H[j, j] / len(H)
            for j in range(len(H)):
                H[j, j] += ridge * mean
            ridge *= 100.0
    return np.eye(len(H))


@njit(cache=True, fastmath=FAST)
def substitute(L, x):
    """x <- (L L')^-1 x"""
    for j in range(len(L)):
        rest = 0.0
        for l in range(j):
            rest += L[j, l] * x[l]
        x[j] = (x[j] - rest) / L[j, j]
    substitute_back(L, x)


@njit(cache=True, fastmath=FAST)
def substitute_back(L, x):
    """x <- L'^-1 x"""
    for j in range(len(L) - 1, -1, -1):
        x[j] /= L[j, j]
        for l in range(j):
            x[l] -= x[j] * L[j, l]
