"""Sequential minimal optimisation: its gradient, its cache, and no claim while alpha grows."""

from itertools import islice

import numpy as np
from small_programs import after, box, layouts, overlapping

from marginbench.harness.model.kernel_rows import RowCache
from marginbench.solvers import smo
from marginbench.solvers.smo import SMO


def test_smo_claims_nothing_while_alpha_grows():
    X, y = overlapping()
    iterates = list(islice(SMO().iterates(box(X, y, np.inf, free=True)), 50))
    assert len(iterates) == 50
    assert not any(iterate.claim for iterate in iterates)


def test_smo_does_not_need_its_cache():
    X, y = overlapping()
    program = box(X, y, 5.0, free=True)
    x, z = (after(SMO(cache_mb=mb).iterates(program), 200)[0] for mb in (0.0, 100.0))
    np.testing.assert_array_equal(x, z)


@layouts
def test_smo_keeps_the_gradient_of_its_alpha(layout):
    X, y = overlapping()
    program = box(X, y, 5.0, 0.2, free=True, layout=layout)
    n, scratch = program.n, np.empty(program.d)
    cache = RowCache.of(n, most_mb=3 * 8 * n / 2**20)  # three rows
    alpha, g, K = np.zeros(n), np.full(n, -1.0), np.sum(X**2, axis=1)
    made = smo.update_pairs(
        program.rows, program.y, program.upper, program.curvature, K, 1e-16, 1e-10, 0, alpha, g, cache, scratch
    )
    assert len(cache.rows) == 3
    assert made == n
    np.testing.assert_allclose(g, program.gradient(alpha), atol=1e-12)
