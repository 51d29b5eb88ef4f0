"""The one form of a data matrix, for what makes data sets and for what makes problems of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp


def as_matrix(X) -> Any:
    """Dense float64 in C order, or CSR with float64 data, sorted 32-bit indices and no duplicates.

    Arrays that are right already are not copied. Indices have 64 bits where 32 do not reach.
    """
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float64)
    X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    index = np.int32 if max(X.nnz, *X.shape) < 2**31 else np.int64
    if X.indices.dtype == index and X.indptr.dtype == index:
        return X
    return sp.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
