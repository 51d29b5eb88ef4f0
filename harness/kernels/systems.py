"""The matrix of Newton's method on a smoothed loss (`smoothing.py`), and three ways to solve with it.

    H = diag(1, ..., 1, 0) + (1 / s) sum_F v_i (x_i, 1)(x_i, 1)'          the 0 and the 1s belong to b, where it is free

- The Gram matrix G of the sum, d x d, and Cholesky. F changes little from step to step, so G is kept and updated by
  the rows that enter and leave.
- Woodbury's formula, |F| x |F|, and Cholesky: the smaller system where |F| < d, but made anew in each step.
- Conjugate gradients, where both |F| and d are too large for a dense system (text: sparse, d = 20000): products with
  the rows of F alone, preconditioned by the diagonal of H.
"""

import numpy as np
from numba import njit
from scipy.linalg.lapack import dposv
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator, cg

from harness.kernels.passes import take, update_gram
from harness.kernels.rows import CSR, Dense
from harness.problem import Array

DIRECT = 3000
"""The largest dense system."""
PRODUCTS = 1000
"""Products with H after which conjugate gradients give what they have: a direction of descent all the same."""


class NewtonSystem:
    """H for the rows of F, a mask that its owner changes between two solutions; `direct`: the largest dense system."""

    def __init__(self, rows: Dense | CSR, v: Array, F: Array, d: int, bias: bool, direct: int = DIRECT) -> None:
        self.rows, self.v, self.F, self.d, self.bias, self.direct = rows, v, F, d, bias, direct
        self.size = d + bias
        self.ridge = np.ones(self.size)
        self.ridge[d:] = 0.0
        self.G: Array | None = None  # built when first needed
        self.in_G, self.most = np.zeros(F.size, np.bool_), 0
        self.swap = False  # the cheaper of the dense systems has failed
        self.by_rows = False  # the last solution was that of the small system
        self.cut = False  # it was that of conjugate gradients at their limit

    def solve(self, g: Array, s: float, accuracy: float = 1e-10) -> Array:
        """H^-1 g. accuracy: of conjugate gradients, ||H x - g|| <= accuracy ||g||."""
        k = int(np.count_nonzero(self.F))
        if k == 0:
            return self._along_b(g, s)
        if self.d > self.direct:
            self.cut = False
            return self._by_rows(g, s, k) if k <= self.direct else self._by_products(g, s, k, accuracy)
        # G is kept from step to step, the small system is not: a product of sparse rows is dear (one-hot, d = 123).
        cheaper = 2 * k < self.d or (self.d <= 200 and isinstance(self.rows, Dense))
        self.by_rows = k < self.d and cheaper != self.swap
        if self.by_rows:
            return self._by_rows(g, s, k)
        H = self._gram(k) / s
        H.ravel()[:: self.size + 1] += self.ridge
        return solve_positive(H, g)

    def distrust(self) -> bool:
        """The last solution was no better than the one before; True if there is nothing else to try.

        The small system fails where columns differ in scale, the other one where |F| < d and s is small.
        """
        if self.cut:
            return False  # slow, not wrong: the next solution starts where this one ended
        last, self.swap = self.swap or self.d > 1000, True
        return last

    def renew(self) -> None:
        """The last solution was no descent: G is stale after many updates, or the small system fails.

        It does where s is tiny, C large and columns differ in scale over 1e8.
        """
        self.G, self.swap = None, self.swap != self.by_rows

    def _along_b(self, g: Array, s: float) -> Array:
        """F empty (tiny C): w has its solution, b no curvature, so along b alone while it is unbalanced."""
        d, x, total = self.d, g.copy(), self.v.sum()
        if self.bias and abs(g[d]) > 1e-12 * total:
            x[:d], x[d] = 0.0, g[d] * s / total
        elif self.bias:
            x[d] = 0.0
        return x

    def _gram(self, k: int) -> Array:
        count = differing(self.F, self.in_G)
        if self.G is None or count > 0.7 * k or k < 0.3 * self.most:
            # Cheaper than the update, or so much has left that what remains is mostly rounding.
            self.G, self.most, count = np.zeros((self.size, self.size)), k, k
            self.in_G[:] = False
        update_gram(self.rows, self.v, self.F, self.in_G, count, self.bias, self.G)
        self.most = max(self.most, k)
        return self.G

    def _by_rows(self, g: Array, s: float, k: int) -> Array:
        """With X the rows of F and S = diag(v) / s: x = g - X'u, (X X' + 1/S) u = X g + x_b, sum u = g_b."""
        d, x, F = self.d, g.copy(), np.flatnonzero(self.F)
        X = as_matrix(take(self.rows, F), d)
        K = X @ X.T
        K = K.toarray() if issparse(K) else K
        K.ravel()[:: k + 1] += s / self.v[F]
        right = [X @ g[:d], np.ones(k)] if self.bias else [X @ g[:d]]
        solution = solve_positive(K, np.column_stack(right))
        u = solution[:, 0]
        if self.bias:
            x[d] = (g[d] - u.sum()) / solution[:, 1].sum()
            u = u + x[d] * solution[:, 1]
        x[:d] -= X.T @ u
        return x

    def _by_products(self, g: Array, s: float, k: int, accuracy: float) -> Array:
        d, F = self.d, np.flatnonzero(self.F)
        if 2 * k < self.F.size:
            X, weight = as_matrix(take(self.rows, F), d), self.v[F] / s
        else:  # no copy of most of the data
            X, weight = as_matrix(self.rows, d), np.where(self.F, self.v, 0.0) / s

        def product(x: Array) -> Array:
            out, f = self.ridge * x, X @ x[:d]
            if self.bias:
                f += x[d]
            f *= weight
            out[:d] += X.T @ f
            out[d:] += f.sum()
            return out

        diagonal = self.ridge.copy()
        diagonal[:d] += weighted_squares(X, weight)
        diagonal[d:] += weight.sum()
        shape = self.size, self.size
        H, scaled = LinearOperator(shape, product), LinearOperator(shape, lambda r: r / diagonal)
        x, unfinished = cg(H, g, rtol=accuracy, maxiter=PRODUCTS, M=scaled)
        self.cut = unfinished > 0
        return x


