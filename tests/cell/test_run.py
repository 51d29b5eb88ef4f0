"""A cell's verdict comes from the data: liars are found out, misfits and missing libraries are rows with a sentence."""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, ModuleType

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.cell.attempt import Attempt
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell, instantiate, judged_problem, make_problem
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import InputError, Problem
from marginbench.harness.model.programs import BoxDual, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver


@dataclass(frozen=True)
class Says(Solver):
    """Returns what it is told to, once, and claims convergence."""

    what: str = "zeros"
    claim: str = ""

    accepts = (BoxDual, RegularisedRisk)

    def iterates(self, program):
        size = program.n if isinstance(program, BoxDual) else program.d + program.intercept
        x = {
            "zeros": np.zeros(size),
            "nan": np.full(size, np.nan),
            "inf": np.full(size, np.inf),
            "short": np.zeros(size - 1),
            "complex": np.zeros(size, complex),
            "outside": np.full(size, 2.0),
            "text": np.array(["0"] * size),
            "nothing": None,
        }[self.what]
        if self.what != "no iterate":
            yield Iterate(x, claim=self.claim)


@dataclass(frozen=True)
class Silent(Solver):
    accepts = (BoxDual,)

    def iterates(self, program):
        return iter(())


@dataclass(frozen=True)
class Absent(Says):
    requires = MappingProxyType({"no_such_library": "gpl"})


@dataclass(frozen=True)
class Asked(Silent):
    """Notes what it was asked."""

    asked: list = field(default_factory=list)

    def needs(self, program):
        self.asked.append("needs")

    def warm_up(self, program):
        self.asked.append("warm_up")


@pytest.fixture(autouse=True, scope="module")
def solvers_of_this_test():
    """The solvers above, importable as a user's module would be."""
    module = ModuleType("their_solvers")
    for solver in (Says, Silent, Absent, Asked):
        setattr(module, solver.__name__, solver)
    sys.modules["their_solvers"] = module
    yield
    del sys.modules["their_solvers"]


def cell(solver: str, formulation: str = "dual_qp.DualQP", problem: dict | None = None, **arguments) -> Cell:
    return Cell(
        dataset={},
        problem={"C": 1.0, "bias": "none", **(problem or {})},
        formulation={"_target_": f"marginbench.harness.formulations.{formulation}"},
        solver={"_target_": solver if "." in solver else f"their_solvers.{solver}", **arguments},
        dataset_name="random",
        formulation_name=formulation,
        solver_name=solver,
        budget={"seconds": 5.0, "gap": 1e-6},
    )


def outcome(one: Cell, data: Problem | None = None, known: Bounds | None = None):
    data = data or random_problem(0)
    return run_cell(one, data.X, data.y, "0" * 64, known)


CD = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("zeros", "wrong"),
        ("outside", "wrong"),
        ("nan", "invalid"),
        ("inf", "invalid"),
        ("short", "invalid"),
        ("complex", "invalid"),
        ("text", "invalid"),
        ("nothing", "invalid"),
    ],
)
@pytest.mark.parametrize("formulation", ["dual_qp.DualQP", "tikhonov.Tikhonov"])
def test_a_lying_solver_is_found_out(what, status, formulation):
    bound = outcome(cell(CD)).record.dual
    record = outcome(cell("Says", formulation, what=what), known=Bounds(lower=bound)).record
    assert record.status == status
    assert record.message


def test_multipliers_outside_the_box_are_wrong_even_where_clipping_would_give_the_optimum():
    """At tiny C every multiplier sits at C, so that 2 C clipped to the box is optimal; it was still not the answer."""
    tiny = {"C": 1e-6}
    honest = outcome(cell(CD, problem=tiny)).record
    assert honest.status == "solved"
    record = outcome(cell("Says", problem=tiny, what="outside")).record
    assert record.status == "wrong"
    assert "infeasible" in record.message


def test_a_solver_without_iterates_is_invalid():
    assert outcome(cell("Silent")).record.status == "invalid"


