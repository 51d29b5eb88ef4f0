"""Every formulation, a problem for them, and the forward map of the primal ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.hard_dual_qp import HardDualQP
from marginbench.harness.formulations.hard_primal_qp import HardPrimalQP
from marginbench.harness.formulations.margin_perceptron import MarginPerceptron
from marginbench.harness.formulations.max_margin import MaxMargin
from marginbench.harness.formulations.pegasos import Pegasos
from marginbench.harness.formulations.perceptron import Perceptron
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.formulations.regularised_sum import RegularisedSum
from marginbench.harness.formulations.slack_budget import SlackBudget
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.formulations.squared_hinge import SquaredHinge
from marginbench.harness.formulations.tikhonov import Tikhonov
from marginbench.harness.model.problem import Problem

BIASES = ["none", "free", "augmented"]
SOFT = [DualQP(), PrimalQP(), SlackBudget(), Tikhonov(), RegularisedSum(), Pegasos(), SmoothedHinge(1e-6)]
HARD = [HardPrimalQP(), HardDualQP(), MaxMargin()]
ANY = [*SOFT, *HARD, SquaredHinge(), Perceptron(), MarginPerceptron()]
every_bias = pytest.mark.parametrize("bias", BIASES)
every_layout = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
every_weight = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def name_of(case):
    return type(case).__name__


def make(bias, sparse=False, weighted=False, loss="hinge", C=0.7, n=24, d=3, distance=0.6):
    """Two clouds; at the default distance they overlap, at 3 they do not."""
    rng = np.random.default_rng(7)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = rng.standard_normal((n, d)) + distance * y[:, None] + 0.3
    X[rng.random((n, d)) < 0.2] = 0.0
    weight = rng.uniform(0.2, 3.0, n) if weighted else None
    return Problem(sp.csr_array(X) if sparse else X, y, C, bias, loss, weight, s=1.5)


def some_plane(problem, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(problem.d), 0.0 if problem.bias == "none" else float(rng.standard_normal())


def variables(problem, w, b, *rest):
    """x = (v, b where free, rest): the forward map of every primal form."""
    return np.concatenate([problem.join(w, b), [b] if problem.bias == "free" else [], *rest])
