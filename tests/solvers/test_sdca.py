"""Stochastic dual coordinate ascent."""

from itertools import islice

import numpy as np
from small_programs import after, box, overlapping, value

from marginbench.solvers.sdca import SDCA


def test_sdca_proves_a_zero_row_impossible_under_a_hard_margin():
    X, y = np.array([[1.0], [0.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    mu, _, claim = after(SDCA().iterates(box(X, y, np.inf)), 5)
    assert claim == "unbounded"
    assert mu.tolist() == [0.0, 1.0, 0.0]


def test_sdca_never_descends():
    X, y = overlapping()
    program = box(X, y)
    values = [value(program, iterate.x.copy()) for iterate in islice(SDCA().iterates(program), 50)]
    assert (np.diff(values) <= 1e-12).all()
