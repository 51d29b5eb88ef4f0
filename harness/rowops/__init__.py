"""Row operations that every solver may use, compiled by numba, for dense and CSR data alike.

    from marginbench.harness.rowops import FAST, add, dot

    @njit(cache=True, fastmath=FAST)
    def epoch(rows, y, w, order):
        for i in order:
            if y[i] * dot(rows, i, w) <= 0.0:
                add(rows, i, y[i], w)

    epoch(program.rows, y, w, order)

Data         `rows_of(X)`: the arrays of X as a `Dense` or `CSR` tuple, which kernels take (`program.rows`).
             `read_only(array)`: the same memory, of the type that all data have.
One row      `dot(rows, i, w)` is x_i.w;  `add(rows, i, scale, w)` does w += scale x_i;  `norm2(rows, i)` is ||x_i||^2.
All rows     `margins(rows, y, w, b, m)` does m_i = y_i (x_i.w + b);  `combine(rows, y, alpha, w)` does
             w += sum_i alpha_i y_i x_i;  `squared_norms(rows, n)` gives ||x_i||^2 of the first n;
             `scores_and_sum(rows, w, v, scores, total)` gives X w and X'v with each row read once;
             `best_length(m, some, upper, norm2, always, low, high)` is the best multiple of w for P.
Copies       `take(rows, index, room)`: some rows side by side;  `Room()`: memory that is used again for the next copy.
Threads      `Team(threads)`: the same passes in parts, a part for each thread: `team.margins`, `team.combine`,
             `team.take`, `team.gather`, `team.scatter`, `team.copy`, and `team.over` for a pass of your own
             (`parallel.py`).
Streams      For data that need not fit into memory: `runs(rows, n, size)` cuts them into blocks, `run_of(rows, start,
             end)` is one of them, `prefetch` and `release` bring its pages in and give them back, and `Gathered`
             collects rows of several blocks, `bytes_of` says what rows take (`streams.py`).
Compiling    `FAST`: the fastmath flags that keep infinities and NaN.  `is_dense_type(rows)`, `copy_dense`, `offsets`
             and `copy_sparse`: for code that has one kernel for each layout.

Kernels of one family of solvers are beside it, in its folder under solvers/.
"""

from marginbench.harness.rowops.parallel import ALONE, Team, meet, new_barrier, part_of, pass_cost
from marginbench.harness.rowops.passes import (
    Room,
    best_length,
    combine,
    combine_some,
    copy_dense,
    copy_sparse,
    margins,
    margins_of_some,
    offsets,
    scores_and_sum,
    squared_norms,
    take,
)
from marginbench.harness.rowops.rows import CSR, FAST, Dense, add, dot, is_dense_type, norm2, read_only, rows_of
from marginbench.harness.rowops.streams import Gathered, bytes_of, prefetch, release, run_of, runs

__all__ = [
    "ALONE",
    "CSR",
    "FAST",
    "Dense",
    "Gathered",
    "Room",
    "Team",
    "add",
    "best_length",
    "bytes_of",
    "combine",
    "combine_some",
    "copy_dense",
    "copy_sparse",
    "dot",
    "is_dense_type",
    "margins",
    "margins_of_some",
    "meet",
    "new_barrier",
    "norm2",
    "offsets",
    "part_of",
    "pass_cost",
    "prefetch",
    "read_only",
    "release",
    "rows_of",
    "run_of",
    "runs",
    "scores_and_sum",
    "squared_norms",
    "take",
]
