"""G = K + eps I of a kernel, as an array or row by row; and scores of other rows."""

from typing import Any

import numpy as np

from marginbench.harness.matrices import LARGE_BLOCK
from marginbench.harness.model.kernel import Kernel

Array = np.ndarray

HELD = 0.8
"""Of the memory allowed, what the matrix may take where a method can do without it."""


def fits(n: int, copies: int, memory_mb: float) -> bool:
    return copies * 8.0 * n * n <= HELD * memory_mb * 2**20


def gram_of(kernel: Kernel, X: Any, eps: float, memory_mb: float | None = None) -> Any:
    """K + eps I, the diagonal rounded up. With a limit of memory, what computes its rows (`KernelRows`)."""
    if memory_mb is not None:
        return _by_rows(kernel, X, eps, memory_mb)
    G = kernel.matrix(X)
    G[np.diag_indices(X.shape[0])] = raised(G.diagonal(), eps)
    return G


def _by_rows(kernel: Kernel, X: Any, eps: float, memory_mb: float) -> Any:
    from marginbench.harness.model.kernel_matrix import own_entries  # compiles: linear problems do without
    from marginbench.harness.model.kernel_rows import KernelRows

    source, own = kernel.source(X), np.empty(X.shape[0])
    own_entries(source, own)
    return KernelRows(source._replace(diagonal=raised(own, eps)), memory_mb)


def raised(own: Array, eps: float) -> Array:
    """K_ii + eps, rounded up"""
    total = own + eps
    part = total - own
    lost = (own - (total - part)) + (eps - part)  # exactly K_ii + eps - total (Knuth)
    return np.where(lost > 0.0, np.nextafter(total, np.inf), total)


def scores(kernel: Kernel, X: Any, own: Any, c: Array) -> Array:
    """sum_j c_j K(x, own_j) of each row x of X, in plain float64, some rows at a time."""
    used = np.flatnonzero(c)
    step, vectors = max(1, LARGE_BLOCK // max(1, used.size)), own[used]
    parts = [kernel.between(X[first : first + step], vectors) @ c[used] for first in range(0, X.shape[0], step)]
    return np.concatenate([np.empty(0), *parts])
