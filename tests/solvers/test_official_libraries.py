"""Adapters to authors' own interfaces and to other people's choices of a library, as far as nothing is installed."""

from dataclasses import replace

import numpy as np
import pytest
from adapters import data
from other_route import optimum

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual, Hinge, PerceptronLoss, RegularisedRisk
from marginbench.solvers import liblinear_official
from marginbench.solvers.cvxpy_model import CvxpyAny
from marginbench.solvers.liblinear_official import LiblinearMulticore, LiblinearOfficial
from marginbench.solvers.libsvm_official import LibsvmOfficial
from marginbench.solvers.sklearn_perceptron import SklearnPerceptron
from marginbench.solvers.sklearn_sgd import SklearnSgd


@pytest.mark.parametrize("solver", [LiblinearOfficial(), LiblinearMulticore()], ids=lambda s: type(s).__name__)
def test_two_packages_of_one_name_are_told_apart(monkeypatch, solver):
    """The one installed last is there; which one that is, its source says."""
    X, y, weight = data()
    program = RegularisedRisk(X, y, 1.0, np.ones(y.size), Hinge())
    monkeypatch.setattr(liblinear_official, "multicore_is_installed", lambda: solver.multicore)
    assert solver.refuses(program) is None
    assert solver.refuses(RegularisedRisk(X, y, 1.0, weight, Hinge())) == "LIBLINEAR has no sample weights"
    monkeypatch.setattr(liblinear_official, "multicore_is_installed", lambda: not solver.multicore)
    name = "liblinear-multicore" if solver.multicore else "liblinear-official"
    assert solver.refuses(program).endswith(f"is in its place: pip install --force-reinstall --no-deps {name}")


def test_libsvm_of_its_authors_has_one_C():
    X, y, weight = data()
    box = BoxDual(X, y, weight, np.zeros(y.size), equality=True)
    assert LibsvmOfficial().refuses(box) == "LIBSVM has no sample weights"


def test_an_unknown_name_is_answered_with_what_is_installed():
    with pytest.raises(InputError, match=r"solver.name=NONE: .*possible are CLARABEL, .*OSQP.*SCS"):
        CvxpyAny("NONE")
    assert CvxpyAny("osqp").library == "OSQP"


@pytest.mark.parametrize("intercept", [False, True], ids=["none", "free"])
@pytest.mark.parametrize("weighted", [False, True], ids=["one-weight", "weights"])
def test_sgd_has_the_right_lambda(intercept, weighted):
    """alpha = lam / sum weight: right to 1e-3 in value, where half or twice of it would be off by 1e-2."""
    X, y, weight = data(n=200)
    program = RegularisedRisk(X, y, 100.0, weight if weighted else np.ones(y.size), Hinge(), intercept)
    least = program.objective(optimum(program))
    for factor in (0.5, 1.0, 2.0):
        x = next(SklearnSgd(tolerances=(1e-9,)).iterates(replace(program, lam=factor * program.lam))).x
        error = program.objective(x) / least - 1.0
        assert error < 1e-3 if factor == 1.0 else error > 1e-2


def test_the_perceptron_of_scikit_learn_separates_what_can_be_separated():
    X, y, _ = data(n=30, shift=3.0)
    program = RegularisedRisk(X, y, 0.0, np.ones(y.size), PerceptronLoss())
    *_, end = SklearnPerceptron().iterates(program)
    assert end.claim == "converged"
    assert (program.margins(end.x) > 0.0).all()
    assert "without a margin" in SklearnPerceptron().refuses(RegularisedRisk(X, y, 0.0, y**2, PerceptronLoss(1.0)))
