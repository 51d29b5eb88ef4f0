"""Rows of the maps have the kernel as inner product."""

import numpy as np
import pytest

from marginbench.datasets import kernel_maps as kernels
from marginbench.datasets.check import check


def test_polynomial_rows_have_the_kernel_as_inner_product():
    X, _ = kernels._shells(30, 3, 5)
    phi, y = kernels.polynomial(30, 3, c=0.5, seed=5)
    assert phi @ phi.T == pytest.approx((X @ X.T + 0.5) ** 2, rel=1e-12)
    check(phi, y)


def test_gaussian_rows_have_the_kernel_as_inner_product():
    X, _ = kernels._shells(30, 2, 5)
    phi, y = kernels.gaussian(30, 2, sigma=0.7, seed=5)
    square = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    assert phi @ phi.T == pytest.approx(np.exp(-square / (2 * 0.7**2)) + 2.0**-20 * np.eye(30), abs=1e-11)
    check(phi, y)


@pytest.mark.parametrize("make", [lambda: kernels.polynomial(n=1), lambda: kernels.gaussian(sigma=0.0)])
def test_nonsense_is_refused(make):
    with pytest.raises(ValueError, match="need n >= 2"):
        make()
