"""Cells of a path: what each begins from, what enters its key, and the row of one that cannot begin."""

from dataclasses import replace

import pytest
from problems import random_problem

from marginbench.harness.cell.path import path_of, starts
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.store import asked_key

DUAL = {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"}
DESCENT = {"_target_": "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"}
PATH = [0.1, 1.0, 10.0]


def cell(C, start="cold", solver=DESCENT, repeat=0):
    asked = Cell({}, {"C": C, "bias": "free"}, DUAL, solver, "d", "dual_qp", "s", budget={"gap": 1e-8}, repeat=repeat)
    return replace(asked, path=PATH, start=start)


def test_every_C_is_solved_cold_and_from_the_second_on_warm():
    assert list(starts(PATH)) == [(0.1, "cold"), (1.0, "cold"), (1.0, "warm"), (10.0, "cold"), (10.0, "warm")]
    assert path_of(None) == []
    assert path_of([1, 0.1]) == [1.0, 0.1]
    with pytest.raises(InputError, match="there twice"):
        path_of([1, 2, 1.0])


def test_a_warm_cell_begins_from_the_warm_one_before_and_the_second_from_the_cold_first():
    assert cell(10.0, "warm", repeat=2).before() == cell(1.0, "warm")
    assert cell(1.0, "warm").before() == cell(0.1)
    assert (cell(10.0, "warm").past, cell(10.0).past) == (PATH, [])
    assert (cell(1.0).position, replace(cell(1.0), path=[]).position) == (1, 0)


def test_a_key_tells_what_a_start_depends_on_and_nothing_of_a_cold_one():
    about = ("p", DUAL, DESCENT, {}, {}, 0, 0, 1)
    plain = asked_key(*about)
    assert asked_key(*about, cell(10.0).past) == plain
    assert len({plain, asked_key(*about, [1.0, 10.0]), asked_key(*about, [0.1, 10.0]), asked_key(*about, PATH)}) == 4


def test_a_walk_along_the_path_is_certified_at_every_C():
    problem, before = random_problem(3), None
    for C in PATH:
        cold = run_cell(cell(C), problem.X, problem.y, "d")
        warm = run_cell(cell(C, "warm"), problem.X, problem.y, "d", start=before) if before else cold
        before = warm.point
        assert {cold.record.status, warm.record.status} == {"solved"}
        assert warm.record.problem == cold.record.problem
        assert (warm.record.primal, warm.record.C) == (pytest.approx(cold.record.primal, rel=2e-8), C)
    assert (warm.record.start, warm.record.path, warm.record.position) == ("warm", PATH, 2)


def test_a_cell_that_cannot_begin_is_a_row_that_says_why():
    problem = random_problem(3)
    record = run_cell(cell(10.0, "warm"), problem.X, problem.y, "d").record
    assert (record.status, record.message) == ("skipped", "no answer at C = 1 to begin from")
    cold_only = {"_target_": "marginbench.solvers.clarabel_qp.ClarabelQp"}
    record = run_cell(cell(10.0, "warm", cold_only), problem.X, problem.y, "d").record
    assert (record.status, record.message) == ("skipped", "s takes no start: cold only")
