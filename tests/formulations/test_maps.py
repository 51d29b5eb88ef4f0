"""Formulations: each is the canonical problem in other variables, at random points and not only at the optimum."""

import numpy as np
import pytest
from forms import every_bias, every_layout, every_weight, make, some_plane, variables
from other_route import solve

from marginbench.harness.cell.certificate import certify
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.hard_primal_qp import HardPrimalQP
from marginbench.harness.formulations.margin_perceptron import MarginPerceptron
from marginbench.harness.formulations.max_margin import MaxMargin
from marginbench.harness.formulations.pegasos import Pegasos
from marginbench.harness.formulations.perceptron import Perceptron
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.formulations.regularised_sum import RegularisedSum
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.formulations.squared_hinge import SquaredHinge
from marginbench.harness.formulations.tikhonov import Tikhonov
from marginbench.harness.model.programs import (
    BoxDual,
    ConeProgram,
    Hinge,
    PerceptronLoss,
    QuadraticProgram,
    RegularisedRisk,
)
from marginbench.harness.model.solver import Iterate


@every_bias
@every_layout
@every_weight
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_primal_qp_is_the_canonical_objective(bias, sparse, weighted, loss):
    problem = make(bias, sparse, weighted, loss)
    w, b = some_plane(problem)
    slack = np.maximum(0.0, 1.0 - problem.margins(w, b))
    program = PrimalQP().program(problem, QuadraticProgram)
    x = variables(problem, w, b, slack)
    assert program.objective(x) == pytest.approx(problem.primal(w, b))
    rows = program.A @ x
    assert (rows >= program.l - 1e-12).all()
    assert np.allclose(rows[: problem.n], problem.margins(w, b) + slack)
    z = -np.arange(float(program.l.size))
    point = PrimalQP().point(problem, program, Iterate(x, z))
    assert np.allclose(point.w, w)
    assert point.b == pytest.approx(b)
    assert np.allclose(point.xi, slack)
    assert np.allclose(point.alpha, np.arange(problem.n))


@every_bias
@every_layout
@every_weight
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dual_qp_is_the_canonical_dual(bias, sparse, weighted, loss):
    problem = make(bias, sparse, weighted, loss)
    alpha = problem.feasible_dual(np.random.default_rng(1).random(problem.n))
    program = DualQP().program(problem, QuadraticProgram)
    assert program.objective(alpha) == pytest.approx(-problem.dual(alpha))
    assert (program.A @ alpha >= program.l - 1e-12).all()
    assert (program.A @ alpha <= program.u + 1e-12).all()
    point = DualQP().point(problem, program, Iterate(alpha, np.zeros(program.l.size)))
    assert np.allclose(point.w, problem.weights(alpha))
    assert point.b == problem.point(alpha).b
    assert np.allclose(point.alpha, alpha)


@every_bias
def test_box_dual_takes_the_plane_that_the_solver_holds(bias):
    problem = make(bias)
    w, b = some_plane(problem)
    program = DualQP().program(problem, BoxDual)
    point = DualQP().point(problem, program, Iterate(np.zeros(problem.n), variables(problem, w, b)))
    assert np.allclose(point.w, w)
    assert point.b == pytest.approx(b)


@every_bias
@every_layout
@every_weight
@pytest.mark.parametrize(
    ("formulation", "factor"),
    [
        (Tikhonov(), lambda p: 1.0 / (p.C * p.n)),
        (RegularisedSum(), lambda p: 1.0 / p.C),
        (Pegasos(), lambda p: 1.0 / (p.C * p.n)),
    ],
    ids=["tikhonov", "regularised_sum", "pegasos"],
)
def test_risks_are_multiples_of_the_canonical_objective(formulation, factor, bias, sparse, weighted):
    problem = make(bias, sparse, weighted)
    w, b = some_plane(problem)
    program = formulation.program(problem, RegularisedRisk)
    assert program.loss == Hinge()
    assert program.objective(variables(problem, w, b)) == pytest.approx(problem.primal(w, b) * factor(problem))
    alpha = np.arange(float(problem.n))
    point = formulation.point(problem, program, Iterate(variables(problem, w, b), alpha))
    assert np.allclose(point.w, w)
    assert point.b == pytest.approx(b)
    assert np.array_equal(point.alpha, alpha)
    assert formulation.point(problem, program, Iterate(variables(problem, w, b))).alpha is None


@every_bias
@every_weight
def test_squared_hinge_is_its_canonical_objective(bias, weighted):
    problem = make(bias, weighted=weighted, loss="squared_hinge")
    w, b = some_plane(problem)
    program = SquaredHinge().program(problem, RegularisedRisk)
    assert program.objective(variables(problem, w, b)) == pytest.approx(problem.primal(w, b))


