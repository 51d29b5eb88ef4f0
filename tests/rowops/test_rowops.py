"""Row operations: the products they name, the same for dense and CSR, compiled and in Python."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from marginbench.harness.rowops import add, combine, dot, margins, norm2, rows_of, squared_norms, take


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_passes_are_the_products_they_name(sparse):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
    y, w, a = np.where(rng.random(20) < 0.5, 1.0, -1.0), rng.normal(size=4), rng.normal(size=20)
    rows, index = rows_of(sp.csr_array(X) if sparse else X), np.array([3, 1, 7])
    m, q, pulled = np.empty(20), squared_norms(rows, 20), np.zeros(4)
    margins(rows, y, w, 0.3, m)
    balance = combine(rows, y, a, pulled)
    np.testing.assert_allclose(m, y * (X @ w + 0.3))
    np.testing.assert_allclose(q, (X**2).sum(1))
    np.testing.assert_allclose(pulled, X.T @ (a * y))
    assert balance == pytest.approx(a @ y)
    part = np.empty(3)
    margins(take(rows, index), y[index], w, 0.0, part)
    np.testing.assert_allclose(part, (y * (X @ w))[index])


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_what_one_row_can_do_is_the_same_compiled_and_in_python(sparse):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    rows, v = rows_of(sp.csr_array(X) if sparse else X), rng.normal(size=4)

    def row_by_row(rows, v, products, norms, w):
        for i in range(6):
            products[i], norms[i] = dot(rows, i, v), norm2(rows, i)
            add(rows, i, 0.5 + i, w)

    for function in (row_by_row, njit(row_by_row)):
        products, norms, w = np.empty(6), np.empty(6), np.zeros(4)
        function(rows, v, products, norms, w)
        np.testing.assert_allclose(products, X @ v, atol=1e-15)
        np.testing.assert_allclose(norms, (X**2).sum(1))
        np.testing.assert_allclose(w, X.T @ (0.5 + np.arange(6)), atol=1e-15)
