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
             w += sum_i alpha_i y_i x_i;  `squared_norms(rows, n)` gives ||x_i||^2 of the first n.
Copies       `take(rows, index, room)`: some rows side by side;  `Room()`: memory that is used again for the next copy.
Compiling    `FAST`: the fastmath flags that keep infinities and NaN.  `is_dense_type(rows)`, `copy_dense`: for code
             that has one kernel for each layout.

Kernels of one family of solvers are beside it, in its folder under solvers/.
"""

from marginbench.harness.rowops.passes import Room, combine, copy_dense, margins, squared_norms, take
from marginbench.harness.rowops.rows import CSR, FAST, Dense, add, dot, is_dense_type, norm2, read_only, rows_of

__all__ = [
    "CSR",
    "FAST",
    "Dense",
    "Room",
    "add",
    "combine",
    "copy_dense",
    "dot",
    "is_dense_type",
    "margins",
    "norm2",
    "read_only",
    "rows_of",
    "squared_norms",
    "take",
]