@every_bias
@every_weight
@pytest.mark.parametrize("delta", [0.5, 1e-2])
def test_smoothed_hinge_costs_at_most_half_a_delta_per_row(bias, weighted, delta):
    problem = make(bias, weighted=weighted)
    formulation = SmoothedHinge(delta)
    allowed = delta / 2.0 * problem.penalty.sum()
    w, b = some_plane(problem)
    risk, box = formulation.program(problem, RegularisedRisk), formulation.program(problem, BoxDual)
    below = problem.primal(w, b) - risk.objective(variables(problem, w, b))
    assert 0.0 <= below <= allowed
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    best = problem.primal(optimum.w, optimum.b)
    for program in (risk, box):
        iterate = solve(program)
        assert program.residual(iterate.x, iterate.dual) < 1e-5
        point = formulation.point(problem, program, iterate)
        assert best * (1.0 - 1e-9) <= problem.primal(point.w, point.b) <= best + allowed
        assert (point.alpha >= -1e-9).all()
        assert (point.alpha <= problem.penalty + 1e-9).all()
        assert np.allclose(problem.weights(point.alpha), point.w, atol=1e-5)
        smooth = risk.objective(variables(problem, point.w, point.b))
        dual = problem.dual(point.alpha) - 0.5 * float(box.curvature @ point.alpha**2)
        assert program is box or smooth == pytest.approx(dual, rel=1e-6)


@every_bias
@every_weight
@pytest.mark.parametrize("accuracy", [0.3, 1e-2])
def test_the_width_for_an_accuracy_costs_at_most_half_of_it_relative_to_the_objective_at_0(bias, weighted, accuracy):
    problem = make(bias, weighted=weighted)
    formulation = SmoothedHinge(**SmoothedHinge().fields_for(accuracy))
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    program = formulation.program(problem, RegularisedRisk)
    point = formulation.point(problem, program, solve(program))
    cost = problem.primal(point.w, point.b) - problem.primal(optimum.w, optimum.b)
    at_0 = problem.primal(np.zeros(problem.X.shape[1]), 0.0)
    assert cost <= 0.5 * accuracy * at_0
    assert formulation.delta >= 0.5 * accuracy  # no harder than that: the curvature is 1 / delta


@every_bias
@every_weight
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_multipliers_that_a_smooth_loss_implies_are_feasible_anywhere(bias, weighted, loss):
    """At a point that is not the minimiser sum alpha_i y_i is not 0; the map restores it, and D bounds P."""
    problem = make(bias, weighted=weighted, loss=loss)
    formulation = SquaredHinge() if loss == "squared_hinge" else SmoothedHinge(1e-3)
    program = formulation.program(problem, RegularisedRisk)
    w, b = some_plane(problem)
    point = formulation.point(problem, program, Iterate(variables(problem, w, b)))
    implied = program.weight * program.loss.slope(problem.margins(w, b))
    found = certify(problem, point)
    assert found.violation <= 1e-12
    assert found.dual <= found.primal
    if bias == "free":
        assert abs(implied @ problem.y) > 1e-2 * implied.sum()
    else:
        assert np.array_equal(point.alpha, implied)


@every_bias
@every_layout
def test_hard_forms_at_random_points(bias, sparse):
    """1/2 ||w||^2 with rows m; and (v, c, beta) = (w, b, min m) / ||w||, read back as (w, b) / min m."""
    problem = HardPrimalQP().judged(make(bias, sparse, distance=3.0))
    w, b = np.ones(problem.d) + 0.1 * np.arange(problem.d), 0.0 if bias == "none" else 0.2
    m, norm = problem.margins(w, b), np.sqrt(problem.norm2(w, b))
    assert m.min() > 0.0
    qp = HardPrimalQP().program(problem, QuadraticProgram)
    x = variables(problem, w, b)
    assert qp.objective(x) == pytest.approx(0.5 * norm**2)
    assert np.allclose(qp.A @ x, m)
    point = HardPrimalQP().point(problem, qp, Iterate(x, -np.arange(float(problem.n))))
    assert np.allclose(point.alpha, np.arange(problem.n))
    cone = MaxMargin().program(problem, ConeProgram)
    x = np.append(variables(problem, w, b), m.min()) / norm
    assert cone.c @ x == pytest.approx(-m.min() / norm)
    slack = cone.b - cone.A @ x
    assert np.allclose(slack[: problem.n], (m - m.min()) / norm)
    assert np.allclose(slack[problem.n :], np.append(1.0, problem.join(w, b) / norm))
    point = MaxMargin().point(problem, cone, Iterate(x))
    assert np.allclose(point.w, w / m.min())
    assert point.b == pytest.approx(b / m.min())
    assert point.alpha is None


def test_a_plane_that_separates_nothing_has_no_scale():
    problem = make("free", C=np.inf)
    point = MaxMargin().point(problem, None, Iterate(np.array([0.6, 0.8, 0.0, 0.1, -0.3])))
    assert np.allclose(point.w, [0.6, 0.8, 0.0])
    assert point.b == pytest.approx(0.1)


def test_perceptrons_are_judged_by_separation_on_the_hard_margin():
    for bias, becomes in (("none", "none"), ("free", "augmented"), ("augmented", "augmented")):
        for formulation, gamma in ((Perceptron(), 0.0), (MarginPerceptron(2.0), 2.0)):
            asked = make(bias, weighted=True, loss="squared_hinge")
            problem = formulation.judged(asked)
            assert formulation.judge == "separation"
            assert (problem.C, problem.bias, problem.loss, problem.weight) == (np.inf, becomes, "hinge", None)
            program = formulation.program(problem, RegularisedRisk)
            assert (program.lam, program.loss, program.intercept) == (0.0, PerceptronLoss(gamma), False)
            w, b = some_plane(problem)
            x = problem.join(w, b)
            assert program.objective(x) == pytest.approx(np.maximum(0.0, gamma - problem.margins(w, b)).sum())
            point = formulation.point(problem, program, Iterate(x))
            assert np.allclose(point.w, w)
            assert point.b == pytest.approx(b)
