"""A quadratic program as most libraries are given it: bounds of variables apart from the other constraints.

    min 1/2 x'Px + q'x   subject to   Ax = b (the first `zero` rows),  Ax <= b (the others),  lower <= x <= upper
    Px + q = A'prices + reduced_costs                                    at the optimum, and their signs

A row of the program that holds one variable alone is a bound of it; of several such rows of a variable, the first.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import QuadraticProgram


@dataclass(frozen=True, eq=False)
class BoundedQp:
    A: sp.csr_array
    b: Array
    zero: int
    lower: Array
    upper: Array
    signs: sp.csr_array
    """Rows of A = signs times the rows of the program that are no bounds."""
    bounds: Array
    """The rows of the program that are bounds,"""
    variable: Array
    """the variable of each,"""
    factor: Array
    """and what it is multiplied by there."""

    def multipliers(self, prices: Array, reduced_costs: Array) -> Array:
        """Of all rows of the program, in its convention: Px + q + A'z = 0."""
        z = np.empty(self.signs.shape[1] + self.bounds.size)
        others = np.ones(z.size, bool)
        others[self.bounds] = False
        z[others] = -(self.signs.T @ prices)
        z[self.bounds] = -reduced_costs[self.variable] / self.factor
        return z


def bounded(program: QuadraticProgram) -> BoundedQp:
    rows = program.A.tocsr()
    alone = np.flatnonzero(np.diff(rows.indptr) == 1)
    alone = alone[rows.data[rows.indptr[alone]] != 0.0]
    variable, first = np.unique(rows.indices[rows.indptr[alone]], return_index=True)
    bounds = alone[first]
    factor = rows.data[rows.indptr[bounds]]
    ends = np.sort([program.l[bounds] / factor, program.u[bounds] / factor], axis=0)
    lower, upper = np.full(program.q.size, -np.inf), np.full(program.q.size, np.inf)
    lower[variable], upper[variable] = ends
    others = np.ones(program.l.size, bool)
    others[bounds] = False
    rest = QuadraticProgram(program.P, program.q, sp.csc_array(rows[others]), program.l[others], program.u[others])
    cone, signs = rest.conic()
    A = cone.A.tocsr()
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)  # libraries want the short ones
    return BoundedQp(A, cone.b, cone.zero, lower, upper, signs, bounds, variable, factor)
