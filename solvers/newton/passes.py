"""Passes of Newton's method (`smoothing.py`) over its rows, each in parts, a part for each thread of a team.

`newton` and `solve` run in the first thread and ask for a pass by `together`. The other threads are in `attend`, where
they wait for the next pass. What a pass finds is summed over the parts in their order. A pass reserves no memory: a
thread that ends by an error would leave the others waiting.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from marginbench.harness.model.problem import Array
from marginbench.harness.rowops import (
    CSR,
    FAST,
    Dense,
    add,
    copy_sparse,
    dot,
    is_dense_type,
    margins_of_some,
    meet,
    new_barrier,
    offsets,
    part_of,
)
from marginbench.solvers.newton.gram import room_for, update_gram

RESPOND, DERIVE, TRY, UPDATE, MULTIPLY, LEAVE = np.arange(6)
"""The passes, and the end of them. Numbers of NumPy: for a plain 0 in a call, numba compiles the callee once more."""
FIRST = np.int64(0)
"""The thread that asks for passes."""
H, KAPPA, LENGTH, SCALE, FREE = range(5)
"""Numbers that passes need: h, kappa, the length of the step, s of the system, and how many rows are in F."""


class System(NamedTuple):
    """What is kept of Newton's matrix from one solution to the next (`systems.py`).

    F: a mask that its owner changes between two solutions. G: a matrix for each part, of the rows of F in that part.
    listed: memory for the indices of F, where they are fewer than columns or there is no G. room: for the update of G.
    kept: memory for the rows of F, where conjugate gradients may need them (`keep_rows`).
    memory: MOST, the most rows that G has held since it was built, 0 before; SWITCHED, the cheaper of the dense systems
    has failed; BY_ROWS, the last solution was that of the small system; CUT_SHORT, that of conjugate gradients at their
    limit.
    """

    F: Array
    in_G: Array
    G: Array
    listed: Array
    room: Array
    kept: Dense | CSR
    memory: Array
    direct: int
    products: int


class Work(NamedTuple):
    """All that passes read and write.

    rows, y, upper, v, bias: of the block. alpha, m, p: of the state, p the slopes that become alpha. step: of (w, b),
    and dm of the margins along it. pulls: by how much sum_i p_i y_i (x_i, 1) has changed; where there is one part, the
    sum itself. products: of H with `step`. sums, numbers: what a pass finds, for each part, and what it needs to know.
    """

    rows: Dense | CSR
    y: Array
    upper: Array
    v: Array
    bias: bool
    system: System
    alpha: Array
    m: Array
    p: Array
    step: Array
    dm: Array
    pulls: Array
    products: Array
    sums: Array
    numbers: Array
    barrier: Array
    command: Array


def new_work(
    rows: Dense | CSR, y: Array, upper: Array, v: Array, size: int, bias: bool, limits: tuple[int, int], parts: int
) -> Work:
    """Memory is reserved here; its pages are first touched by the pass that needs them.

    size: of (w, b). limits: `direct` and `products` of the system.
    """
    n, order, none = y.size, size if size - 1 <= limits[0] else 0, np.empty(0)
    G, room = np.empty((parts, order, order)), np.empty((parts, room_for(rows, order)))
    mask = np.zeros(n, np.bool_)
    most = n if size - bias > limits[0] else min(n, size)  # rows of F that `systems.py` lists: with G there, below d
    kept = space_to_keep(rows, n if min(n, size - bias) > limits[0] else 0)
    system = System(mask, mask.copy(), G, np.empty(most, np.int64), room, kept, np.zeros(4, np.int64), *limits)
    each, sums = np.empty((parts, size)), np.empty((parts, 8))  # a line of the cache for each part
    return Work(
        *(rows, y, upper, v, bias, system, none, none, none, np.empty(size), np.empty(n), each, each.copy()),
        *(sums, np.zeros(5), new_barrier(parts), np.zeros(1, np.int64)),
    )


def space_to_keep(rows: Dense | CSR, n: int) -> Dense | CSR:
    """Memory for up to n of the rows, where they are sparse: dense ones are long enough to be read in place."""
    if isinstance(rows, Dense):
        return rows
    size = rows.data.size if n else 0
    return CSR(*(np.empty(k, of.dtype) for k, of in zip((n + 1, size, size), rows, strict=True)))


def keep_rows(rows, index, kept):
    """Sparse rows of `index` copied to lie side by side. They are read hundreds of times: from among all others that
    takes 2.4 times as long (text_large, 18500 rows of 50000). For compiled code only, as the next."""


def place(kept, i, r):
    """Where row i, number r of `index`, is in `kept`."""


@overload(keep_rows)
def _keep_rows(rows, index, kept):
    def dense(rows, index, kept):
        pass

    def csr(rows, index, kept):
        kept.indptr[0] = 0
        offsets(rows.indptr, index, kept.indptr[1:])
        copy_sparse(rows, index, kept.indptr, kept.indices, kept.data)

    return dense if is_dense_type(rows) else csr


@overload(place)
def _place(kept, i, r):
    return (lambda kept, i, r: i) if is_dense_type(kept) else (lambda kept, i, r: r)


@njit(cache=True, fastmath=False, nogil=True)
def together(task, work):
    """A pass, by all threads; called by the first."""
    work.command[0] = task
    meet(work.barrier, FIRST)
    do(task, work, FIRST)
    meet(work.barrier, FIRST)


@njit(cache=True, fastmath=False, nogil=True)
def attend(work, part):
    """What a thread other than the first does: its part of every pass, until it may leave."""
    while True:
        meet(work.barrier, part)
        if work.command[0] == LEAVE:
            return
        do(work.command[0], work, part)
        meet(work.barrier, part)


@njit(cache=True, fastmath=False, nogil=True)
def dismiss(work):
    """Let the other threads leave; called by the first, between two passes."""
    work.command[0] = LEAVE
    meet(work.barrier, FIRST)


@njit(cache=True, fastmath=False, nogil=True)
def do(task, work, part):
    """One part of a pass."""
    start, end = part_of(work.system.F.size, len(work.sums), part)
    if task == RESPOND:
        respond(work, part, start, end)
    elif task == DERIVE:
        derive(work, part, start, end)
    elif task == TRY:
        try_length(work, part, start, end)
    elif task == UPDATE:
        F, in_G, G = work.system.F, work.system.in_G, work.system.G[part]
        update_gram(work.rows, work.v, F, in_G, work.bias, G, work.system.room[part], start, end)
    elif task == MULTIPLY:
        multiply(work, part)


@njit(cache=True, fastmath=False)
def total(found):
    """The sum over all parts of what a pass has found, in their order."""
    whole = 0.0
    for part in range(found.size):
        whole += found[part]
    return whole


@njit(cache=True, fastmath=FAST)
def respond(work, part, start, end):
    """m moved along the step, its p and F = {0 < p_i < u_i}, and pull by what p has changed.

    Found: how many rows changed F.
    """
    h, kappa, length, changed, balance = work.numbers[H], work.numbers[KAPPA], work.numbers[LENGTH], 0, 0.0
    alpha, upper, v, m, p, F, pull = work.alpha, work.upper, work.v, work.m, work.p, work.system.F, work.pulls[part]
    if len(work.pulls) > 1:
        for j in range(pull.size):
            pull[j] = 0.0
    for i in range(start, end):
        if length != 0.0:
            m[i] += length * work.dm[i]
        a = pressed(alpha[i], v[i], 1.0 - m[i], h, kappa)
        free = 0.0 < a < upper[i]
        a = a if free else (0.0 if a <= 0.0 else upper[i])
        if free != F[i]:
            F[i] = free
            changed += 1
        if a != p[i]:
            scale = (a - p[i]) * work.y[i]
            add(work.rows, i, scale, pull)
            balance += scale
            p[i] = a
    if work.bias:
        pull[-1] += balance
    work.sums[part, 0] = changed


@njit(cache=True, fastmath=FAST)
def derive(work, part, start, end):
    """dm, the margins along the step, and what `try_length` finds. Found beside it: sum_i p_i dm_i."""
    along, dm = 0.0, work.dm
    margins_of_some(work.rows, work.y, work.step, work.step[-1] if work.bias else 0.0, dm, start, end)
    for i in range(start, end):
        along += work.p[i] * dm[i]
    try_length(work, part, start, end)
    work.sums[part, 2] = along


@njit(cache=True, fastmath=FAST)
def try_length(work, part, start, end):
    """Found: sum_i p_i(m + s dm) dm_i for the length s, and the derivative of it by -s."""
    about = work.alpha, work.upper, work.v, work.m, work.dm
    s, h, kappa = work.numbers[LENGTH], work.numbers[H], work.numbers[KAPPA]
    work.sums[part, 0], work.sums[part, 1] = pull_along(*about, s, h, kappa, start, end)


@njit(cache=True, fastmath=FAST, nogil=True)
def pull_along(alpha, upper, v, m, dm, s, h, kappa, start, end):
    """sum_i p_i(m + s dm) dm_i, and the derivative of it by -s."""
    pulled, second = 0.0, 0.0
    for i in range(start, end):
        a = pressed(alpha[i], v[i], 1.0 - m[i] - s * dm[i], h, kappa)
        if a >= upper[i]:
            pulled += upper[i] * dm[i]
        elif a > 0.0:
            pulled += a * dm[i]
            second += v[i] / (h + kappa) * dm[i] * dm[i]
    return pulled, second


@njit(cache=True, fastmath=FAST, nogil=True)
def pressed(alpha, v, z, h, kappa):
    """The slope of a smoothed loss at z = 1 - m, before it is clipped to the box."""
    return (h * alpha + v * z) / (h + kappa)


@njit(cache=True, fastmath=FAST, nogil=True)
def press(alpha, upper, v, m, h, kappa):
    """alpha <- p, the slopes of the smoothed losses."""
    for i in range(m.size):
        alpha[i] = min(max(pressed(alpha[i], v[i], 1.0 - m[i], h, kappa), 0.0), upper[i])


@njit(cache=True, fastmath=FAST)
def multiply(work, part):
    """products: this part of H step, for the rows of F, `listed` and `kept`; diag(1, 0) step is in the first part."""
    step, s, out, kept = work.step, work.numbers[SCALE], work.products[part], work.system.kept
    d, b = step.size - work.bias, step[-1] if work.bias else 0.0
    for j in range(step.size):
        out[j] = step[j] if part == 0 and j < d else 0.0
    start, end = part_of(np.int64(work.numbers[FREE]), len(work.products), part)
    for r in range(start, end):
        i = work.system.listed[r]
        at = place(kept, i, r)
        pull = work.v[i] / s * (dot(kept, at, step) + b)
        add(kept, at, pull, out)
        if work.bias:
            out[d] += pull
