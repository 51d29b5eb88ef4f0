"""Pegasos: the algorithm of the paper step by step, and the paper's bound."""

from itertools import islice

import numpy as np
import pytest
from other_route import optimum
from small_programs import after, layouts, overlapping, risk

from marginbench.solvers.pegasos import Pegasos


def pegasos_by_the_book(program, batch, project, average, seed, epochs):
    """Figures 1 and 2 of the paper with w written out, for any weights."""
    n, lam, y = program.n, program.lam, program.y
    X = program.X @ np.eye(program.d)
    rng, w, t, total, mean = np.random.default_rng(seed), np.zeros(program.d), 0, 0.0, np.zeros(program.d)
    for _ in range(epochs):
        for drawn in rng.integers(n, size=(-(-n // batch), batch)):
            t += 1
            g = lam * w
            for i in drawn:
                if y[i] * (X[i] @ w) < 1.0:
                    g = g - n / batch * program.weight[i] * y[i] * X[i]
            w = w - g / (lam * t)
            radius = np.sqrt(program.weight.sum() / lam)
            if project and np.linalg.norm(w) > radius:
                w = w * radius / np.linalg.norm(w)
            weight = {"none": 1.0, "uniform": 1.0, "linear": t}[average]
            total += weight
            mean = mean + weight / total * (w - mean)
    return w if average == "none" else mean


@layouts
@pytest.mark.parametrize("average", ["none", "uniform", "linear"])
@pytest.mark.parametrize(("batch", "project"), [(1, False), (1, True), (7, False), (7, True)])
def test_pegasos_is_what_the_book_says(layout, average, batch, project):
    X, y = overlapping()
    program = risk(X, y, 0.02, np.linspace(0.2, 1.8, len(y)) / len(y), layout=layout)
    solver = Pegasos(batch, project, average, seed=5)
    x, _, _ = after(solver.iterates(program), 4)
    np.testing.assert_allclose(x, pegasos_by_the_book(program, batch, project, average, 5, 4), atol=1e-10)


def test_pegasos_keeps_its_bound_on_average():
    X, y = overlapping()
    program = risk(X, y, lam=0.1)
    best = program.objective(optimum(program))
    G = np.linalg.norm(X, axis=1).max() + np.sqrt(program.lam)
    runs = [list(epochs_of(Pegasos(project=True, average="uniform", seed=s), program, 20)) for s in range(20)]
    for epoch, values in enumerate(np.mean(runs, axis=0), start=1):
        T = epoch * program.n
        assert 0.0 <= values - best <= G**2 * (1.0 + np.log(T)) / (2.0 * program.lam * T)


def epochs_of(solver, program, k):
    for iterate in islice(solver.iterates(program), k):
        yield program.objective(iterate.x)


def test_pegasos_needs_no_particular_scale_of_the_objective():
    X, y = overlapping()
    weight = np.linspace(0.5, 1.5, len(y))
    x, z = (after(Pegasos().iterates(risk(X, y, 0.1 * s, weight * s)), 5)[0] for s in (1.0, 37.0))
    np.testing.assert_allclose(x, z, rtol=1e-10)


def test_pegasos_last_and_linear_average_come_close():
    X, y = overlapping()
    program = risk(X, y, lam=0.1)
    best = program.objective(optimum(program))
    for solver in (Pegasos(), Pegasos(average="linear"), Pegasos(batch=10)):
        x, _, _ = after(solver.iterates(program), 500)
        assert program.objective(x) - best <= 5e-3 * best
