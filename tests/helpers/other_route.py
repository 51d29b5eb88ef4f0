"""Another route to the optimum of every kind of program: an interior-point method on a cone program written down here.

It shares nothing with `marginbench.solvers` or with the programs' own conic forms, so that neither can hide a mistake.
"""

import clarabel
import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import BoxDual, Hinge, QuadraticProgram, RegularisedRisk, SquaredHinge
from marginbench.harness.model.solver import Iterate


def optimum(program):
    """The optimal x."""
    return solve(program).x


def solve(program) -> Iterate:
    """x, multipliers where there are any, and the claim where the program has no optimum."""
    if isinstance(program, QuadraticProgram):
        return solve_qp(program)
    if isinstance(program, BoxDual):
        return solve_box(program)
    if isinstance(program, RegularisedRisk):
        return solve_risk(program)
    cones = [clarabel.ZeroConeT(program.zero), clarabel.NonnegativeConeT(program.nonnegative)]
    cones += map(clarabel.SecondOrderConeT, program.cones)
    d = program.c.size
    return Iterate(*solve_cone(sp.csc_array((d, d)), program.c, program.A, program.b, cones)[:2])


def solve_cone(P, q, A, b, cones):
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    P, A = sp.csc_matrix(sp.triu(P)), sp.csc_matrix(A)
    found = clarabel.DefaultSolver(P, q, A, b, cones, options).solve()
    return np.array(found.x), np.array(found.z), str(found.status)


def solve_qp(qp):
    """l <= Ax <= u as three blocks of rows: equal, bounded above, bounded below; z = z_equal + z_up - z_low."""
    equal = np.flatnonzero(qp.l == qp.u)
    up = np.flatnonzero(np.isfinite(qp.u) & (qp.l < qp.u))
    low = np.flatnonzero(np.isfinite(qp.l) & (qp.l < qp.u))
    A = sp.csr_array(qp.A)
    rows = sp.vstack([A[equal], A[up], -A[low]])
    bounds = np.concatenate([qp.u[equal], qp.u[up], -qp.l[low]])
    cones = [clarabel.ZeroConeT(equal.size), clarabel.NonnegativeConeT(up.size + low.size)]
    x, z, status = solve_cone(qp.P, qp.q, rows, bounds, cones)
    dual = np.zeros(qp.l.size)
    for block, sign, part in zip(
        (equal, up, low), (1.0, 1.0, -1.0), np.split(z, [equal.size, equal.size + up.size]), strict=True
    ):
        dual[block] += sign * part
    claim = {"PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}.get(status, "converged")
    return Iterate(x, dual, claim)


def solve_box(box):
    Z = box.y[:, None] * (box.X.toarray() if sp.issparse(box.X) else box.X)
    rows = [np.eye(box.n)] + ([box.y[None, :]] if box.equality else [])
    extra = [0.0] if box.equality else []
    qp = QuadraticProgram(
        sp.csc_array(Z @ Z.T + np.diag(box.curvature)),
        -np.ones(box.n),
        sp.csc_array(np.vstack(rows)),
        np.append(np.zeros(box.n), extra),
        np.append(box.upper, extra),
    )
    found = solve_qp(qp)
    plane = Z.T @ found.x
    return Iterate(found.x, np.append(plane, found.dual[-1]) if box.equality else plane, found.claim)


def solve_risk(risk):
    """The epigraph form in (w, b, u, v): u costs a square (smooth part), v is linear, margin + u + v >= 1.

    The smoothed hinge is the smallest u^2 / (2 delta) + v with u + v >= z; the others use one of the two.
    """
    X = risk.X.toarray() if sp.issparse(risk.X) else risk.X
    n, d, k = risk.n, risk.d, risk.d + risk.intercept
    square = {Hinge: np.inf, SquaredHinge: 2.0}.get(type(risk.loss)) or 1.0 / risk.loss.delta
    P = np.zeros(k + 2 * n)
    P[:d] = risk.lam
    P[k : k + n] = 0.0 if np.isinf(square) else square * risk.weight
    q = np.concatenate([np.zeros(k), np.zeros(n), risk.weight])
    margins = risk.y[:, None] * (np.hstack([X, np.ones((n, 1))]) if risk.intercept else X)
    A = sp.vstack([sp.hstack([margins, sp.eye_array(n), sp.eye_array(n)]), sp.eye_array(2 * n, k + 2 * n, k=k)])
    u = np.full(3 * n, np.inf)
    if np.isinf(square):
        u[n : 2 * n] = 0.0
    if isinstance(risk.loss, SquaredHinge):
        u[2 * n :] = 0.0
    qp = QuadraticProgram(
        sp.csc_array(sp.diags_array(P)), q, sp.csc_array(A), np.append(np.ones(n), np.zeros(2 * n)), u
    )
    return Iterate(solve_qp(qp).x[:k])
