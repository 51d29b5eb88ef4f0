"""Quadratic and cone programs by libraries: right answers, right signs, honest words; extras where installed."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from adapters import REACH, data, dual_qp, hard_margin_qp, installed, largest_margin, last, make, primal_qp

from marginbench.harness.model.programs import (
    ConeProgram,
    QuadraticProgram,
)
from marginbench.solvers.clarabel_qp import ClarabelQp
from marginbench.solvers.osqp_qp import PAUSE, OsqpQp
from marginbench.solvers.scs_qp import ScsQp


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("write", [primal_qp, dual_qp])
@pytest.mark.parametrize("name", installed(QuadraticProgram))
def test_quadratic_programs_are_solved_with_multipliers_of_the_right_sign(name, write, sparse):
    """A small residual proves optimality: stationarity with z <= 0 at l, z >= 0 at u, feasibility, complementarity."""
    program = write(*data(sparse=sparse))
    iterate = last(make(name), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < REACH.get(name, 1e-8)


def test_primal_and_dual_program_meet_in_one_value():
    X, y, C = data()
    primal, dual = primal_qp(X, y, C), dual_qp(X, y, C)
    assert primal.objective(last(ClarabelQp(), primal).x) == pytest.approx(-dual.objective(last(ScsQp(), dual).x))


@pytest.mark.parametrize("name", installed(ConeProgram))
def test_cone_programs_are_solved_with_multipliers_of_the_right_sign(name):
    program = largest_margin(*data(n=12, shift=3.0)[:2])
    iterate = last(make(name), program)
    assert program.residual(iterate.x, iterate.dual) < REACH.get(name, 1e-7)
    assert np.linalg.norm(iterate.x[:3]) == pytest.approx(1.0)
    for z in (iterate.dual[1 : 1 + program.nonnegative], iterate.dual[-4:-3] - np.linalg.norm(iterate.dual[-3:])):
        assert z.min() > -1e-6  # the dual cone


PROVES = [n for n in ("osqp", "clarabel", "scs", "qpalm", "qtqp") if n in installed(QuadraticProgram)]


@pytest.mark.parametrize("name", PROVES)
def test_a_hard_margin_that_cannot_be_is_proved(name):
    """mu >= 0 with sum mu_i y_i (x_i, 1) = 0: the two hulls meet."""
    X, y, _ = data()
    program = hard_margin_qp(X, y)
    iterate = last(make(name), program)
    assert iterate.claim == "infeasible"
    assert iterate.x is None
    mu = -iterate.dual / -iterate.dual.sum()
    assert mu.min() > -1e-6
    assert np.abs(program.A.T @ mu).max() < 1e-5


@pytest.mark.parametrize("name", PROVES)
def test_its_dual_is_proved_unbounded(name):
    """A direction a >= 0 with a.y = 0 along which w(a) stays 0 while sum a grows."""
    X, y, _ = data()
    program = dual_qp(X, y)
    iterate = last(make(name), program)
    assert iterate.claim == "unbounded"
    a = iterate.x / iterate.x.sum()
    assert iterate.x.sum() > 0
    assert a.min() > -1e-6
    assert abs(a @ y) < 1e-5
    assert np.linalg.norm(X.T @ (a * y)) < 1e-3  # its square is what a library makes small


@pytest.mark.parametrize("name", ["cvxpy_clarabel", "cvxpy_osqp", "cvxpy_scs"])
def test_cvxpy_passes_the_words_infeasible_and_unbounded_on(name):
    """With no point; what there is of multipliers is a certificate, in numbers."""
    X, y, _ = data()
    programs = {"infeasible": hard_margin_qp(X, y), "unbounded": dual_qp(X, y)}
    for word, program in programs.items():
        iterate = last(make(name), program)
        assert iterate.claim == word
        assert iterate.x is None
        assert iterate.dual is None or np.isfinite(iterate.dual).all()


def test_osqp_settles_on_a_penalty_where_C_is_large():
    """With the library's own tolerance the penalty changes for ever, and the residuals with it."""
    X, y, _ = data(n=100, d=10, shift=0.0)
    y = np.where(X @ np.ones(10) > 0.0, 1.0, -1.0)
    program = primal_qp(X, y, np.full(y.size, 1e4))
    iterate = last(OsqpQp(), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < 1e-6


def test_osqp_in_pauses_is_one_long_run_bit_for_bit():
    import osqp

    program = dual_qp(*data(n=60, d=5))
    pauses = 12
    solver = osqp.OSQP()
    settings = {"eps_abs": 1e-9, "eps_rel": 1e-9, "eps_prim_inf": 1e-7, "eps_dual_inf": 1e-7, "verbose": False}
    P, A = sp.csc_matrix(sp.triu(program.P)), sp.csc_matrix(program.A)
    solver.setup(P, program.q, A, program.l, program.u, max_iter=pauses * PAUSE, **settings)
    whole = solver.solve(raise_error=False)
    assert whole.info.rho_updates > 0  # else the test would show nothing
    part = next(islice(OsqpQp(rho_tolerance=5.0).iterates(program), pauses - 1, None))  # the library's own
    assert part.info["library_iterations"] == whole.info.iter == pauses * PAUSE
    np.testing.assert_array_equal(part.x, whole.x)
    np.testing.assert_array_equal(part.dual, whole.y)