def test_primal_only_methods_need_a_bound_to_be_called_anything_else_than_inaccurate():
    record = outcome(cell("Says", "tikhonov.Tikhonov", what="zeros")).record
    assert record.status == "inaccurate"
    assert record.gap is None


def test_a_missing_library_is_a_row_with_the_command_that_installs_it():
    record = outcome(cell("Absent")).record
    assert record.status == "not_installed"
    assert "pip install 'marginbench[gpl]'" in record.message


def test_a_misfit_is_skipped_with_a_sentence():
    record = outcome(cell(CD, "tikhonov.Tikhonov")).record
    assert record.status == "skipped"
    assert record.message == "the formulation gives RegularisedRisk; the solver takes BoxDual"
    hard = outcome(cell(CD, problem={"C": np.inf})).record
    assert hard.status == "skipped"
    assert "hard margin" in hard.message


def test_a_claim_of_infeasibility_is_not_believed():
    soft = outcome(cell("Says", what="zeros", claim="infeasible")).record
    assert soft.status == "wrong"
    separable = Problem(np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0]))
    hard = outcome(cell("Says", "hard_dual_qp.HardDualQP", what="zeros", claim="unbounded"), separable).record
    assert hard.status == "wrong"


def test_the_record_carries_the_certificate_and_the_curve():
    record = outcome(cell(CD)).record
    assert record.status == "solved"
    assert record.gap <= 1e-6
    assert record.curve[-1]["primal"] == record.primal
    assert [entry["iteration"] for entry in record.curve][:3] == [1, 2, 3]
    assert record.passes == record.solve_seconds / record.pass_seconds
    assert record.problem.startswith("0" * 16)


def test_reaching_the_optimum_after_the_budget_is_a_timeout():
    one = replace(cell(CD), budget={"seconds": 1e-9, "gap": 1.0})
    assert outcome(one).record.status == "timeout"


class TestInput:
    def test_an_unknown_argument_is_named(self):
        with pytest.raises(InputError, match="nonsense"):
            instantiate({"_target_": CD, "nonsense": 1})

    @pytest.mark.parametrize("C", [0.0, -1.0, float("nan"), "abc", None])
    def test_C_must_be_a_number_above_0(self, C):
        data = random_problem(0)
        with pytest.raises(InputError, match=r"problem\.C"):
            make_problem(data.X, data.y, {"C": C, "bias": "none"})

    def test_balanced_weights_give_both_classes_the_same_sum(self):
        data = random_problem(0)
        problem = make_problem(data.X, data.y, {"C": 2.0, "bias": "none", "weight": "balanced"})
        assert problem.penalty[data.y > 0].sum() == pytest.approx(problem.penalty[data.y < 0].sum())
        assert problem.penalty.sum() == pytest.approx(2.0 * data.n)
        with pytest.raises(InputError, match="balanced"):
            make_problem(data.X, data.y, {"weight": "other"})

    @pytest.mark.parametrize(("formulation", "C"), [("dual_qp.DualQP", 2.0), ("hard_dual_qp.HardDualQP", float("inf"))])
    def test_the_formulation_decides_which_problem_judges_its_answer(self, formulation, C):
        data, made = random_problem(0), instantiate({"_target_": f"marginbench.harness.formulations.{formulation}"})
        problem = judged_problem(made, data.X, data.y, {"C": 2.0, "bias": "none"})
        assert (problem.C, problem.bias) == (C, "none")

    def test_only_one_place_makes_the_problem_that_judges(self):
        harness = Path(__file__).resolve().parents[2] / "harness"
        callers = {path.name for path in harness.rglob("*.py") if ".judged(" in path.read_text()}
        assert callers == {"spec.py"}


def test_what_a_solver_needs_is_asked_for_in_its_warm_up_too():
    """It is part of building: what it loads was in the clock of a process whose parent had not loaded it."""
    data = random_problem(0)
    attempt = Attempt(cell("Asked"), data.X, data.y)
    attempt.warm_up()
    assert attempt.solver.asked == ["needs", "warm_up"]
