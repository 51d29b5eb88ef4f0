"""What holds of all of the project's own first-order, classical and Newton solvers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from small_programs import LAYOUTS, after, box, layouts, overlapping, risk

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import (
    PerceptronLoss,
    SmoothedHinge,
    SquaredHinge,
)
from marginbench.harness.rowops import passes
from marginbench.solvers import pegasos, perceptron, projected_gradient, sdca, smo
from marginbench.solvers.newton import gram, smoothing, systems
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.smoothed_hinge import NewtonSmoothedHinge
from marginbench.solvers.pegasos import Pegasos
from marginbench.solvers.perceptron import Perceptron
from marginbench.solvers.projected_gradient import ProjectedGradient
from marginbench.solvers.sdca import SDCA
from marginbench.solvers.smo import SMO
from marginbench.solvers.subgradient import Subgradient


def every_solver(layout="dense"):
    """(solver, a program it takes), for what holds of all of them."""
    X, y = overlapping()
    weight = np.linspace(0.5, 1.5, len(y)) / len(y)
    return [
        (Perceptron(order="random", average=True), risk(X, y, 0.0, loss=PerceptronLoss(0.1), layout=layout)),
        (Pegasos(batch=3, project=True, average="linear"), risk(X, y, weight=weight, layout=layout)),
        (Subgradient(), risk(X, y, weight=weight, free=True, layout=layout)),
        (NewtonSmoothedHinge(), risk(X, y, weight=weight, loss=SmoothedHinge(0.1), free=True, layout=layout)),
        (NewtonSmoothedHinge(direct=0), risk(X, y, weight=weight, loss=SquaredHinge(), layout=layout)),
        (SDCA(), box(X, y, C=10 * weight, curvature=0.1, layout=layout)),
        (ProjectedGradient(), box(X, y, C=10 * weight, free=True, layout=layout)),
        (SMO(), box(X, y, C=10 * weight, free=True, layout=layout)),
    ]


NAMES = [f"{type(solver).__name__}{k}" for k, (solver, _) in enumerate(every_solver())]
all_solvers = pytest.mark.parametrize("k", range(len(NAMES)), ids=NAMES)


@all_solvers
@layouts
def test_same_seed_same_bits(k, layout):
    solver, program = every_solver(layout)[k]
    first, second = (after(solver.iterates(program), 7)[0] for _ in range(2))
    assert (first == second).all()


@all_solvers
def test_dense_and_csr_agree_to_rounding(k):
    (solver, dense), (_, sparse) = (every_solver(layout)[k] for layout in LAYOUTS)
    assert sp.issparse(sparse.X)
    x, z = (after(solver.iterates(program), 7)[0] for program in (dense, sparse))
    np.testing.assert_allclose(x, z, atol=1e-11 * np.abs(x).max())


@all_solvers
@layouts
def test_warm_up_compiles_all_and_changes_nothing(k, layout):
    solver, program = every_solver(layout)[k]
    assert solver.refuses(program) is None
    solver.warm_up(program)
    compiled = signatures()
    first = after(solver.iterates(program), 5)[0]
    assert signatures() == compiled
    solver.warm_up(program)
    assert (after(solver.iterates(program), 5)[0] == first).all()


def signatures():
    modules = (passes, gram, smoothing, systems, pegasos, perceptron, projected_gradient, sdca, smo)
    kernels = [value for module in modules for value in vars(module).values() if hasattr(value, "signatures")]
    return sum(len(kernel.signatures) for kernel in kernels)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_another_seed_is_another_run(k):
    solver, program = every_solver()[k]
    first, second = (after(replace(solver, seed=seed).iterates(program), 3)[0] for seed in (0, 1))
    assert np.abs(first - second).max() > 0.0


def test_what_cannot_be_solved_is_refused_in_words():
    X, y = overlapping()
    assert "bias" in Pegasos().refuses(risk(X, y, free=True))
    assert "lam" in Pegasos().refuses(risk(X, y, 0.0))
    assert "SquaredHinge" in Pegasos().refuses(risk(X, y, loss=SquaredHinge()))
    assert "augmented" in Perceptron().refuses(risk(X, y, 0.0, loss=PerceptronLoss(), free=True))
    assert "Hinge" in Perceptron().refuses(risk(X, y))
    assert "smooth" in NewtonSmoothedHinge().refuses(risk(X, y))
    assert "SmoothedHinge" in Subgradient().refuses(risk(X, y, loss=SmoothedHinge(0.1)))
    assert "free bias" in SDCA().refuses(box(X, y, free=True))
    assert "free bias" in SMO().refuses(box(X, y))


@pytest.mark.parametrize(
    ("solver", "fields", "words"),
    [
        (Perceptron, {"order": "sorted"}, "order=sorted.*cyclic, random"),
        (Pegasos, {"batch": 0}, "batch=0"),
        (Pegasos, {"average": "tail"}, "average=tail.*none, uniform, linear"),
        (NewtonSmoothedHinge, {"direct": -1}, "direct=-1"),
        (NewtonAugmented, {"direct": -1}, "direct=-1"),
        (NewtonAugmented, {"direct": "many"}, "direct=many"),
        (SMO, {"tolerance": 0.0}, "tolerance=0"),
        (SMO, {"cache_mb": -1.0}, "cache_mb=-1"),
    ],
)
def test_bad_parameters_are_named(solver, fields, words):
    with pytest.raises(InputError, match=words):
        solver(**fields)
