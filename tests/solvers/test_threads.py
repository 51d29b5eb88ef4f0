"""program.threads: the same optimum, the same bits for the same number, whatever the data and the linear system."""

import threading
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.datasets.generators import overlapping
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual, RegularisedRisk
from marginbench.harness.rowops import parallel
from marginbench.solvers.auto import Auto
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.newton import smoothing
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.smoothed_hinge import NewtonSmoothedHinge

SOLVERS = {
    "auto": Auto(),
    "coordinate_descent": CoordinateDescent(),
    "newton_augmented": NewtonAugmented(),
    "newton_augmented by products": NewtonAugmented(direct=0),
    "newton_smoothed_hinge": NewtonSmoothedHinge(),
}


@pytest.fixture(autouse=True)
def every_pass_is_worth_it(monkeypatch):
    monkeypatch.setattr(parallel, "WORTH", 0)


def made(solver, sparse, bias):
    X, y = overlapping(n=300, d=6, distance=2.0, seed=1)
    problem = Problem(sp.csr_array(X * (np.abs(X) > 0.5)) if sparse else X, y, C=1.0, bias=bias)
    formulation, kind = (DualQP(), BoxDual) if BoxDual in solver.accepts else (SmoothedHinge(), RegularisedRisk)
    return problem, formulation, formulation.program(problem, kind)


def last(solver, program):
    return list(islice(solver.iterates(program), 400))[-1]


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", SOLVERS)
def test_threads_change_the_order_of_sums_and_nothing_else(name, sparse, bias):
    solver = SOLVERS[name]
    problem, formulation, program = made(solver, sparse, bias)
    values = []
    for threads in (1, 2, 3):
        shared = replace(program, threads=threads)
        one, again = last(solver, shared), last(solver, shared)
        np.testing.assert_array_equal(one.x, again.x)
        point = formulation.point(problem, program, one)
        values.append(problem.primal(point.w, problem.best_bias(point.w) if bias == "free" else point.b))
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


@pytest.mark.parametrize("name", SOLVERS)
def test_no_thread_outlives_the_iterates_also_where_they_are_left_early(name):
    solver, before = SOLVERS[name], threading.active_count()
    program = replace(made(solver, False, "none")[2], threads=3)
    iterates = solver.iterates(program)
    next(iterates)
    iterates.close()
    assert threading.active_count() == before


def test_an_error_between_two_passes_lets_the_other_threads_go(monkeypatch):
    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(smoothing, "newton", fails)
    before = threading.active_count()
    with pytest.raises(MemoryError):
        next(NewtonAugmented().iterates(replace(made(NewtonAugmented(), True, "none")[2], threads=2)))
    assert threading.active_count() == before
