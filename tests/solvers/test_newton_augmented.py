"""Newton's method on the augmented Lagrangian: its samples, its rounds, and the point it ends with."""

import tracemalloc
from itertools import islice, pairwise

import numpy as np
import pytest
from certified import BIASES, gap, program_of, reached
from problems import random_problem

from marginbench.datasets.generators import text
from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Start
from marginbench.harness.rowops import rows_of
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.landing import landed, solve_on_face
from marginbench.solvers.newton.smoothing import Block
from marginbench.solvers.newton.starts import FAR, begun


@pytest.mark.parametrize("bias", BIASES)
def test_smoothed_hinge_is_the_same_program_with_both_bounds(bias):
    """Its own residual is the judge: the smoothed hinge is not the canonical problem."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    problem = Problem(X, y, 0.7, bias)
    program = BoxDual(problem.features, y, problem.upper, 0.2 / problem.upper, bias == "free")
    *_, last = NewtonAugmented().iterates(program)
    assert last.claim == "converged"
    assert program.residual(last.x, last.dual) < 1e-6  # the gap, at 1e-14, is its square


@pytest.mark.parametrize("bias", ["none", "free"])
def test_samples_lead_to_the_full_problem(bias):
    """n large enough for three samples, two blobs in sorted order."""
    rng = np.random.default_rng(11)
    y = np.sort(np.where(rng.random(40_000) < 0.5, 1.0, -1.0))
    problem = Problem(rng.normal(size=(40_000, 3)) + 0.4 * y[:, None], y, 0.5, bias)
    assert reached(problem, NewtonAugmented(), limit=12)


def test_what_is_kept_for_each_row_is_few_numbers():
    """5e7 rows of two columns are solved within the default limit, 86 bytes a row, of which the program has 16."""
    rng = np.random.default_rng(12)
    y = np.where(rng.random(200_000) < 0.5, 1.0, -1.0)
    problem = Problem(rng.normal(size=(y.size, 2)) + 0.7 * y[:, None], y, 1.0, "none")
    program = program_of(problem)
    NewtonAugmented().warm_up(program.head(1000))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        last = next(iterate for iterate in NewtonAugmented().iterates(program) if iterate.info["gap"] < 1e-9)
        most = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert last.x.size == y.size
    assert most < 66 * y.size


@pytest.mark.parametrize("bias", BIASES)
def test_each_proximal_step_is_an_iterate_and_better_than_the_one_before(bias):
    """Whoever needs 1e-3 need not wait for a round of two or three steps to end."""
    problem = random_problem(4, n=12_000, d=10, C=1.0, bias=bias)
    made = islice(NewtonAugmented().iterates(program_of(problem)), 5)
    found = [(np.isinf(iterate.info["gap"]), gap(problem, iterate)) for iterate in made]
    assert [within for within, _ in found[:2]] == [False, True]  # the start, a step within a round
    assert found[0][1] > 3.0 * found[1][1] > 9.0 * found[2][1] > 0.0


@pytest.mark.parametrize("bias", BIASES)
def test_where_a_pass_takes_microseconds_no_iterate_is_proposed_within_a_round(bias):
    """Handing it over takes longer than the step."""
    made = list(NewtonAugmented().iterates(program_of(random_problem(4, n=400, d=10, C=1.0, bias=bias))))
    assert len(made) >= 3
    assert all(np.isfinite(iterate.info["gap"]) for iterate in made)


@pytest.mark.parametrize("bias", BIASES)
def test_the_first_iterate_is_the_best_multiple_of_its_w(bias):
    """Smoothing leaves the first w too short: made longer, on overlapping data it is within 1e-3 of the optimum."""
    problem = random_problem(4, n=4000, d=10, C=1.0, bias=bias)
    first, *_, last = NewtonAugmented().iterates(program_of(problem))
    P = [certify(problem, point_of(problem, first, t)).primal for t in (0.97, 0.99, 1.0, 1.01, 1.03)]
    assert min(P) == P[2] < (1.0 + 1e-3) * certify(problem, point_of(problem, last)).primal


def point_of(problem, iterate, t=1.0):
    """(w, b) of an iterate, t times as long, and its alpha."""
    w, b = t * iterate.dual[: problem.d], t * float(iterate.dual[problem.d :].sum())
    return Point(w, b, iterate.x)


def test_far_from_the_end_newton_keeps_the_w_of_a_start_and_not_its_alpha():
    problem = random_problem(4, n=400, d=10, C=1.0, bias="none")
    block, made = Block.of(program_of(problem)), list(NewtonAugmented().iterates(program_of(problem)))
    alpha = np.clip(made[-1].x + np.random.default_rng(0).choice([0.0, 0.01, 0.5], 400) * problem.upper, 0.0, 1.0)
    for share, kept in ((1e-4, True), (1.0, False)):
        mixed = made[-1].x + share * (alpha - made[-1].x)
        w = block.pull(mixed)
        left, scale = block.gap(block.state(w, mixed, h=0.3))
        assert (left < FAR * scale) == kept
        assert np.array_equal(begun(block, Start(mixed, w, 0.0), large=False).alpha, mixed) == kept


def test_newton_ends_with_its_best_point(monkeypatch):
    """A gap that grows again, as rounding makes it grow at C = 1e4, is not what the solver ends with."""
    gaps = iter([1e-3, 1e-11, *[1e-5] * 40])
    monkeypatch.setattr(Block, "gap", lambda block, state: (next(gaps), 1.0))
    *_, last = NewtonAugmented().iterates(program_of(random_problem(3, n=60, d=5, C=1.0, bias="none")))
    assert (last.claim, last.info["gap"]) == ("converged", 1e-11)


def test_a_slow_h_saves_newton_steps_where_systems_are_large(monkeypatch):
    """Text at C = 1e4, about as many free rows as columns: with an h that falls fast few rows change sides a step."""
    problem, minimise = hard_text(), Block.minimise

    def steps() -> int:
        taken = []

        def counted(block, *args, **more):
            solved = minimise(block, *args, **more)
            taken.append(block.steps)
            return solved

        monkeypatch.setattr(Block, "minimise", counted)
        assert reached(problem, NewtonAugmented(direct=0))
        return sum(taken)

    slow = steps()
    for name, value in {"SLOW_SHRINK": (0.35,) * 1000, "MOST_STEPS": 300}.items():
        monkeypatch.setattr(f"marginbench.solvers.newton.all_rows.{name}", value)  # as for small systems
    monkeypatch.setattr("marginbench.solvers.newton.augmented.widest", lambda _: 2.0)
    assert steps() > 1.5 * slow


def hard_text() -> Problem:
    """Text at C = 1e4: about as many free rows as columns."""
    return Problem(*text(n=2500, d=1000, length=50, topic=0.2, seed=0), 1e4, "none")


def test_once_the_free_rows_are_known_one_system_in_alpha_gives_the_answer():
    gaps = [
        (i.info["gap"], i.info["h"]) for i in islice(NewtonAugmented(direct=0).iterates(program_of(hard_text())), 60)
    ]
    at = next(k for k, (left, _) in enumerate(gaps) if left <= 1e-9)
    assert gaps[at - 1][0] > 1e-7
    assert gaps[at][1] > 1e-2  # proximal steps alone get there by h


def test_a_landing_leaves_margins_of_1_in_the_free_rows_and_alpha_in_the_box():
    program = program_of(hard_text())
    last = next(i for i in NewtonAugmented(direct=0).iterates(program) if i.info["gap"] <= 1e-9)
    block, free = Block.of(program, direct=0), (last.x > 0.0) & (last.x < 1e4)
    rng = np.random.default_rng(1)
    alpha = np.where(free, last.x * (1.0 + 1e-7 * rng.normal(size=last.x.size)), last.x)
    state = block.state(program.image(alpha), alpha, 0.1)
    block.system.F[:] = free
    there = landed(block, state, target=1e-10 * block.gap(state)[1])
    assert np.abs(there.m[free] - 1.0).max() < 1e-9
    assert (there.alpha[~free] == alpha[~free]).all()
    assert there.alpha.min() >= 0.0
    assert there.alpha.max() <= 1e4
    np.testing.assert_allclose(there.theta, program.image(there.alpha), atol=1e-9)


def test_a_landing_on_rows_that_are_dependent_ends_outside_the_box_and_soon():
    """As text_large at C = 1e4 on a face not yet right: 60 margins of 1 with 50 columns, which no alpha has."""
    X, y, alpha = np.random.default_rng(2).normal(size=(60, 50)), np.resize([1.0, -1.0], 60), np.full(60, 0.5)
    w = X.T @ (alpha * y)
    solve_on_face(rows_of(X), y, np.ones(60), (X * X).sum(axis=1), alpha, w, 0.0, 10**12)  # without end if it stays
    assert ((alpha < 0.0) | (alpha > 1.0)).any()


def test_a_landing_that_fails_is_undone_and_the_next_is_tried_much_nearer(monkeypatch):
    """A face that is not yet right: some alpha leaves the box, and the gap grows."""
    tried = []

    def astray(block, state, target):
        gap, scale = block.gap(state)
        tried.append(gap / scale)
        return block.state(np.zeros(block.d), np.zeros(block.n), state.h)

    monkeypatch.setattr("marginbench.solvers.newton.all_rows.landed", astray)
    assert reached(hard_text(), NewtonAugmented(direct=0))
    assert len(tried) > 1
    assert all(after < 0.1 * before for before, after in pairwise(tried))


def wide_and_separable(C: float, bias: str) -> Problem:
    """40 x 2000: P* is near 0.01, and C times the rounding of a margin is far above 1e-9 of that at C = 1e6."""
    rng = np.random.default_rng(7)
    return Problem(rng.normal(size=(40, 2000)) + 0.5, np.where(np.arange(40) % 2 == 0, 1.0, -1.0), C, bias)


@pytest.mark.parametrize("few", [True, False], ids=["few rows", "all columns"])
@pytest.mark.parametrize("bias", BIASES)
def test_a_huge_C_on_separable_data_ends_at_the_accuracy_claimed(bias, few):
    """As leukemia at C = 1e6: margins that rounding leaves below 1 cost more than 1e-9 of P, unless w is stretched."""
    problem = wide_and_separable(1e6, bias)
    if not few:
        problem = Problem(problem.X[:, :60] / 3.0, problem.y, 1e6, bias)
    *_, last = NewtonAugmented().iterates(program_of(problem))
    w, b = (last.dual[:-1], float(last.dual[-1])) if bias == "free" else problem.split(last.dual)
    found = certify(problem, Point(w, b, last.x))
    assert last.claim == "converged"
    assert found.gap is not None
    assert found.gap <= 1e-9
    assert last.info["gap"] <= 1e-9


def test_what_rounding_forbids_is_said():
    """C = 1e12: alpha itself is known to a few digits only."""
    *_, last = NewtonAugmented().iterates(program_of(wide_and_separable(1e12, "none")))
    assert last.claim == "inaccurate"
    assert "margins rounded by 2.2e-16 cost a relative gap of" in last.said
