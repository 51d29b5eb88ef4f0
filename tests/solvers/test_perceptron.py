"""The perceptron: Novikoff's bound, the average, and no claim on data that cannot be separated."""

from itertools import islice

import numpy as np
import pytest
from small_programs import after, layouts, overlapping, risk, separable

from marginbench.harness.model.programs import (
    PerceptronLoss,
)
from marginbench.solvers.perceptron import Perceptron


@layouts
@pytest.mark.parametrize("order", ["cyclic", "random"])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_perceptron_separates_within_the_bound(layout, order, gamma):
    rho = 0.1
    X, y = separable(rho=rho)
    program = risk(X, y, 0.0, loss=PerceptronLoss(gamma), layout=layout)
    *_, last = Perceptron(order=order).iterates(program)
    assert last.claim == "converged"
    assert last.info["mistakes"] == 0
    assert 0 < last.info["updates"] <= (1.0 + 2.0 * gamma) / rho**2
    assert (program.margins(last.x) > gamma).all()


def test_averaged_perceptron_is_the_mean_of_all_visits():
    X, y = overlapping()
    program = risk(X, y, 0.0, loss=PerceptronLoss(0.2))
    w, visits = np.zeros(program.d), []
    for i in list(range(program.n)) * 3:
        if y[i] * (X[i] @ w) <= 0.2:
            w = w + y[i] * X[i]
        visits.append(w)
    x, _, _ = after(Perceptron(average=True).iterates(program), 3)
    np.testing.assert_allclose(x, np.mean(visits, axis=0), atol=1e-12)


def test_averaged_perceptron_ends_when_the_average_separates():
    X, y = separable()
    program = risk(X, y, 0.0, loss=PerceptronLoss())
    *_, last = Perceptron(average=True).iterates(program)
    assert (program.margins(last.x) > 0.0).all()


@pytest.mark.parametrize("average", [False, True])
def test_perceptron_never_claims_what_cannot_be_separated(average):
    X, y = overlapping()
    zero_row = np.vstack([separable()[0], np.zeros(4)]), np.append(separable()[1], 1.0)
    for data in ((X, y), zero_row):
        program = risk(*data, 0.0, loss=PerceptronLoss())
        iterates = list(islice(Perceptron(average=average).iterates(program), 200))
        assert len(iterates) == 200
        assert not any(iterate.claim for iterate in iterates)
