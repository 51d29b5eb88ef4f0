"""Small programs for the project's own solvers, on read-only data.

A solver that writes into its data fails, and each kernel is compiled once per layout.
"""

from collections.abc import Iterable
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.matrices import as_matrix
from marginbench.harness.model.programs import (
    BoxDual,
    Hinge,
    RegularisedRisk,
)

LAYOUTS = ("dense", "csr")
layouts = pytest.mark.parametrize("layout", LAYOUTS)
both_biases = pytest.mark.parametrize("free", [False, True], ids=["none", "free"])


def frozen(array):
    array = np.array(array, dtype=float)
    array.flags.writeable = False
    return array


def matrix(X, layout="dense"):
    if layout == "dense":
        return frozen(X)
    X = as_matrix(sp.csr_array(X))
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def overlapping(seed=0, n=40, d=5):
    """Two classes, one twice as large, that no hyperplane separates; some entries are zero."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = (rng.normal(size=(n, d)) + 0.5 * y[:, None]) * (rng.random((n, d)) < 0.7)
    return X, y


def separable(seed=0, n=60, d=4, rho=0.1):
    """Rows in the unit ball with y_i u.x_i >= rho for a unit vector u."""
    rng = np.random.default_rng(seed)
    u = np.full(d, d**-0.5)
    X = rng.normal(size=(40 * n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    X = X[np.abs(X @ u) >= rho][:n]
    return X, np.sign(X @ u)


def risk(X, y, lam=0.05, weight=None, loss=None, free=False, layout="dense"):
    weight = np.full(len(y), 1.0 / len(y)) if weight is None else weight
    return RegularisedRisk(matrix(X, layout), frozen(y), lam, frozen(weight), loss or Hinge(), free)


def box(X, y, C=1.0, curvature=0.0, free=False, layout="dense"):
    upper, curvature = frozen(np.broadcast_to(C, len(y))), frozen(np.broadcast_to(curvature, len(y)))
    return BoxDual(matrix(X, layout), frozen(y), upper, curvature, free)


def value(program: BoxDual, alpha):
    """The negated dual objective, which the solvers minimise."""
    w = program.X.T @ (alpha * program.y)
    return 0.5 * float(w @ w) + 0.5 * float(program.curvature @ alpha**2) - float(alpha.sum())


def after(iterates: Iterable, k):
    """(x, dual) of the k-th iterate, or of the last where it ends earlier; and the last claim."""
    for iterate in islice(iterates, k):
        last = iterate
    return np.array(last.x), None if last.dual is None else np.array(last.dual), last.claim


def assert_feasible(program, alpha):
    assert (alpha >= 0.0).all()
    assert (alpha <= program.upper).all()
    if program.equality:
        assert abs(alpha @ program.y) <= 1e-13 * max(1.0, alpha.sum())
