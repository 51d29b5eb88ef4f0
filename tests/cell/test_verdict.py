"""Verdicts: `infeasible` is a proof of the solver's own, the best proven bound decides, contradictions are named."""

import math
import sys
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.cell.hulls import hulls_meet, proven_to_meet, sharpened, solution_exists
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver

BIASES = ("none", "free", "augmented")
CD = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"
CLARABEL = "marginbench.solvers.clarabel_qp.ClarabelQp"
FORMULATIONS = "marginbench.harness.formulations."


@dataclass(frozen=True)
class Tells(Solver):
    """The iterate that a test has put here."""

    accepts = (BoxDual, RegularisedRisk)
    answers = ()

    def iterates(self, program):
        yield from type(self).answers


@pytest.fixture(autouse=True)
def tells(monkeypatch):
    module = ModuleType("told")
    module.Tells = Tells
    monkeypatch.setitem(sys.modules, "told", module)


def cell(C: float = math.inf, bias: str = "none", formulation: str = "hard_dual_qp.HardDualQP", solver="told.Tells"):
    target = {"_target_": FORMULATIONS + formulation}
    budget = {"seconds": 5.0, "gap": 1e-6}
    return Cell({}, {"C": C, "bias": bias}, target, {"_target_": solver}, "", "", "", budget=budget)


def judged(data, iterate: Iterate, known: Bounds | None = None, **more):
    Tells.answers = (iterate,)
    return run_cell(cell(**more), data.X, data.y, "0" * 64, known).record


def crossing(bias: str = "none", n: int = 60, d: int = 4, seed: int = 3) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0), np.inf, bias)


def thin(n: int = 40) -> Problem:
    """Separable by the first feature with a margin of about 1e-10 of the rows."""
    rng = np.random.default_rng(2)
    y = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return Problem(np.column_stack([y, 1e10 * rng.normal(size=n)]), y, np.inf, "none")


def nearly_zero(problem: Problem) -> np.ndarray:
    """Two rows whose large features nearly cancel: ||sum mu_i y_i x_i|| is 1e-9 of the largest row, and not 0."""
    large = problem.y * problem.X[:, 1]
    i, j = int(large.argmax()), int(large.argmin())
    mu = np.zeros(problem.n)
    mu[i], mu[j] = -large[j], (1.0 + 1e-9) * large[i]
    return mu / mu.sum()


class TestInfeasible:
    @pytest.mark.parametrize("bias", BIASES)
    @pytest.mark.parametrize("claim", ["infeasible", "unbounded"])
    def test_a_claim_with_a_proof_that_is_rounded(self, bias, claim):
        problem = crossing(bias)
        mu = sharpened(problem, np.full(60, 1.0 / 60)) * (1.0 + 1e-9 * np.random.default_rng(0).normal(size=60))
        assert judged(problem, Iterate(mu, claim=claim), bias=bias).status == "infeasible"

    @pytest.mark.parametrize(
        ("mu", "claim"),
        [
            (0.0, "converged"),
            (1.0, "converged"),
            (0.0, "infeasible"),
            (1.0, "infeasible"),
            (1.0, "unbounded"),
            (0.0, ""),
        ],
    )
    @pytest.mark.parametrize("known", [Bounds(), Bounds(math.inf, math.inf, "stored")])
    def test_zeros_ones_and_a_claim_of_convergence_earn_nothing(self, mu, claim, known):
        """Neither from the reference nor from the harness's own search: it would find a proof on all rows."""
        problem = crossing()
        assert proven_to_meet(problem, np.ones(60))
        assert judged(problem, Iterate(np.full(60, mu), claim=claim), known).status in ("wrong", "inaccurate")

    def test_a_proof_called_convergence_is_none_of_the_solvers(self):
        problem = crossing()
        mu = sharpened(problem, np.full(60, 1.0 / 60))
        assert judged(problem, Iterate(mu, claim="converged")).status == "wrong"

    def test_a_small_sum_is_no_proof(self):
        """Separable data: the hulls are 1e-10 of the largest row apart, and nothing proves that they meet."""
        problem = thin()
        row = judged(problem, Iterate(nearly_zero(problem), claim="infeasible"))
        assert row.status == "inaccurate"
        assert "no geometric margin is above" in row.message
        known = Bounds(0.4, 0.6, "stored")
        row = judged(problem, Iterate(nearly_zero(problem), claim="infeasible"), known)
        assert row.status == "wrong"
        assert "separates the data" in row.message

    @pytest.mark.parametrize("formulation", ["hard_primal_qp.HardPrimalQP", "hard_dual_qp.HardDualQP"])
    @pytest.mark.parametrize("bias", BIASES)
    def test_an_honest_code_is_never_called_infeasible_on_separable_data(self, formulation, bias):
        problem = thin()
        one = cell(bias=bias, formulation=formulation, solver=CLARABEL)
        assert run_cell(one, problem.X, problem.y, "0" * 64).record.status != "infeasible"

    @pytest.mark.parametrize(
        "formulation", ["hard_primal_qp.HardPrimalQP", "hard_dual_qp.HardDualQP", "max_margin.MaxMargin"]
    )
    @pytest.mark.parametrize(("n", "d"), [(300, 20), (600, 100)])
    def test_an_honest_code_proves_it(self, formulation, n, d):
        problem = crossing(n=n, d=d)
        one = cell(bias="augmented", formulation=formulation, solver=CLARABEL)
        assert run_cell(one, problem.X, problem.y, "0" * 64).record.status == "infeasible"

    @pytest.mark.parametrize("bias", BIASES)
    def test_of_data_that_are_all_zero(self, bias):
        problem = Problem(np.zeros((6, 3)), np.array([1.0, -1, 1, 1, -1, 1]), np.inf, bias)
        mu = np.array([0.5, 0.5, 0, 0, 0, 0])
        assert judged(problem, Iterate(mu, claim="infeasible"), bias=bias).status == "infeasible"

    def test_its_own_hyperplane_disproves_a_claim(self):
        problem = Problem(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.inf, "none")
        row = judged(problem, Iterate(np.ones(2), claim="infeasible"))
        assert row.status == "wrong"
        assert "its own hyperplane" in row.message

    def test_a_hyperplane_that_is_a_little_short_is_solved(self):
        """0.99 of the optimum violates m_i >= 1 by 0.01; a hard margin has no scale."""
        problem = Problem(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.inf, "none")
        row = judged(problem, Iterate(0.495 * np.ones(2), claim="converged"))
        assert row.status == "solved"
        assert row.kkt_primal == pytest.approx(0.01)


