"""Adapters to outside libraries by the name of their configuration, and programs to give them."""

import importlib.util
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import yaml

from marginbench.harness.commands.pairs import target
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.hard_dual_qp import HardDualQP
from marginbench.harness.formulations.hard_primal_qp import HardPrimalQP
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import (
    ConeProgram,
    QuadraticProgram,
)
from marginbench.harness.model.solver import Iterate

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = [
    "osqp",
    "clarabel",
    "scs",
    "cvxpy_clarabel",
    "cvxpy_osqp",
    "cvxpy_scs",
    "cvxpy_highs",
    "cvxpy_piqp",
    "cvxpy_ecos",
    "cvxpy",
    "qpsolvers",
    "liblinear",
    "libsvm",
    "piqp",
    "piqp_dense",
    "proxqp",
    "proxqp_dense",
    "qpalm",
    "daqp",
    "highs",
    "qtqp",
    "qoco",
    "copt",
    "cplex",
    "gurobi",
    "xpress",
    "cvxopt",
    "quadprog",
    "rehline",
    "skglm",
    "snapml",
    "liblinear_official",
    "libsvm_official",
]
# What a library can reach on these tiny programs: 1e-8 unless there is a reason.
REACH = {
    "highs": 1e-6,  # adds about 1e-7 to the diagonal
    "cvxpy_highs": 1e-6,
    "quadprog": 1e-5,  # adds 1e-8, and multipliers of a dual are of size 1e2
    "cvxpy": 1e-6,  # with the default tolerance of Clarabel alone
    "qpsolvers": 1e-6,
    "cvxpy_ecos": 1e-5,  # solves a cone program whose gap is small, not its complementarity
}


def make(name):
    config = yaml.safe_load((ROOT / "conf" / "solver" / f"{name}.yaml").read_text())
    return target(config)(**{k: 0 if v == "${seed}" else v for k, v in config.items() if k != "_target_"})


def first(name):
    return make(name).accepts[0]


def installed(kind):
    solvers = {name: make(name) for name in BACKENDS}
    return [
        name
        for name, solver in solvers.items()
        if kind in solver.accepts and all(importlib.util.find_spec(module) for module in solver.requires)
    ]


def data(n=40, d=3, sparse=False, shift=0.4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    X = rng.normal(size=(n, d)) + shift * y[:, None]
    X = sp.csr_array(np.where(rng.random((n, d)) < 0.3, 0.0, X)) if sparse else X
    return X, y, 0.5 + rng.random(n)


def primal_qp(X, y, C):
    """The soft margin with a free bias, C_i for row i."""
    return PrimalQP().program(Problem(X, y, 1.0, "free", weight=C), QuadraticProgram)


def dual_qp(X, y, C=None):
    """Its dual; without C that of the hard margin."""
    if C is None:
        return HardDualQP().program(Problem(X, y, np.inf, "free"), QuadraticProgram)
    return DualQP().program(Problem(X, y, 1.0, "free", weight=C), QuadraticProgram)


def hard_margin_qp(X, y):
    return HardPrimalQP().program(Problem(X, y, np.inf, "free"), QuadraticProgram)


def largest_margin(X, y):
    """max beta,  y_i (w.x_i + b) >= beta,  ||w|| <= 1,  and b fixed by an equality;  in (w, b, beta)"""
    n, d = X.shape
    fixed = np.eye(d + 2)[d : d + 1]
    margins = np.column_stack([-y[:, None] * X, -y, np.ones(n)])
    ball = np.vstack([np.zeros((1, d + 2)), -np.eye(d, d + 2)])
    b = np.concatenate([[0.1], np.zeros(n), [1.0], np.zeros(d)])
    return ConeProgram(-np.eye(d + 2)[-1], sp.csc_array(np.vstack([fixed, margins, ball])), b, 1, n, (d + 1,))


def last(solver, program) -> Iterate:
    assert solver.refuses(program) is None
    return list(solver.iterates(program))[-1]