def as_matrix(rows: Dense | CSR, d: int) -> Array | csr_array:
    """Rows as what numpy and scipy multiply with; no copy."""
    if isinstance(rows, Dense):
        return rows.X
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.indptr.size - 1, d))


def weighted_squares(X: Array | csr_array, weight: Array) -> Array:
    """sum_i weight_i x_ij^2 for every column j."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij,i->j", X, X, weight)
    return np.bincount(X.indices, X.data**2 * np.repeat(weight, np.diff(X.indptr)), minlength=X.shape[1])


def solve_positive(H: Array, right: Array) -> Array:
    """H^-1 right by Cholesky from the upper triangle. Where rounding made H singular (duplicate rows): with a ridge."""
    _, x, info = dposv(H.T, right, lower=1)
    diagonal, ridge = H.ravel()[:: H.shape[0] + 1], 1e-14
    while info != 0 and ridge < 1.0:
        diagonal += ridge * diagonal.mean()
        _, x, info = dposv(H.T, right, lower=1)
        ridge *= 100.0
    return x


def load_kernels(rows: Dense | CSR, bias: bool) -> None:
    """For a warm-up: loads what a system of these rows may need, which a few samples need not (n < d forms no G)."""
    none = np.zeros(0, np.bool_)
    take(rows, np.arange(1))
    update_gram(rows, np.zeros(0), none, none.copy(), differing(none, none), bias, np.zeros((1, 1)))


@njit(cache=True)
def differing(F, G):
    """How many entries of two masks differ."""
    count = 0
    for i in range(F.size):
        count += F[i] != G[i]
    return count
