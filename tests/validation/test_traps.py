"""Known traps of solver libraries: the problems of the library that bear their names catch them, with the real code."""

import importlib.util

import pytest
import yaml
from here import Here
from wrong_subjects import FORMULATIONS, REFERENCE

from marginbench.harness.config_files import CONF
from marginbench.harness.references.library import Library, entries
from marginbench.harness.validation.examination import Examination

SILENCED = "trapped.SilencedLinearSVC"
TRAPS = [
    ("trap_liblinear_stuck-100.0-none", "sklearn", {"_target_": SILENCED, "tol": 1e-12}, "regularised_sum"),
    ("trap_liblinear_300-1000.0-none", "sklearn", {"_target_": SILENCED, "max_iter": 300}, "regularised_sum"),
    ("trap_cvxpy_hinge-1.0-none", "cvxpy", "cvxpy_highs", "regularised_sum"),
    ("trap_highs_tolerance-16777216.0-none", "highspy", "highs", "dual_qp"),
    ("trap_proxqp_warm_start-2.0-none", "proxsuite", {"_target_": "trapped.StaleProxqp"}, "dual_qp"),
]
"""Problem, library, solver (a configuration, or its name), formulation."""


def rows(problem, solver, formulation, folder):
    config = yaml.safe_load((CONF / "solver" / f"{solver}.yaml").read_text()) if isinstance(solver, str) else solver
    config = {key: 0 if value == "${seed}" else value for key, value in config.items()}
    chosen = {formulation: FORMULATIONS[formulation]}
    exam = Examination(config, "trapped", chosen, Library(), REFERENCE, Here(), folder=folder)
    return list(exam.rows([entry for entry in entries() if entry.name == problem]))


@pytest.mark.parametrize(
    ("problem", "solver", "formulation"),
    [(problem, *rest) for problem, library, *rest in TRAPS if importlib.util.find_spec(library)],
)
def test_a_trap_is_caught_on_the_problem_of_its_name(problem, solver, formulation, tmp_path):
    """Of the libraries installed. The claim of convergence is wrong by more than a hundredth of the optimum."""
    (row,) = rows(problem, solver, formulation, tmp_path)
    assert row.wrong_claim
    assert row.kept is False
    assert row.error > 1e-2


@pytest.mark.parametrize("problem", [problem for problem, *_ in TRAPS])
def test_a_trap_is_no_hard_problem(problem, tmp_path):
    """Its optimum is stored, and a careful solver reaches it."""
    (row,) = rows(problem, "coordinate_descent", "dual_qp", tmp_path)
    assert row.kept


def test_a_looser_tolerance_of_the_same_library_is_better_where_the_tight_one_is_stuck(tmp_path):
    problem, _, solver, formulation = TRAPS[0]
    (row,) = rows(problem, {**solver, "tol": 1e-6}, formulation, tmp_path)
    assert row.error < 1e-5
