"""The own residual that reuses the certificate's products is that of the program itself."""

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.cell.certificate import look_at
from marginbench.harness.cell.own_residual import own_residual
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Iterate


@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
@pytest.mark.parametrize("formulation", [DualQP(), SmoothedHinge(0.1)], ids=["dual", "smoothed"])
@pytest.mark.parametrize("away", [0.0, 1e-13, 1e-5, 0.1])
def test_it_is_the_residual_of_the_program_however_far_w_is_from_w_of_alpha(bias, formulation, away):
    problem = random_problem(3, n=50, bias=bias)
    program = formulation.program(problem, BoxDual)
    rng = np.random.default_rng(4)
    alpha = problem.feasible_dual(rng.random(problem.n))
    at = problem.point(alpha)
    w = at.w + away * rng.normal(size=problem.d)
    v = np.append(w, at.b) if bias == "free" else problem.join(w, at.b)
    iterate = Iterate(alpha, v)
    point = formulation.point(problem, program, iterate)
    _, seen = look_at(problem, point, -np.inf, 1e-12)
    found = own_residual(problem, program, iterate, point, seen)
    assert found == pytest.approx(program.residual(alpha, v), rel=2e-3)
