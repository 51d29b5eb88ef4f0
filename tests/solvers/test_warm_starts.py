"""Solvers that begin from their own answer at another C: what they find is the optimum, wherever they begin."""

from itertools import islice

import pytest
from problems import random_problem
from small_programs import frozen, layouts, matrix

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.spec import chosen_kind
from marginbench.harness.commands.pairs import made
from marginbench.harness.config_files import CONF
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.squared_hinge import SquaredHinge
from marginbench.harness.model.kernel import Gaussian
from marginbench.harness.model.programs import RegularisedRisk
from marginbench.harness.model.start import start_at

SOLVERS = {name: solver for name, solver in made("solver", [CONF]).items() if solver.takes_start()}
TARGET = {"chambolle_pock": 1e-3, "frank_wolfe": 1e-5, "sdca": 1e-6}
"""Gaps of those that are slow; of the others 1e-8."""

every = pytest.mark.parametrize("name", SOLVERS)


def asked(name, bias="none", layout="dense", **more):
    """A problem that the solver takes, and its formulation."""
    primal = RegularisedRisk in SOLVERS[name].accepts
    loss = "squared_hinge" if primal else "hinge"
    problem = random_problem(7, n=120, bias=bias, loss=loss)
    X, y = matrix(problem.X, layout), frozen(problem.y)
    return problem.with_(X=X, y=y, **more), SquaredHinge() if primal else DualQP()


def solved(name, problem, formulation, begin=None, limit=20_000):
    """(iterates until the gap is certified, the point); None where the solver refuses the problem."""
    solver = SOLVERS[name]
    program = formulation.program(problem, chosen_kind(formulation, solver, problem))
    if solver.refuses(program):
        return None
    start = None if begin is None else start_at(problem, begin)
    for count, iterate in enumerate(islice(solver.iterates_from(program, start), limit), 1):
        point = formulation.point(problem, program, iterate)
        found = certify(problem, point)
        if found.gap is not None and found.gap <= TARGET.get(name, 1e-8):
            return count, point
    raise AssertionError(f"{name} does not reach the gap in {limit} iterates")


def test_the_own_solvers_take_a_start():
    own = "alternating auto chambolle_pock coordinate_descent frank_wolfe newton_augmented projected_gradient sdca smo"
    assert set(SOLVERS) == {*own.split(), "trust_region"}


@every
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_warm_and_cold_agree_at_every_C(name, bias):
    problem, formulation = asked(name, bias)
    begin = None
    for C in (0.03, 0.3, 3.0, 0.1):
        there = problem.with_(C=C)
        cold, warm = solved(name, there, formulation), solved(name, there, formulation, begin)
        if cold is None:
            assert warm is None
            return
        begin = warm[1]
        P = there.primal(*cold[1][:2])
        assert there.primal(*warm[1][:2]) == pytest.approx(P, rel=2.0 * TARGET.get(name, 1e-8))


@every
@layouts
def test_from_the_optimum_of_the_same_C_it_stops_at_once(name, layout):
    problem, formulation = asked(name, "free" if name == "smo" else "none", layout)
    count, point = solved(name, problem, formulation)
    assert solved(name, problem, formulation, point)[0] <= 2
    assert count > 2 or name == "coordinate_descent"  # several epochs of so few rows are one iterate


@every
def test_the_start_is_not_needed_for_anything_else(name):
    """The harness hands over arrays of the solver's own: the point that they come from stays."""
    problem, formulation = asked(name, "free" if name == "smo" else "none")
    _, point = solved(name, problem, formulation)
    before = [array.copy() for array in (point.w, point.alpha)]
    solved(name, problem.with_(C=2.0), formulation, point)
    assert all((array == then).all() for array, then in zip((point.w, point.alpha), before, strict=True))


@pytest.mark.parametrize("name", ["coordinate_descent", "newton_augmented", "auto", "projected_gradient", "smo"])
@pytest.mark.parametrize("bias", ["none", "free"])
def test_with_a_kernel(name, bias):
    problem, formulation = asked(name, bias, kernel=Gaussian(0.3))
    found = solved(name, problem, formulation)
    if found is None:
        return
    count, point = found
    assert solved(name, problem, formulation, point)[0] <= 2
    assert count > 2 or name == "coordinate_descent"  # several epochs of so few rows are one iterate
    there = problem.with_(C=3.0)
    cold, warm = (solved(name, there, formulation, begin)[1] for begin in (None, point))
    assert there.primal(*warm[:2]) == pytest.approx(there.primal(*cold[:2]), rel=2e-8)


def test_few_rows_of_many_columns():
    """Newton's method works on other rows there, and its start is carried over to them."""
    problem = random_problem(8, n=20, d=60, bias="free", C=0.01)
    count, point = solved("newton_augmented", problem, DualQP())
    assert solved("newton_augmented", problem, DualQP(), point)[0] < count