class TestProofs:
    @pytest.mark.parametrize("bias", BIASES)
    @pytest.mark.parametrize("d", [3, 30])
    def test_a_system_with_a_positive_solution(self, bias, d):
        problem = crossing(bias, n=8 * d, d=d)
        mu = sharpened(problem, np.full(8 * d, 1.0))
        assert solution_exists(problem, mu)
        if d == 3:
            assert hulls_meet(problem, mu)

    @pytest.mark.parametrize("seed", range(40))
    def test_no_system_of_separable_rows_has_one(self, seed):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 6))
        X, w = rng.normal(size=(d + 1, d)), rng.normal(size=d)
        problem = Problem(X, np.where(X @ w > 0, 1.0, -1.0), np.inf, "none")
        assert not solution_exists(problem, np.ones(d + 1))
        assert not solution_exists(problem, rng.random(d + 1))
        assert not proven_to_meet(problem, rng.random(d + 1))

    def test_a_positive_solution_of_rounded_equations_is_not_enough(self):
        """x = (1, 1 + 1e-30) cannot be told from (1, 1) in float64; the data can be told from each other."""
        large = np.array([[1e200, 1.0], [-1e200, 1.0], [1.0, -1e-150]])
        problem = Problem(large, np.array([1.0, 1.0, 1.0]), np.inf, "none")
        assert not solution_exists(problem, np.array([1.0, 1.0, 1e-10]))


class TestBestBound:
    def test_bad_multipliers_do_not_make_a_right_hyperplane_wrong(self):
        """As those that the slope of a smoothed hinge implies: the same w without them is solved."""
        data = random_problem(0)
        best = run_cell(cell(1.0, "none", "dual_qp.DualQP", CD), data.X, data.y, "0" * 64)
        known = Bounds(best.record.dual, best.record.primal, "stored", best.point)
        for alpha in (None, np.zeros(data.n), np.full(data.n, 1.0)):
            row = judged(
                data,
                Iterate(best.point.w, alpha, claim="converged"),
                known,
                C=1.0,
                formulation="regularised_sum.RegularisedSum",
            )
            assert (row.status, row.dual_source) == ("solved", "reference")
            assert row.dual == known.lower
            assert (row.own_dual is None) == (alpha is None)

    @pytest.mark.parametrize("end", ["lower", "upper"])
    def test_what_contradicts_a_reference_is_wrong_and_says_so(self, end):
        data = random_problem(0)
        one = cell(1.0, "none", "dual_qp.DualQP", CD)
        honest = run_cell(one, data.X, data.y, "0" * 64).record
        false = {"lower": Bounds(1.1 * honest.primal, 2 * honest.primal), "upper": Bounds(0.0, 0.9 * honest.dual)}[end]
        row = run_cell(one, data.X, data.y, "0" * 64, replace(false, source="stored")).record
        assert row.status == "wrong"
        assert row.message.startswith("contradicts the stored reference: ")

    def test_numbers_beyond_double_precision_are_not_the_solvers_fault(self):
        X = 1e155 * np.array([[1.0, 0.2], [-1.0, 0.1]])
        data = Problem(X, np.array([1.0, -1.0]), 1.0, "none")
        row = judged(data, Iterate(np.full(2, 1e-300), claim="converged"), C=1.0, formulation="dual_qp.DualQP")
        assert row.status == "inaccurate"
        assert "the problem's numbers" in row.message

    @pytest.mark.parametrize(("C", "scale"), [(1e-13, 1.0), (1.0, 1e6)])
    def test_nothing_is_solved_by_zeros_where_objectives_are_small(self, C, scale):
        data = random_problem(0)
        data = data.with_(X=scale * data.X)
        row = judged(data, Iterate(np.zeros(data.n), claim="converged"), C=C, formulation="dual_qp.DualQP")
        assert (row.status, row.gap) == ("wrong", 1.0)
