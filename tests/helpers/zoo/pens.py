"""The problems of the zoo: data, problem and formulation, by name. All have 40 rows or fewer."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.spec import instantiate, make_problem
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.polish import polish

FORMULATIONS = "marginbench.harness.formulations."
DUAL = {"_target_": FORMULATIONS + "dual_qp.DualQP"}
SUM = {"_target_": FORMULATIONS + "regularised_sum.RegularisedSum"}
PRIMAL = {"_target_": FORMULATIONS + "primal_qp.PrimalQP"}
HARD_PRIMAL = {"_target_": FORMULATIONS + "hard_primal_qp.HardPrimalQP"}
HARD = {"_target_": FORMULATIONS + "hard_dual_qp.HardDualQP"}


def overlapping(scale: float = 1.0, sparse: bool = False):
    """Two Gaussian classes off the origin, so that the three biases differ; twice as many +1 as -1."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    X = rng.normal(size=(40, 5)) + 0.7 * y[:, None] * rng.normal(size=5)
    X[:, 0] += 3.0
    if sparse:
        X *= rng.random(X.shape) < 0.5
    return (sp.csr_array(scale * X) if sparse else scale * X), y


def separable():
    rng = np.random.default_rng(1)
    y = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    return rng.normal(size=(40, 5)) + 4.0 * y[:, None] * np.array([1.0, -1.0, 1.0, 0.0, 0.0]), y


def thin():
    """Separable by the first feature, with a margin of 1e-10 of the largest row: a second one is 1e10 times noise."""
    rng = np.random.default_rng(2)
    y = np.where(np.arange(40) % 2 == 0, -1.0, 1.0)
    return np.column_stack([y, 1e10 * rng.normal(size=40)]), y


def contradiction():
    """One row occurs with both labels: nothing separates, and half of each of the two is an exact proof."""
    X, y = separable()
    return np.vstack([X, X[:1]]), np.append(y, -y[0])


def zeros():
    return np.zeros((6, 3)), np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])


@dataclass(frozen=True)
class Pen:
    data: str
    problem: dict[str, Any]
    formulation: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def dataset(self) -> dict[str, Any]:
        own = self.data if "." in self.data else f"zoo.pens.{self.data}"
        return {"_target_": own, **self.settings}


SOFT: dict[str, Any] = {"C": 1.0, "bias": "none", "loss": "hinge"}
INF = float("inf")
PENS = {
    "dual": Pen("overlapping", SOFT, DUAL),
    "dual_free": Pen("overlapping", SOFT | {"bias": "free"}, DUAL),
    "risk": Pen("overlapping", SOFT, SUM),
    "risk_free": Pen("overlapping", SOFT | {"bias": "free"}, SUM),
    "risk_sparse": Pen("overlapping", SOFT, SUM, {"sparse": True}),
    "weighted": Pen("overlapping", SOFT | {"weight": "balanced"}, SUM),
    "tiny_C": Pen("overlapping", SOFT | {"C": 1e-13}, SUM),
    "long_rows": Pen("overlapping", SOFT | {"C": 1e-12}, SUM, {"scale": 1e6}),
    "separable": Pen("separable", SOFT | {"C": INF}, HARD),
    "inseparable": Pen("overlapping", SOFT | {"C": INF}, HARD),
    "contradiction": Pen("contradiction", SOFT | {"C": INF}, HARD),
    "thin": Pen("thin", SOFT | {"C": INF}, HARD),
    "zeros": Pen("zeros", SOFT | {"C": INF}, HARD),
    "stored": Pen(
        "marginbench.datasets.generators.overlapping", SOFT, SUM, {"n": 200, "d": 5, "distance": 2.0, "seed": 1}
    ),
}


def problem(name: str) -> Problem:
    pen = PENS[name]
    return instantiate(pen.formulation).judged(make_problem(*instantiate(pen.dataset), pen.problem))


@cache
def truth(name: str) -> Bounds:
    """What is proven of a pen's optimum, by the proof layer and not by a run."""
    asked = problem(name)
    return enclose(asked, polish(asked, Point(np.zeros(asked.d))))
