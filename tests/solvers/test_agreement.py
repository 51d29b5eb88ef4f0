"""Every way to write the problem down has the same optimum: all accurate methods agree, and each proves its gap."""

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Problem

SOFT = {
    "primal_qp.PrimalQP": ["clarabel_qp.ClarabelQp", "osqp_qp.OsqpQp"],
    "dual_qp.DualQP": [
        "coordinate_descent.CoordinateDescent",
        "newton_augmented.NewtonAugmented",
        "projected_gradient.ProjectedGradient",
        "sdca.SDCA",
        "smo.SMO",
        "clarabel_qp.ClarabelQp",
    ],
    "slack_budget.SlackBudget": ["clarabel_qp.ClarabelQp"],
    "tikhonov.Tikhonov": ["cvxpy_model.CvxpyModel"],
    "regularised_sum.RegularisedSum": ["cvxpy_model.CvxpyModel"],
    "pegasos.Pegasos": ["cvxpy_model.CvxpyModel"],
    "smoothed_hinge.SmoothedHinge": ["newton_smoothed_hinge.NewtonSmoothedHinge"],
}
HARD = {
    "hard_primal_qp.HardPrimalQP": ["clarabel_qp.ClarabelQp"],
    "hard_dual_qp.HardDualQP": ["clarabel_qp.ClarabelQp", "newton_augmented.NewtonAugmented"],
    "max_margin.MaxMargin": ["clarabel_qp.ClarabelQp"],
}


def pairs(methods: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(formulation, solver) for formulation, solvers in methods.items() for solver in solvers]


def run(data: Problem, formulation: str, solver: str, known: Bounds | None = None, gap: float = 1e-7, **problem):
    more = {"delta": 1e-8} if "Smoothed" in formulation else {}
    cell = Cell(
        dataset={},
        problem={"C": 1.0, "bias": data.bias, **problem},
        formulation={"_target_": f"marginbench.harness.formulations.{formulation}", **more},
        solver={"_target_": f"solvers.{solver}"},
        dataset_name="random",
        formulation_name=formulation,
        solver_name=solver,
        budget={"seconds": 20.0, "gap": gap},
    )
    return run_cell(cell, data.X, data.y, "0" * 64, known)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_all_soft_margin_methods_agree(bias, sparse):
    data = random_problem(1, n=30, d=3, bias=bias, sparse=sparse)
    best = run(data, "dual_qp.DualQP", "newton_augmented.NewtonAugmented", gap=1e-10)
    known = Bounds(best.record.dual, best.record.primal, "computed", best.point)
    objectives = {}
    for formulation, solver in pairs(SOFT):
        record = run(data, formulation, solver, known).record
        if record.status == "skipped":
            assert record.message
            continue
        assert record.status == "solved", (formulation, solver, record.message)
        assert record.gap <= 1e-6
        objectives[formulation, solver] = record.primal
    assert len(objectives) >= 10
    values = np.array(list(objectives.values()))
    assert np.ptp(values) <= 1e-6 * values.max(), objectives


@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
class TestHardMargin:
    X = np.array([[2.0, 1.0], [1.5, -0.5], [3.0, 0.0], [-1.0, 0.2], [-2.0, -1.0], [-1.2, 1.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])

    def test_all_methods_agree_and_a_large_C_comes_to_the_same(self, bias):
        data = Problem(self.X, self.y, 1.0, bias)
        records = [run(data, *pair).record for pair in pairs(HARD)]
        assert {record.status for record in records} == {"solved"}
        soft = run(data, "dual_qp.DualQP", "newton_augmented.NewtonAugmented", C=1e6).record
        values = np.array([record.primal for record in [*records, soft]])
        assert np.ptp(values) <= 1e-6 * values.max()

    def test_without_a_separator_it_is_proven_that_there_is_none(self, bias):
        crossed = Problem(np.vstack([self.X, -self.X]), np.concatenate([self.y, self.y]), 1.0, bias)
        for pair in pairs(HARD):
            record = run(crossed, *pair).record
            assert record.status == "infeasible", (pair, record.message)
            assert record.primal is None


def test_the_bias_is_right_when_every_multiplier_sits_at_C():
    """Tiny C, balanced classes: no support vector is free, and b is anything in an interval."""
    data = random_problem(2, n=30, bias="free")
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    problem = Problem(data.X, y, 1e-4, "free")
    alpha = np.full(30, 1e-4)
    point = problem.point(alpha)
    low, high = problem.bias_interval(point.w, alpha)
    assert low <= point.b <= high
    assert low < high
    assert certify(problem, point).gap <= 1e-12
    record = run(problem, "dual_qp.DualQP", "smo.SMO", C=1e-4).record
    assert record.status == "solved"
    assert record.primal == pytest.approx(problem.primal(point.w, point.b), rel=1e-6)
