"""L-BFGS goes through wider widths, sees changes that the objective does not show, and claims what it keeps."""

from fractions import Fraction

import numpy as np
import pytest
from small_programs import overlapping, risk

from marginbench.harness.model.programs import SmoothedHinge, SquaredHinge
from marginbench.solvers.lbfgs import LBFGS, change_of_loss, easier_first

X, Y = overlapping(n=60, d=5)
WEIGHT = np.linspace(0.5, 1.5, len(Y)) / len(Y)


def test_lbfgs_begins_anew_where_a_line_search_gave_up(monkeypatch):
    import scipy.optimize

    def gives_up(*arguments, options, **named):
        found = minimize(*arguments, options=options | {"maxiter": 10}, **named)
        found.status = 2
        return found

    minimize = scipy.optimize.minimize
    program = risk(X, Y, weight=100 * WEIGHT, loss=SmoothedHinge(0.01))
    (smooth,) = LBFGS((1e-7,)).iterates(program)
    monkeypatch.setattr(scipy.optimize, "minimize", gives_up)
    (iterate,) = LBFGS((1e-7,)).iterates(program)
    assert iterate.claim == "converged"
    assert iterate.info["renewals"] > smooth.info["renewals"] == 0
    np.testing.assert_allclose(iterate.x, smooth.x, atol=1e-6)


def test_lbfgs_goes_from_wide_to_narrow_and_ends_at_the_width_that_was_asked_for():
    widths = [loss.delta for loss in easier_first(SmoothedHinge(1e-3))]
    assert widths == pytest.approx([0.256, 0.064, 0.016, 0.004, 0.001])
    assert list(easier_first(SquaredHinge())) == [SquaredHinge()]
    assert list(easier_first(SmoothedHinge(5.0))) == [SmoothedHinge(5.0)]


def test_lbfgs_needs_few_more_steps_at_a_narrow_width_than_at_a_wide_one():
    """At once, the narrow one takes nine times the evaluations."""
    wide, narrow = (risk(*overlapping(n=200, d=20), 1e-3, loss=SmoothedHinge(delta)) for delta in (1e-2, 1e-6))
    (easy,), (hard,) = (LBFGS((1e-5,)).iterates(program) for program in (wide, narrow))
    assert easy.claim == hard.claim == "converged"
    assert hard.info["evaluations"] <= 5 * easy.info["evaluations"]


@pytest.mark.parametrize("loss", [SmoothedHinge(0.1), SmoothedHinge(1e-6), SquaredHinge()])
def test_the_change_of_a_loss_is_exact_where_the_difference_of_two_losses_is_rounding(loss):
    """Against rationals: changes are 1e-13 of the margins."""
    rng = np.random.default_rng(0)
    m, dm = np.append(rng.normal(size=200), 1.0 - 5e-7 * rng.random(100)), 1e-13 * rng.normal(size=300)

    def h(z):
        z, delta = max(z, Fraction(0)), Fraction(getattr(loss, "delta", 1))
        if loss == SquaredHinge():
            return z * z
        return z * z / (2 * delta) if z <= delta else z - delta / 2

    true = [float(h(1 - Fraction(a) - Fraction(c)) - h(1 - Fraction(a))) for a, c in zip(m, dm, strict=True)]
    np.testing.assert_allclose(change_of_loss(loss, m, dm), true, rtol=1e-6, atol=1e-30)


def test_lbfgs_makes_the_gradient_small_where_the_objective_no_longer_shows_it():
    program = risk(X, Y, 0.05, WEIGHT, SmoothedHinge(1e-6))
    (iterate,) = LBFGS((1e-9,)).iterates(program)
    assert iterate.claim == "converged"


def test_lbfgs_claims_a_tolerance_only_where_the_gradient_keeps_it():
    """The largest entry is small beside the mean of F'(0), so that the norm is beside the norm."""
    program = risk(X, Y, 0.05, WEIGHT, SquaredHinge(), free=True)
    first = np.linalg.norm(program.gradient(np.zeros(6)))
    for iterate in LBFGS((1e-3, 1e-6, 1e-14)).iterates(program):
        g, tolerance = program.gradient(iterate.x), iterate.info["tolerance"]
        assert (np.abs(g).max() <= tolerance * first / np.sqrt(6)) == (iterate.claim == "converged")
        assert np.linalg.norm(g) <= tolerance * first or iterate.claim != "converged"
