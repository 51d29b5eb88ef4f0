"""The name of a data set's content."""

import hashlib

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix
from marginbench.harness.matrices import as_matrix


def digest(X: Matrix, y: Array) -> str:
    """SHA-256 of shape, labels and non-zeros, the same for dense and CSR storage of the same values.

    Hashed, as little-endian bytes: n and d, y, the number of non-zeros of each row, their columns in increasing
    order, their values. Stored zeros, the order of stored entries and the width of indices do not matter.
    """
    A = as_matrix(sp.csr_array(X))
    if np.count_nonzero(A.data) < A.nnz:
        A = A.copy()
        A.eliminate_zeros()
    sha = hashlib.sha256()
    column = "<i4" if A.shape[1] < 2**31 else "<i8"
    for part, kind in (
        (A.shape, "<i8"),
        (y, "<f8"),
        (np.diff(A.indptr), "<i8"),
        (A.indices, column),
        (A.data, "<f8"),
    ):
        sha.update(np.ascontiguousarray(part, dtype=kind).data)
    return sha.hexdigest()
