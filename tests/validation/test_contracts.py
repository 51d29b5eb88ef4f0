"""A contract finds the solver that breaks it, and no other."""

import pytest
from wrong_solvers import StaleState
from wrong_subjects import subject

from marginbench.harness.validation.contract_process import check


@pytest.mark.parametrize(
    ("name", "contract"),
    [
        ("MutatesX", "data untouched"),
        ("IgnoresSeed", "deterministic under a seed"),
        ("IgnoresSeed", "global random state untouched"),
        ("ReturnsAverage", "ends with its best point"),
        ("StaleState", "no stale state"),
        ("DenseOnly", "dense and CSR the same"),
        ("PenalisedBias", "a problem that is not stored"),
        ("LabelsFlipped", "a problem that is not stored"),
        ("FirstLabel", "label swap"),
        ("WholeSixteenths", "scaling of data with C"),
    ],
)
def test_a_broken_contract_is_found(name, contract):
    """And the solver that is right keeps it."""
    StaleState.answers.clear()
    (line,) = check(subject(name, "free"), (contract,))
    assert line.result == "fail", line
    (line,) = check(subject("Right", "free"), (contract,))
    assert line.result == "pass", line


def test_a_contract_is_broken_when_it_is_broken_in_one_setting():
    (line,) = check(subject("PenalisedBias", "none", "free"), ("a problem that is not stored",))
    assert line.result == "fail"
    assert "bias free" in line.sentence
    (line,) = check(subject("PenalisedBias", "none"), ("a problem that is not stored",))
    assert line.result == "pass"


def test_an_answer_to_another_problem_is_one_complaint():
    """It is as wrong on every transformed problem, which says nothing new."""
    names = ("a problem that is not stored", "row permutation", "label swap", "feature permutation", "Fortran order")
    lines = check(subject("LabelsFlipped", "free"), names)
    assert [line.contract for line in lines if line.result == "fail"] == ["a problem that is not stored"]


def test_a_solver_that_takes_the_start_for_the_answer_is_found():
    found = {}
    for name in ("Right", "TakesStart", "BelievesStart"):
        (line,) = check(subject(name, "none", "free"), ("warm start from another C",))
        found[name] = line.result
    assert found == {"Right": "not applicable", "TakesStart": "pass", "BelievesStart": "fail"}
