"""The choice of `auto`: what it is made from, and the family of problems that it is fitted on."""

import numpy as np
import scipy.sparse as sp
from certified import program_of

from marginbench.datasets.family import LARGEST, member
from marginbench.harness.model.problem import Problem
from marginbench.solvers.choice import COEFFICIENTS, advantage, features
from marginbench.solvers.newton.systems import reach_of


def test_the_members_of_the_family_are_seeded_and_of_every_kind():
    members = [member(k) for k in range(12)]
    for k, (X, y) in enumerate(members):
        assert sp.issparse(X) == (k % 4 != 0)
        assert set(np.unique(y)) == {-1.0, 1.0}
        assert 200 <= X.shape[0] <= 1e6
        assert X.size <= 2 * LARGEST
    again = member(5)
    assert (again[0] != members[5][0]).nnz == 0
    np.testing.assert_array_equal(again[1], members[5][1])
    one_hot = members[1][0]
    assert np.ptp(one_hot.data) == 0.0  # sqrt(C), everywhere the same
    text = members[2][0]
    norms = np.sqrt((text.multiply(text)).sum(axis=1))
    np.testing.assert_allclose(norms, norms[0])


def test_C_in_the_rows_is_the_same_problem_as_C():
    rng = np.random.default_rng(0)
    X, y, C, w = rng.normal(size=(30, 4)), np.resize([1.0, -1.0], 30), 0.03, rng.normal(size=4)
    inside = Problem(np.sqrt(C) * X, y, 1.0, "none").primal(w / np.sqrt(C), 0.0)
    np.testing.assert_allclose(C * inside, Problem(X, y, C, "none").primal(w, 0.0), rtol=1e-12)


def test_reach_is_how_far_the_first_step_goes_beyond_the_box():
    X = np.array([[3.0, 4.0], [0.0, 1.0]])
    program = Problem(X, np.array([1.0, -1.0]), 0.5, "none")
    assert reach_of(program_of(program)) == 0.5 * (25.0 + 1.0) / 2


def test_reach_is_that_of_all_rows_in_whatever_order_they_come():
    X, y = np.ones((3200, 2)), np.resize([1.0, -1.0], 3200)
    X[:960] = 0.0
    for rows in (X, X[::-1].copy(), sp.csr_array(X)):
        np.testing.assert_allclose(reach_of(program_of(Problem(rows, y, 0.5, "none"))), 0.7, rtol=1e-12)


def test_more_reach_speaks_for_newton_where_rows_are_many():
    few, many = (advantage(features(50_000, 100, 5_000_000, False, reach)) for reach in (1e-3, 1e2))
    assert few < many
    assert len(features(10, 3, 30, True, 1.0)) == len(COEFFICIENTS)
