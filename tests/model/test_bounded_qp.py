"""Rows with one variable as bounds: the same program, and multipliers that come back to the rows they belong to."""

import numpy as np
import pytest
import scipy.sparse as sp
from adapters import data, dual_qp, primal_qp
from hypothesis import given
from hypothesis import strategies as st

from marginbench.harness.model.bounded_qp import bounded
from marginbench.harness.model.programs import QuadraticProgram


def random_qp(seed: int) -> QuadraticProgram:
    """Rows of one, two and no variables, in any order, with negative factors and bounds on one side."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.4)
    l = np.where(rng.random(9) < 0.3, -np.inf, -rng.random(9))
    u = np.where(rng.random(9) < 0.3, np.inf, rng.random(9))
    return QuadraticProgram(sp.csc_array(np.eye(4)), rng.normal(size=4), sp.csc_array(A), l, u)


@given(st.integers(0, 10_000))
def test_a_point_is_feasible_for_both_or_for_neither(seed):
    program = random_qp(seed)
    qp, rng = bounded(program), np.random.default_rng(seed)
    for x in rng.normal(size=(20, 4)) * rng.choice([0.0, 0.1, 1.0], size=(20, 1)):
        Ax, rows = program.A @ x, qp.A @ x
        inside = ((program.l <= Ax) & (program.u >= Ax)).all()
        equal = (rows[: qp.zero] == qp.b[: qp.zero]).all()
        assert inside == (equal and (rows <= qp.b).all() and (qp.lower <= x).all() and (x <= qp.upper).all())


@given(st.integers(0, 10_000))
def test_multipliers_keep_stationarity(seed):
    """A'prices + reduced costs, in the library's rows, is -A'z in the program's."""
    program = random_qp(seed)
    qp, rng = bounded(program), np.random.default_rng(seed)
    prices, costs = rng.normal(size=qp.b.size), np.zeros(4)
    costs[qp.variable] = rng.normal(size=qp.variable.size)  # a variable without bounds has none
    z = qp.multipliers(prices, costs)
    np.testing.assert_allclose(-(program.A.T @ z), qp.A.T @ prices + costs, atol=1e-12)


@pytest.mark.parametrize("write", [primal_qp, dual_qp])
def test_slacks_and_boxes_are_bounds(write):
    """What counts for the size of a licence: n rows in the primal, the equality in the dual."""
    X, y, C = data(n=40)
    rows = bounded(write(X, y, C)).A.shape[0]
    assert rows == (40 if write is primal_qp else 1)
