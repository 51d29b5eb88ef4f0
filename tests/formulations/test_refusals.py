"""Formulations: what cannot be written or read is refused in words, and each has its configuration."""

from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml
from forms import ANY, SOFT, make, name_of

from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.hard_dual_qp import HardDualQP
from marginbench.harness.formulations.margin_perceptron import MarginPerceptron
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.formulations.slack_budget import SlackBudget
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.formulations.squared_hinge import SquaredHinge
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import (
    BoxDual,
    RegularisedRisk,
)
from marginbench.harness.model.solver import Iterate

CONF = Path(__file__).resolve().parents[2] / "conf" / "formulation"


@pytest.mark.parametrize("formulation", [*SOFT, SquaredHinge()], ids=name_of)
def test_finite_C_forms_refuse_the_hard_margin(formulation):
    sentence = "C = inf is the hard margin: use hard_primal_qp, hard_dual_qp or max_margin"
    assert formulation.refuses(make("free", C=np.inf)) == sentence


@pytest.mark.parametrize("formulation", [f for f in SOFT if not isinstance(f, DualQP | PrimalQP)], ids=name_of)
def test_hinge_only_forms_refuse_the_squared_hinge(formulation):
    assert "has the hinge; the problem has the squared hinge" in formulation.refuses(make("free", loss="squared_hinge"))


def test_squared_hinge_refuses_the_hinge():
    assert "problem.loss=squared_hinge" in SquaredHinge().refuses(make("free"))


@pytest.mark.parametrize("formulation", ANY, ids=name_of)
@pytest.mark.parametrize("bad", [None, np.zeros(3 * 24 + 5), np.zeros((24, 1)), np.array("x"), np.zeros(24, complex)])
def test_an_iterate_that_is_no_point_is_refused_in_words(formulation, bad):
    problem = formulation.judged(make("free", loss="squared_hinge" if formulation == SquaredHinge() else "hinge"))
    fixed = formulation.at(problem.point(np.zeros(problem.n)), problem)
    for kind in fixed.gives:
        program = fixed.program(problem, kind)
        with pytest.raises(ValueError, match="the solver gave"):
            fixed.point(problem, program, Iterate(bad))


@pytest.mark.parametrize("formulation", [f for f in ANY if not isinstance(f, DualQP | HardDualQP)], ids=name_of)
def test_multipliers_of_the_wrong_shape_are_refused(formulation):
    problem = formulation.judged(make("free", loss="squared_hinge" if formulation == SquaredHinge() else "hinge"))
    fixed = formulation.at(problem.point(np.zeros(problem.n)), problem)
    program = fixed.program(problem, fixed.gives[0])
    size = program.A.shape[1] if hasattr(program, "A") else problem.features.shape[1] + program.intercept
    with pytest.raises(ValueError, match="the solver gave"):
        fixed.point(problem, program, Iterate(np.zeros(size), np.zeros(7)))


@pytest.mark.parametrize("formulation", ANY, ids=name_of)
def test_nan_passes_on_to_the_certificate(formulation):
    problem = formulation.judged(make("free", loss="squared_hinge" if formulation == SquaredHinge() else "hinge"))
    fixed = formulation.at(problem.point(np.zeros(problem.n)), problem)
    for kind in fixed.gives:
        program = fixed.program(problem, kind)
        size = {BoxDual: problem.n, RegularisedRisk: problem.features.shape[1] + (problem.bias == "free")}.get(kind)
        size = program.A.shape[1] if size is None else size
        assert np.isnan(fixed.point(problem, program, Iterate(np.full(size, np.nan))).w).all()


@pytest.mark.parametrize(
    ("make_one", "names"),
    [
        (lambda: SmoothedHinge(0.0), "formulation.delta=0.0"),
        (lambda: MarginPerceptron(-1.0), "formulation.gamma=-1.0"),
        (lambda: SlackBudget(-1.0), "formulation.t=-1.0"),
    ],
)
def test_bad_parameters(make_one, names):
    with pytest.raises(InputError, match=names):
        make_one()


@pytest.mark.parametrize("formulation", ANY, ids=name_of)
def test_each_formulation_has_a_config_with_its_fields(formulation):
    module = type(formulation).__module__
    config = yaml.safe_load((CONF / f"{module.split('.')[-1]}.yaml").read_text())
    target = config.pop("_target_")
    assert target == f"{module}.{name_of(formulation)}"
    made = getattr(import_module(module), name_of(formulation))(**config)
    assert is_dataclass(made)
    assert set(config) == {field.name for field in fields(made)}


def test_each_config_is_tested():
    assert {path.stem for path in CONF.glob("*.yaml")} == {type(f).__module__.split(".")[-1] for f in ANY}
