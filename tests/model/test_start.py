"""Where a warm solver begins: a multiple of alpha that is feasible at the new C, and the best of all by D."""

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.model.kernel import Gaussian
from marginbench.harness.model.problem import Point
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.model.start import begin, start_at
from marginbench.solvers.newton.augmented import NewtonAugmented

BIASES = ("none", "free", "augmented")
RATIOS = (1e-3, 0.3, 1.0, 3.0, 1e3)


def optimum(problem):
    program = BoxDual(problem.features, problem.y, problem.upper, problem.curvature, problem.bias == "free")
    *_, last = NewtonAugmented().iterates(program)
    w, b = problem.split(last.dual[: program.d], last.dual[-1])
    return Point(w, b, last.x)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", BIASES)
def test_it_is_feasible_at_every_C(bias, loss):
    weight = np.linspace(0.1, 3.0, 40)
    at = random_problem(0, C=0.01, bias=bias, weight=weight, loss=loss)
    point = optimum(at)
    for ratio in RATIOS:
        there = at.with_(C=ratio * at.C)
        alpha = start_at(there, point).alpha
        assert (alpha >= 0.0).all()
        assert (alpha <= there.upper).all()
        assert bias != "free" or abs(float(alpha @ there.y)) <= 1e-14 * alpha.sum()


@pytest.mark.parametrize("bias", BIASES)
def test_no_other_multiple_in_the_box_has_a_larger_D(bias):
    at = random_problem(1, bias=bias, C=0.01)
    point = optimum(at)
    assert point.alpha is not None
    for ratio in RATIOS:
        there = at.with_(C=ratio * at.C)
        start = start_at(there, point)
        for t in np.linspace(0.0, ratio, 50):
            inside = there.feasible_dual(t * point.alpha)
            assert there.dual(inside) <= there.dual(start.alpha) + 1e-9 * there.dual(start.alpha)


def test_where_nothing_has_slack_the_multipliers_stay():
    at = random_problem(2, C=1e6, bias="none").with_(X=random_problem(2).y[:, None] * np.ones((40, 5)))
    point = optimum(at)
    assert start_at(at.with_(C=1e3), point).alpha == pytest.approx(point.alpha, rel=1e-7)


def test_w_and_b_are_those_of_the_answer_in_the_columns_of_the_program():
    for bias in BIASES:
        at = random_problem(3, bias=bias)
        point = optimum(at)
        start = start_at(at.with_(C=10.0), point)
        assert at.split(start.w, start.b)[0] == pytest.approx(point.w)
        assert at.split(start.w, start.b)[1] == pytest.approx(point.b)


def test_multipliers_outside_of_the_box_are_brought_into_it():
    at = random_problem(4)
    alpha = start_at(at, Point(np.zeros(5), 0.0, np.linspace(-1.0, 7.0, 40))).alpha
    assert (alpha >= 0.0).all()
    assert (alpha <= at.upper).all()
    assert abs(float(alpha @ at.y)) < 1e-12


def test_without_multipliers_and_with_a_kernel():
    at = random_problem(5)
    assert not start_at(at, Point(np.ones(5))).alpha.any()
    kernel = random_problem(5, bias="none", kernel=Gaussian(0.5))
    start = start_at(kernel.with_(C=2.0), kernel.point(np.full(40, 0.5)))
    assert start.w.size == 0
    assert start.alpha.max() <= 2.0


def test_a_dual_solver_begins_from_alpha_and_its_image():
    at = random_problem(6, bias="none")
    program = BoxDual(at.features, at.y, at.upper, at.curvature)
    alpha, w = begin(program, None)
    assert not alpha.any()
    assert w.shape == (5,)
    alpha, w = begin(program, Start(np.full(40, 0.5), np.zeros(5), 0.0))
    assert w == pytest.approx(at.weights(alpha))


def test_a_parameter_of_iterates_declares_it():
    class Cold(Solver):
        def iterates(self, program):
            yield Iterate(None)

    class Warm(Solver):
        def iterates(self, program, start=None):
            yield Iterate(None if start is None else start.alpha)

    assert (Cold.takes_start(), Warm.takes_start()) == (False, True)
    start = Start(np.ones(1), np.ones(1), 0.0)
    assert next(Warm().iterates_from(None, start)).x is start.alpha
    assert next(Warm().iterates_from(None, None)).x is None
