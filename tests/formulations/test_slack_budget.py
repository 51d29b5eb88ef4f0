"""The slack budget: its price is C, and where it is another C there are no canonical multipliers."""

import numpy as np
import pytest
from forms import every_bias, every_weight, make
from other_route import solve

from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.formulations.slack_budget import SlackBudget
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import (
    QuadraticProgram,
)


@every_bias
@every_weight
def test_price_of_the_slack_budget_is_C(bias, weighted):
    """Many features, so that w moves with C and the multiplier of the budget is unique."""
    problem = make(bias, weighted=weighted, d=20, C=0.02)
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    budget = SlackBudget().at(optimum, problem)
    assert budget.t == pytest.approx(float(problem.penalty @ np.maximum(0.0, optimum.xi)) / problem.C, rel=1e-6)
    program = budget.program(problem, QuadraticProgram)
    iterate = solve(program)
    assert iterate.dual[-1] == pytest.approx(problem.C, rel=1e-4)
    point = budget.point(problem, program, iterate)
    assert problem.primal(point.w, point.b) == pytest.approx(problem.primal(optimum.w, optimum.b), rel=1e-6)
    assert problem.dual(problem.feasible_dual(point.alpha)) == pytest.approx(problem.dual(optimum.alpha), rel=1e-4)


def test_slack_budget_with_the_price_of_a_larger_C_has_no_canonical_multipliers():
    problem = make("free")
    large = problem.with_(C=1e3)
    far = PrimalQP().point(large, None, solve(PrimalQP().program(large, QuadraticProgram)))
    budget = SlackBudget().at(far, large)
    program = budget.program(problem, QuadraticProgram)
    iterate = solve(program)
    assert iterate.dual[-1] > problem.C
    assert budget.point(problem, program, iterate).alpha is None


def test_slack_budget_needs_t():
    problem = make("free")
    with pytest.raises(InputError, match="slack budget needs t"):
        SlackBudget().program(problem, QuadraticProgram)
    fixed = SlackBudget(t=2.0)
    assert fixed.at(problem.point(np.zeros(problem.n)), problem) is fixed
