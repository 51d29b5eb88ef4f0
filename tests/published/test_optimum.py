"""What is proven of an optimum from bounds of P*: a rough point says less than a sharp one, and nothing else."""

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.model.kernel import Polynomial
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.published.optimum import Optimum
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.polish import polish

TOY = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])


def sharp(problem: Problem) -> Optimum:
    point = polish(problem, Point(np.zeros(problem.d), 0.0, np.zeros(problem.n)))
    return Optimum(problem, enclose(problem, point), point)


def rough(problem: Problem, best: Point, seed: int) -> Optimum:
    """What a point some way off proves."""
    rng = np.random.default_rng(seed)
    w = best.w + 1e-4 * rng.standard_normal(problem.d)
    alpha = problem.feasible_dual(np.asarray(best.alpha) * (1.0 - 1e-4 * rng.random(problem.n)))
    point = Point(w, problem.best_bias(w), alpha)
    return Optimum(problem, enclose(problem, point), point)


def inside(narrow, wide) -> bool:
    return wide.low <= narrow.low and narrow.high <= wide.high


@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_rough_point_proves_contains_what_a_sharp_one_proves(bias, seed):
    problem = random_problem(seed).with_(bias=bias)
    exact = sharp(problem)
    other = rough(problem, exact.point, seed)
    assert other.radius > 1e3 * exact.radius
    assert inside(exact.norm, other.norm)
    assert inside(exact.support_vectors, other.support_vectors)
    assert inside(exact.at_bound, other.at_bound)
    assert inside(exact.accuracy(problem.X, problem.y), other.accuracy(problem.X, problem.y))
    assert abs(exact.point.b - other.point.b) <= other.bias_error + exact.bias_error


def test_the_toy_problem_has_two_support_vectors_and_none_at_the_bound():
    exact = sharp(Problem(TOY, np.array([-1.0, -1, -1, 1, 1, 1]), 1.0, "free"))
    assert exact.unique
    assert exact.support_vectors == (2, 2)
    assert exact.at_bound == (0, 0)
    assert exact.norm.low <= np.sqrt(0.5) <= exact.norm.high


def test_a_repeated_support_vector_may_count_once_or_twice():
    """alpha = 0.25 is shared out between the copies in any way: one or two of them are positive."""
    exact = sharp(Problem(np.vstack([TOY, TOY[3]]), np.array([-1.0, -1, -1, 1, 1, 1, 1]), 1.0, "free"))
    assert not exact.unique
    assert exact.support_vectors == (2, 3)
    assert exact.at_bound == (0, 0)


def test_a_repeated_support_vector_may_be_at_the_bound_if_the_sum_allows_it():
    """With C = 0.25 one copy can have all of it."""
    exact = sharp(Problem(np.vstack([TOY, TOY[3]]), np.array([-1.0, -1, -1, 1, 1, 1, 1]), 0.25, "free"))
    assert exact.support_vectors == (2, 3)
    assert exact.at_bound.high == 2


@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_a_kernel_that_is_the_product_of_rows_proves_the_same(bias):
    problem = random_problem(2).with_(bias=bias)
    plain = sharp(problem)
    other = problem.with_(kernel=Polynomial(1.0, 0.0, 1))
    point = Point(np.asarray(plain.point.alpha) * problem.y, plain.point.b, plain.point.alpha)
    exact = Optimum(other, enclose(other, point), point)
    assert exact.norm.low <= plain.norm.high + 1e-9
    assert plain.norm.low <= exact.norm.high + 1e-9
    assert inside(plain.support_vectors, exact.support_vectors)
    assert inside(plain.at_bound, exact.at_bound)
    assert exact.accuracy(problem.X, problem.y).meets(plain.accuracy(problem.X, problem.y))


def test_a_free_bias_of_the_squared_hinge_is_left_open():
    exact = sharp(random_problem(0).with_(bias="free", loss="squared_hinge"))
    assert exact.bias_error == np.inf
