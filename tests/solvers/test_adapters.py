"""What adapters share: refusals in words, ladders, warm-ups, extras, and imports that wait until they are needed."""

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import yaml
from adapters import BACKENDS, ROOT, data, first, installed, largest_margin, make, primal_qp

from marginbench.harness.commands.pairs import target
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import (
    BoxDual,
    Hinge,
    PerceptronLoss,
    QuadraticProgram,
    RegularisedRisk,
    SmoothedHinge,
    SquaredHinge,
    smallest_qp,
)
from marginbench.harness.model.solver import Iterate
from marginbench.solvers.cvxpy_model import CvxpyModel
from marginbench.solvers.liblinear import Liblinear
from marginbench.solvers.libsvm import Libsvm
from marginbench.solvers.rehline_risk import Rehline
from marginbench.solvers.skglm_svc import SkglmSvc
from marginbench.solvers.snapml_svm import SnapmlSvm


def test_refusals_name_the_reason():
    X, y, C = data()
    zero, ones = np.zeros(y.size), np.ones(y.size)
    box = partial(BoxDual, X, y)
    assert Libsvm().refuses(box(C, zero)) == "LIBSVM has a free bias; the problem has none"
    assert "quadratic term" in Libsvm().refuses(box(C, ones, equality=True))
    assert "finite" in Libsvm().refuses(box(C + np.inf, zero, equality=True))
    assert "both classes" in Libsvm().refuses(BoxDual(X, ones, C, zero, equality=True))
    risk = partial(RegularisedRisk, X, y, 1.0, C)
    assert "free" in Liblinear().refuses(risk(Hinge(), True))
    assert "hinge" in Liblinear().refuses(risk(SmoothedHinge(0.5)))
    assert "both classes" in Liblinear().refuses(RegularisedRisk(X, ones, 1.0, C, Hinge()))
    assert "w = 0" in CvxpyModel().refuses(risk(PerceptronLoss()))


def test_what_a_library_of_risks_cannot_be_given_is_declared_and_refused():
    X, y, weight = data()
    ones = np.ones(y.size)

    def risk(loss=None, weight=ones, labels=y, free=False):
        return RegularisedRisk(X, labels, 1.0, weight, loss or Hinge(), free)

    said = {  # loss, bias, weights, one class; None where it is taken
        SkglmSvc(): ("only the hinge", "has no bias; the problem's is free", "no sample weights", "both classes"),
        SnapmlSvm(): ("hinge and the squared", "penalises its bias; the", "no sample weights", "both classes"),
        Liblinear(): ("hinge and the squared", "penalises its bias; the", None, "both classes"),
        Rehline(): (None, "has no bias; the problem's is free", None, None),
    }
    asked = risk(SmoothedHinge(0.5)), risk(free=True), risk(weight=weight), risk(labels=ones)
    for solver, expected in said.items():
        assert solver.refuses(risk()) is None
        assert solver.refuses(risk(PerceptronLoss())).startswith(solver.name)
        for program, words in zip(asked, expected, strict=True):
            reason = solver.refuses(program)
            assert (reason is None) if words is None else (words in reason), (solver, reason)


@dataclass(frozen=True)
class Told(Ladder):
    """A black box that converges only at tolerances of at least `reach`."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3)
    reach: float = 0.05

    def solve(self, program, tolerance):
        return Iterate(None, claim="converged" if tolerance >= self.reach else "inaccurate")


def test_no_rung_follows_one_that_did_not_converge():
    assert [i.claim for i in Told().iterates(smallest_qp())] == ["converged", "inaccurate"]


@pytest.mark.parametrize("rungs", [[], [1e-3, -1.0], [0.0], ["tight"], "tight", 3])
def test_a_ladder_without_rungs_to_stand_on_is_refused_in_one_line(rungs):
    with pytest.raises(InputError, match=r"tolerances=.*list of numbers above 0, at least one"):
        Told(rungs)
    assert list(CvxpyModel(tolerances=[]).rungs())  # its default remains


@pytest.mark.parametrize("name", BACKENDS)
def test_what_a_backend_requires_is_in_the_extra_it_names(name):
    """The extra without a name is the project itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    for module, extra in make(name).requires.items():
        packages = {"sklearn": ["scikit-learn"], "liblinear": ["liblinear-official", "liblinear-multicore"]}
        names = packages.get(module, [module, f"{module}-official"])
        assert any(line.startswith(f"{package}>=") for line in extras[extra] for package in names)


def examples():
    """A program of each kind that adapters take."""
    X, y, C = data(sparse=True)
    ones = np.ones(y.size)
    risks = [RegularisedRisk(X, y, 0.7, ones, loss) for loss in (Hinge(), SmoothedHinge(0.5), SquaredHinge())]
    box = BoxDual(X, y, C, np.zeros(y.size), equality=True)
    boxes = [box, replace(box, upper=ones)]  # with weights, and without
    return [primal_qp(X, y, C), largest_margin(*data(n=12, shift=3.0)[:2]), *boxes, *risks]


@pytest.mark.parametrize(
    "name", [n for kind in (QuadraticProgram, BoxDual, RegularisedRisk) for n in installed(kind) if kind is first(n)]
)
def test_warm_up_solves_the_smallest_program_of_every_kind_that_is_taken(name):
    solver = make(name)
    taken = [p for p in examples() if isinstance(p, solver.accepts) and solver.refuses(p) is None]
    assert taken
    for program in taken:
        small = program.smallest()
        assert type(small) is type(program)
        assert solver.refuses(small) is None
        solver.warm_up(program)


def test_importing_an_adapter_imports_no_library():
    """So that a list of solvers is fast, and complete where nothing is installed."""
    modules = {
        target(yaml.safe_load((ROOT / "conf" / "solver" / f"{n}.yaml").read_text())).__module__ for n in BACKENDS
    }
    libraries = (
        "cvxpy osqp clarabel scs sklearn highspy piqp proxsuite qpalm daqp qtqp cvxopt quadprog rehline skglm snapml "
        "qoco qpsolvers coptpy cplex gurobipy liblinear libsvm"
    )
    code = f"import sys, {', '.join(sorted(modules))}; print(*set('{libraries}'.split()) & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
