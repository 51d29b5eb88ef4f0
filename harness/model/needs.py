"""Matrices that are too large for the memory allowed, known before one is made.

A formulation that writes a matrix out, and a solver that makes one of its own, say how large it is (`needs`). What
does not fit is refused with that size: the alternative is to build for minutes and to be ended.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.harness.matrices import row_blocks
from marginbench.harness.model.problem import Matrix

ENTRY = 12
"""Bytes of a non-zero: its value and its index."""


class Need(NamedTuple):
    """A matrix that has to be in memory: what it is, its rows and columns, and bytes that it takes at least.

    instead: what takes less, in words.
    """

    what: str
    rows: int
    columns: int
    bytes: float
    instead: str = ""

    def beyond(self, memory_mb: float) -> str | None:
        """Why it cannot be made within so many MB; None when it can."""
        if self.bytes <= memory_mb * 2**20:
            return None
        size = f"{self.rows:.1e} x {self.columns:.1e}, {self.bytes / 1e9:.1f} GB"
        allowed = f"limits.memory_mb={memory_mb:g} allows {memory_mb * 2**20 / 1e9:.1f} GB"
        return f"needs {self.what} of {size}; {allowed}{'; ' if self.instead else ''}{self.instead}"


def gram_need(X: Matrix, bias: bool) -> Need:
    """X X' with an entry for each two rows that share a column: for the longest column alone, if X is sparse.

    bias: a constant column beside X. A dense one is there twice while it is brought into columns.
    """
    n = X.shape[0]
    if not sp.issparse(X):
        return Need("a Gram matrix", n, n, (8.0 + 8.0 + 4.0) * n * n)
    longest, counts = n, np.zeros(X.shape[1], np.int64)
    if not bias:
        for rows in row_blocks(X):
            counts += np.bincount(X.indices[X.indptr[rows.start] : X.indptr[rows.stop]], minlength=counts.size)
        longest = int(counts.max(initial=0))
    return Need("a Gram matrix", n, n, float(ENTRY) * longest * longest)


def kernel_need(n: int, constant: bool, written_out: bool) -> Need:
    """K. constant: and K + s^2, for an augmented bias. written_out: and twice as a quadratic program, with indices."""
    copies = 8.0 * constant + (8.0 + 8.0 + 4.0) * written_out
    return Need("a kernel matrix", n, n, (8.0 + copies) * n * n)


def rows_need(X: Matrix) -> Need:
    """X once more, by columns, and with signs."""
    n, d = X.shape
    bytes_ = 2.0 * ENTRY * X.nnz if sp.issparse(X) else (8.0 + 8.0 + 4.0) * n * d
    return Need("a constraint matrix", n, d, bytes_)


def kkt_need(P: sp.csc_array, A: sp.csc_array) -> Need:
    """[P A'; A 0] and its factor, which has no fewer non-zeros; one triangle of each."""
    size = sum(A.shape)
    return Need("a KKT system", size, size, 2.0 * ENTRY * (0.5 * P.nnz + A.nnz + size))


def dense_need(P: sp.csc_array, A: sp.csc_array) -> Need:
    """P and A as dense matrices."""
    m, k = A.shape
    return Need("a dense matrix", k + m, k, 8.0 * k * (k + m))


def numbers_need(n: int, columns: int, instead: str = "") -> Need:
    """So many numbers of the solver's own for each row, those of the program among them."""
    return Need("numbers of its own", n, columns, 8.0 * n * columns, instead)


def system_need(size: int) -> Need:
    """Newton's matrix, what it is made from, and its factor."""
    return Need("a Gram matrix", size, size, 3.0 * 8.0 * size * size)
