"""What several formulations share: their rows, their duals, their risks, and the reading of an iterate.

A formulation sees a problem through `features`: an augmented bias is then no bias at all, on one feature more, and
only a free bias needs a word of its own (a column y in the primal, the equality sum_i alpha_i y_i = 0 in the dual).
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import BoxDual, Loss, Program, QuadraticProgram, RegularisedRisk
from marginbench.harness.model.solver import Iterate

HARD = "C = inf is the hard margin: use hard_primal_qp, hard_dual_qp or max_margin"


def needs_soft_hinge(problem: Problem, name: str) -> str | None:
    """Why a formulation with the hinge and a finite C cannot write this problem."""
    if problem.hard:
        return HARD
    if problem.loss != "hinge":
        return f"{name} has the hinge; the problem has the squared hinge"
    return None


def hard_margin(problem: Problem) -> Problem:
    """The same data with C = inf, where neither loss nor sample weights mean anything."""
    return problem.with_(C=np.inf, loss="hinge", weight=None)


class HardMargin(Formulation):
    """Whatever C is asked for, the answer is compared with the hard margin."""

    def judged(self, problem: Problem) -> Problem:
        return hard_margin(problem)


def sample_weight(problem: Problem) -> Array:
    """weight_i = C_i / C"""
    return np.ones(problem.n) if problem.weight is None else problem.weight


def vector(name: str, value: Array | None, size: int) -> Array:
    """`value`, or a ValueError unless it is `size` real numbers (NaN passes: the certificate catches it)."""
    given = "nothing" if value is None else f"{np.asarray(value).dtype} of shape {np.shape(value)}"
    if value is None or np.shape(value) != (size,) or np.asarray(value).dtype.kind not in "fiu":
        raise ValueError(f"{name}: the solver gave {given}; needed are {size} real numbers")
    return np.asarray(value, dtype=float)


def as_certificate(mu: Array) -> Array | None:
    """mu scaled to mu >= 0, sum mu = 1; None where that cannot be done."""
    mu = np.maximum(mu, 0.0)
    total = float(mu.sum())
    return mu / total if 0.0 < total < np.inf else None


def sizes(problem: Problem) -> tuple[int, int, int]:
    """(n, d, free): rows, features with a constant one where the bias is augmented, and 1 where b is free."""
    return problem.n, problem.features.shape[1], int(problem.bias == "free")


# -- primal: rows of the constraint y_i (v.x_i + b) >= ... -------------------------------------------------------


def margin_columns(problem: Problem) -> list[sp.csc_array]:
    """[y_i x_i] and, for a free bias, [y_i]: A of m = A (v, b)."""
    X, y = problem.features, problem.y[:, None]
    signed = sp.csc_array(X.multiply(y)) if sp.issparse(X) else dense_to_csc(y * X)
    return [signed, sp.csc_array(y)] if problem.bias == "free" else [signed]


def dense_to_csc(Z: Array) -> sp.csc_array:
    """CSC without the detour over coordinates, which would triple the memory; zeros are dropped."""
    n, d = Z.shape
    index = np.int32 if n * d < 2**31 else np.int64  # QP codes want the short ones
    arrays = (Z.ravel(order="F"), np.tile(np.arange(n, dtype=index), d), np.arange(0, n * d + 1, n, dtype=index))
    out = sp.csc_array(arrays, shape=(n, d))
    out.eliminate_zeros()
    return out


def diagonal(*parts: Array) -> sp.csc_array:
    return sp.csc_array(sp.diags_array(np.concatenate(parts)))


def split_primal(problem: Problem, x: Array | None, more: int, name: str = "x") -> tuple[Array, float, Array]:
    """(w, b, rest) from x = (v, b where free, rest), `more` numbers in the rest."""
    _, d, free = sizes(problem)
    x = vector(name, x, d + free + more)
    w, b = problem.split(x[:d], x[d + free - 1])
    return w, b, x[d + free :]


# -- dual --------------------------------------------------------------------------------------------------------


def box_dual(problem: Problem, upper: Array, curvature: Array) -> BoxDual:
    return BoxDual(problem.features, problem.y, upper, curvature, equality=problem.bias == "free")


def kernel_dual(problem: Problem, upper: Array, curvature: Array) -> KernelDual:
    """An augmented bias adds s^2 to every entry of K."""
    K = problem.gram + problem.s * problem.s if problem.bias == "augmented" else problem.gram
    return KernelDual(K, problem.y, upper, curvature, equality=problem.bias == "free")


def gram_program(box: BoxDual | KernelDual) -> QuadraticProgram:
    """The same dual as a minimisation with its Gram matrix Q_ij = y_i y_j x_i.x_j written out:

    min 1/2 a'(Q + diag(curvature))a - sum a,   0 <= a <= upper   and, where `equality`, y'a = 0
    """
    n = box.n
    A, l, u = sp.eye_array(n, format="csc"), np.zeros(n), box.upper
    if box.equality:
        A, l, u = sp.vstack([A, sp.csr_array(box.y[None, :])], format="csc"), np.append(l, 0.0), np.append(u, 0.0)
    return QuadraticProgram(gram(box), -np.ones(n), sp.csc_array(A), l, u)


def gram(box: BoxDual | KernelDual) -> sp.csc_array:
    """Q + diag(curvature)"""
    if isinstance(box, KernelDual):
        Q = box.y[:, None] * box.K * box.y
        Q[np.diag_indices(box.n)] += box.curvature
        return dense_to_csc(Q)
    if sp.issparse(box.X):
        signed = sp.csr_array(box.X.multiply(box.y[:, None]))
        return sp.csc_array(signed @ signed.T + diagonal(box.curvature))
    signed = box.y[:, None] * box.X
    Q = signed @ signed.T
    Q[np.diag_indices(box.n)] += box.curvature
    return dense_to_csc(Q)


def dual_point(problem: Problem, program: Program, iterate: Iterate) -> Point:
    """(w, b) as the solver holds them, else w(alpha) with the b that is best for it.

    A QP code also gives b, as the multiplier of y'alpha = 0. `best_bias` is used instead: it minimises P(w, .)
    exactly, so it is never worse, and it does not depend on the accuracy of one multiplier.
    """
    alpha = vector("alpha", iterate.x, problem.n)
    if isinstance(program, BoxDual) and iterate.dual is not None:
        v = vector("(w, b)" if program.equality else "w", iterate.dual, program.d + program.equality)
        w, b = problem.split(v[: program.d], v[-1])
        return Point(w, b, alpha)
    return problem.point(alpha)


# -- regularised risk --------------------------------------------------------------------------------------------


def risk(problem: Problem, lam: float, weight: Array, loss: Loss) -> RegularisedRisk:
    return RegularisedRisk(problem.features, problem.y, lam, weight, loss, intercept=problem.bias == "free")


def risk_point(problem: Problem, iterate: Iterate) -> Point:
    """(w, b) from x; alpha where the solver has it, already in canonical units."""
    w, b, _ = split_primal(problem, iterate.x, 0, "(w, b)" if problem.bias == "free" else "w")
    alpha = None if iterate.dual is None else vector("alpha", iterate.dual, problem.n)
    return Point(w, b, alpha)


class HingeRisk(Formulation):
    """A multiple of the canonical objective, in the same (w, b): a subclass says which."""

    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk,)

    objective: ClassVar[str]
    """Its name in a refusal."""

    def refuses(self, problem: Problem) -> str | None:
        return needs_soft_hinge(problem, self.objective)

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return risk_point(problem, iterate)


def smooth_point(problem: Problem, program: Program, iterate: Iterate) -> Point:
    """From the dual, or as `risk_point` with the multipliers that a differentiable loss implies.

    alpha_i = weight_i slope(m_i): at the minimiser w = w(alpha) and, for a free bias, sum alpha_i y_i = 0, a dual
    certificate at no cost. Away from it the sum is not 0. It is made 0 here, since these multipliers are this map's and
    not the solver's: where the loss is steep (1 / delta) a b that is nearly right gives a sum that is plainly wrong.
    """
    if isinstance(program, BoxDual):
        return dual_point(problem, program, iterate)
    point = risk_point(problem, iterate)
    if point.alpha is not None or not isinstance(program, RegularisedRisk):
        return point
    alpha = program.weight * program.loss.slope(problem.margins(point.w, point.b))
    return point._replace(alpha=problem.feasible_dual(alpha))
