"""Formulations: all of them lead back to one optimum, or to the proof that there is none."""

import numpy as np
import pytest
from forms import HARD, SOFT, every_bias, every_layout, every_weight, make, name_of
from other_route import solve

from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.hard_dual_qp import HardDualQP
from marginbench.harness.formulations.hard_primal_qp import HardPrimalQP
from marginbench.harness.formulations.max_margin import MaxMargin
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.formulations.slack_budget import SlackBudget
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.formulations.squared_hinge import SquaredHinge
from marginbench.harness.model.programs import (
    QuadraticProgram,
    RegularisedRisk,
)
from marginbench.harness.model.solver import Iterate


@every_bias
@every_layout
@every_weight
def test_soft_margin_formulations_agree(bias, sparse, weighted):
    problem = make(bias, sparse, weighted)
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    best = problem.primal(optimum.w, optimum.b)
    assert problem.dual(problem.feasible_dual(optimum.alpha)) == pytest.approx(best, rel=1e-7)
    for formulation in SOFT:
        assert formulation.refuses(problem) is None
        assert formulation.judged(problem) is problem
        formulation = formulation.at(optimum, problem)
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            assert type(program) is kind
            iterate = solve(program)
            point = formulation.point(problem, program, iterate)
            assert problem.primal(point.w, point.b) == pytest.approx(best, rel=1e-6), name_of(formulation)
            if not isinstance(program, RegularisedRisk):  # delta this small blows its gradient up
                assert program.residual(iterate.x, iterate.dual) < 1e-5, name_of(formulation)
            if point.alpha is not None and not isinstance(formulation, SlackBudget | SmoothedHinge):
                assert problem.dual(problem.feasible_dual(point.alpha)) == pytest.approx(best, rel=1e-6)


@every_bias
@every_layout
@every_weight
def test_squared_hinge_formulations_agree(bias, sparse, weighted):
    problem = make(bias, sparse, weighted, loss="squared_hinge")
    values = []
    for formulation in (SquaredHinge(), PrimalQP(), DualQP()):
        assert formulation.refuses(problem) is None
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            iterate = solve(program)
            point = formulation.point(problem, program, iterate)
            values += [problem.primal(point.w, point.b), problem.dual(problem.feasible_dual(point.alpha))]
            own = program.residual(iterate.x, iterate.dual)
            assert own is None or own < 1e-5
    assert values == pytest.approx([values[0]] * len(values), rel=1e-6)


@every_bias
@every_layout
def test_hard_margin_formulations_agree(bias, sparse):
    asked = make(bias, sparse, weighted=True, distance=3.0)
    values = []
    for formulation in HARD:
        problem = formulation.judged(asked)
        assert problem.hard
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            iterate = solve(program)
            point = formulation.point(problem, program, iterate)
            smallest = problem.margins(point.w, point.b).min()
            assert smallest == pytest.approx(1.0, abs=1e-6)
            values += [0.5 * problem.norm2(point.w, point.b), problem.dual(problem.feasible_dual(point.alpha))]
            assert program.residual(iterate.x, iterate.dual) < 1e-5
    assert values == pytest.approx([values[0]] * len(values), rel=1e-6)


@every_bias
@every_layout
def test_inseparable_data_are_proven_so(bias, sparse):
    """Every hard form yields mu >= 0 with sum 1 and sum mu_i y_i x_i = 0: a point that both hulls share."""
    asked = make(bias, sparse, distance=0.0, n=30)
    for formulation in HARD:
        problem = formulation.judged(asked)
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            iterate = solve(program)
            assert iterate.claim == "" or iterate.claim in ("infeasible", "unbounded")
            mu = formulation.infeasibility(problem, program, iterate)
            assert mu.min() >= 0.0
            assert mu.sum() == pytest.approx(1.0)
            assert np.abs(problem.features.T @ (mu * problem.y)).max() < 1e-6
            assert bias != "free" or abs(mu @ problem.y) < 1e-6


def test_no_certificate_where_the_iterate_has_none():
    problem = make("free", C=np.inf)
    assert HardPrimalQP().infeasibility(problem, None, Iterate(np.zeros(4))) is None
    assert HardPrimalQP().infeasibility(problem, None, Iterate(None, np.ones(24))) is None
    assert HardDualQP().infeasibility(problem, None, Iterate(None)) is None
    assert HardDualQP().infeasibility(problem, None, Iterate(np.full(24, np.nan))) is None
    assert MaxMargin().infeasibility(problem, None, Iterate(np.zeros(5))) is None
    assert PrimalQP().infeasibility(problem, None, Iterate(np.zeros(28))) is None
