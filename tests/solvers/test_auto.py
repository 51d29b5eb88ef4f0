"""The choice between coordinate descent and Newton, and the moment when one gives way to the other."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from certified import gap, program_of
from problems import random_problem

from marginbench.datasets.generators import text
from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Iterate
from marginbench.solvers.auto import BELIEVED_AFTER, NEAR_BOUND, STALLED, WHERE_PREDICTED, Auto, Costs
from marginbench.solvers.choice import COEFFICIENTS, advantage, features_of
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.systems import FACTORISED, reach_of


def test_curvature_that_differs_from_row_to_row_is_refused_in_words():
    program = BoxDual(np.eye(3), np.array([1.0, -1.0, 1.0]), np.ones(3), np.array([0.1, 0.2, 0.3]))
    assert "alike" in (NewtonAugmented().refuses(program) or "")
    assert next(iter(Auto().iterates(program))).info["picked"] == "coordinate_descent"


def test_auto_says_what_it_picked_and_why():
    rng = np.random.default_rng(13)
    y = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(3000, 60)) + 0.5 * y[:, None]
    small, large = (next(iter(Auto().iterates(program_of(Problem(X, y, C, "none"))))) for C in (1e-3, 10.0))
    assert small.info["picked"] == "coordinate_descent"
    assert small.info["why"].startswith("coordinate descent is predicted to take 0.")
    assert large.info["picked"] == "newton_augmented"
    assert large.info["why"].startswith("Newton is predicted to take 0.")
    X, y = sp.random_array((3200, 3100), density=1e-3, rng=rng, format="csr"), np.resize([1.0, -1.0], 3200)
    for bias, why in (("none", "predicted"), ("free", "min(n, d) = 3100")):
        info = next(iter(Auto().iterates(program_of(Problem(X, y, 1.0, bias))))).info
        assert info["picked"] == "coordinate_descent"
        assert why in info["why"]


def test_auto_hands_over_to_newton_when_epochs_run_out():
    rng = np.random.default_rng(14)
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    X = np.zeros((400, 250))
    X[np.arange(400), np.arange(400) % 250] = 0.01
    X[:, :6] += 0.2 * rng.normal(size=(400, 6)) + 0.02 * y[:, None]
    problem = Problem(sp.csr_array(X), y, 1e3, "none")
    seen = [(i.info["picked"], i.look) for i in Auto().iterates(program_of(problem))]
    assert seen[0][0] == "coordinate_descent"
    assert seen[-1] == ("newton_augmented", True)  # few and expensive: the schedule would pass over most


@pytest.mark.parametrize("bias", ["none", "free"])
def test_auto_hands_over_where_coordinate_descent_is_stuck_and_systems_are_large(bias, monkeypatch):
    monkeypatch.setattr("marginbench.solvers.auto.DIRECT", 100)
    problem = Problem(*text(n=500, d=200, length=50, topic=0.2, seed=0), 1e4, bias)
    seen = [(i.info["picked"], gap(problem, i)) for i in Auto().iterates(program_of(problem))]
    first = [g for picked, g in seen if picked == "coordinate_descent"]
    assert seen[0][0] == "coordinate_descent"
    assert min(first) > 0.1  # after 30 epochs and more of each row
    assert seen[-1][0] == "newton_augmented"
    assert min(g for _, g in seen) <= 1e-9


def costs_of(program: BoxDual) -> Costs:
    reach = reach_of(program)
    return Costs(program, reach)


def told(visits: int, estimate: float) -> Iterate:
    return Iterate(None, info={"visits": visits, "estimate": estimate, "remaining": 20.0, "active": 10})


def test_a_large_system_is_handed_over_where_coordinate_descent_stalls_near_the_end(monkeypatch):
    monkeypatch.setattr("marginbench.solvers.auto.DIRECT", 100)
    program = program_of(Problem(*text(n=500, d=2000, length=50, topic=0.2, seed=0), 1.0, "none"))
    steps = [(12_000, 2e-3), (26_000, 2e-3), (42_000, 1.9e-3)]
    costs = costs_of(program)
    assert [costs.slow(told(*step)) for step in steps] == ["", "", STALLED]
    costs = costs_of(program)
    assert not any(costs.slow(told(visits, 1e-2 * estimate)) for visits, estimate in ((26_000, 1.0), (42_000, 0.4)))
    costs = costs_of(program)
    assert not any(costs.slow(told(visits, 2.0)) for visits, _ in steps)  # far from the end it may stand still
    costs = costs_of(replace(program, equality=True))
    assert not any(costs.slow(told(*step)) for step in steps)  # with a free bias the gap is not monotone


def test_coordinate_descent_that_comes_to_its_end_does_not_give_way(monkeypatch):
    """As numbers 183 and 223 of the family: the face is right, and the gap falls faster and faster."""
    monkeypatch.setattr("marginbench.solvers.auto.DIRECT", 100)
    program = program_of(Problem(*text(n=500, d=2000, length=50, topic=0.2, seed=0), 1.0, "none"))
    most = int(costs_of(program).most_visits)
    for before, at, gives_way in ((0.5, 0.05, False), (0.5, 0.4, True), (0.5, 0.6, True)):
        costs = costs_of(program)
        assert not costs.slow(told(int(0.9 * most), before))
        assert bool(costs.slow(told(int(1.05 * most), at))) is gives_way


def test_a_large_C_shortens_the_wait_for_coordinate_descent_where_rows_are_more_than_columns(monkeypatch):
    """As text_large at C = 1e4, far from done with ten times the visits; fewer rows than columns may be separable."""
    monkeypatch.setattr("marginbench.solvers.auto.DIRECT", 100)

    def patience(n: int, d: int, C: float) -> float:
        return costs_of(program_of(Problem(*text(n=n, d=d, length=50, topic=0.2, seed=0), C, "none"))).most_visits

    assert patience(500, 200, 100.0) == patience(500, 200, 1.0)
    assert patience(500, 200, 1e4) == pytest.approx(0.1 * patience(500, 200, 1.0))
    assert patience(500, 2000, 1e4) == patience(500, 2000, 1.0)


def test_coordinate_descent_may_finish_the_first_digits_before_it_gives_way():
    """As spambase_standard at C = 0.01, handed over two epochs before a gap of 1e-3."""
    X, y = np.random.default_rng(0).normal(size=(4000, 50)), np.resize([1.0, -1.0], 4000)
    costs = costs_of(program_of(Problem(X, y, 0.01, "none")))

    def slow(estimate: float, remaining: float) -> bool:
        info = {"visits": 24_000, "estimate": estimate, "remaining": remaining, "active": 1500}
        return bool(costs.slow(Iterate(None, info=info)))

    assert not slow(2e-3, 20.0)
    assert slow(2e-3, 200.0)  # not soon
    assert slow(2e-2, 20.0)  # more than a digit away
    assert slow(9e-4, 20.0)  # reached


def test_where_C_is_so_small_that_margins_cannot_reach_1_coordinate_descent_begins_with_the_answer():
    X, y = np.random.default_rng(0).normal(size=(3000, 2)), np.resize([1.0, -1.0], 3000)
    problem = Problem(X, y, 1e-4, "none")
    first = next(iter(Auto().iterates(program_of(problem))))
    assert first.info["why"].startswith("at so small a C")
    assert gap(problem, first) < 1e-9
    assert first.info["between"] == "coordinate_descent newton_augmented"  # for who judges the choice


def test_alpha_at_its_bound_is_proposed_before_anything_is_chosen(monkeypatch):
    program = program_of(random_problem(7, n=300, d=5, C=1e-6, bias="none"))
    with monkeypatch.context() as patch:
        patch.setattr("marginbench.solvers.auto.reach_of", lambda program: 1 / 0)
        first = next(iter(Auto().iterates(program)))
    alone = next(iter(CoordinateDescent().iterates(program)))
    np.testing.assert_array_equal(first.x, alone.x)
    np.testing.assert_array_equal(first.dual, alone.dual)
    assert first.info["picked"] == "coordinate_descent"
    assert [i.info["picked"] for i in Auto().iterates(program)][-1] == "coordinate_descent"


def test_where_the_model_chooses_it_says_what_from():
    first = next(iter(Auto().iterates(program_of(random_problem(4, n=400, d=10, C=1.0, bias="none")))))
    assert len([float(word) for word in first.info["features"].split()]) == len(COEFFICIENTS)  # for who fits again


def test_at_a_small_C_coordinate_descent_goes_first_though_newton_is_predicted_to_be_faster():
    """As fourclass at C = 0.1: two columns, n times the reach 36, some epochs."""
    X, y = np.random.default_rng(0).normal(size=(900, 2)), np.resize([1.0, -1.0], 900)
    program = program_of(Problem(X, y, 2e-2, "none"))
    assert advantage(features_of(program, reach_of(program))) > 0.0
    assert 2.0 < program.n * reach_of(program) < NEAR_BOUND
    seen = list(Auto().iterates(program))
    assert {iterate.info["picked"] for iterate in seen} == {"coordinate_descent"}
    assert seen[-1].info["epochs"] < 60


def test_with_a_free_bias_coordinate_descent_goes_first_where_rows_are_fewer_than_columns():
    """As wide and svmlight_ex1; few rows (leukemia) are one small system."""
    for n, d, picked in (
        (300, 400, "coordinate_descent"),
        (400, 300, "newton_augmented"),
        (50, 400, "newton_augmented"),
    ):
        X, y = np.random.default_rng(0).normal(size=(n, d)), np.resize([1.0, -1.0], n)
        assert next(iter(Auto().iterates(program_of(Problem(X, y, 1.0, "free"))))).info["picked"] == picked


def test_newton_costs_what_is_counted_or_predicted_whichever_is_less():
    """The count grows like D^3, the prediction not; where it is only predicted, coordinate descent is given more."""
    rng, y = np.random.default_rng(0), np.resize([1.0, -1.0], 2000)
    few, many = (costs_of(program_of(Problem(rng.normal(size=(2000, d)), y, 1.0, "none"))) for d in (60, 900))
    wide = costs_of(program_of(Problem(rng.normal(size=(50, 900)), y[:50], 1.0, "none")))
    assert (few.believed, many.believed, wide.believed) == (BELIEVED_AFTER, WHERE_PREDICTED, WHERE_PREDICTED)
    assert many.newton < FACTORISED * 900**3


def test_at_a_tiny_C_the_end_of_coordinate_descent_is_the_end():
    """P is all slacks: beside sum C the rounding of margins is nothing, though it is more than ||w||^2."""
    X, y = np.random.default_rng(8).normal(size=(300, 800)), np.resize([1.0, -1.0], 300)
    seen = list(Auto().iterates(program_of(Problem(X, y, 1e-9, "none"))))
    assert {one.info["picked"] for one in seen} == {"coordinate_descent"}
    assert seen[-1].claim == "converged"


def test_at_a_huge_C_newton_finishes_what_coordinate_descent_leaves_to_rounding(monkeypatch):
    """As leukemia at C = 1e6: coordinate descent ends where margins short by 1e-15 cost more than 1e-9."""
    monkeypatch.setattr("marginbench.solvers.auto.first_choice", lambda *_: (True, "for the test"))
    rng = np.random.default_rng(7)
    problem = Problem(rng.normal(size=(40, 2000)), np.resize([1.0, -1.0], 40), 1e6, "none")
    seen = list(Auto().iterates(program_of(problem)))
    assert [one.info["picked"] for one in (seen[0], seen[-1])] == ["coordinate_descent", "newton_augmented"]
    assert [one.claim for one in seen if one.claim] == ["converged"]
    assert certify(problem, Point(seen[-1].dual, 0.0, seen[-1].x)).gap <= 1e-9
