"""cvxpy: the problem as a user would write it on paper, solved by whichever library is named.

    min  lam/2 ||w||^2 + sum_i weight_i h(1 - y_i (w.x_i + b))         RegularisedRisk, the textbook's line
    min  1/2 x'Px + q'x   subject to   Ex = f,  Gx <= h                QuadraticProgram
    min  c'x   subject to   b - Ax in a product of cones               ConeProgram

A ladder: first the library as cvxpy sets it up by default, then one cold solve per tolerance. Compiling the model is
part of every rung, for a user pays it too; how long it took is in `info`. Nothing is done about what cvxpy gets wrong:
the adapter is as thin as the line above, and the certificate judges the answer.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import Array, InputError
from marginbench.harness.model.programs import (
    ConeProgram,
    Hinge,
    PerceptronLoss,
    Program,
    QuadraticProgram,
    RegularisedRisk,
    SmoothedHinge,
)
from marginbench.harness.model.solver import Iterate

DEFAULT = float("nan")  # the rung on which no tolerance is passed
UNCHECKED = "CLARABEL"  # comes with marginbench: to look for others, cvxpy imports every library there is


class CvxpyLadder(Ladder):
    """What all models here have in common. A subclass says which library solves them."""

    knobs: Sequence[str]
    options: Mapping[str, Any]

    accepts: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk, QuadraticProgram, ConeProgram)
    licence = "Apache-2.0"
    claims: ClassVar = {
        "optimal": "converged",
        "optimal_inaccurate": "inaccurate",
        "user_limit": "limit",
        "infeasible": "infeasible",
        "infeasible_inaccurate": "infeasible",
        "unbounded": "unbounded",
        "unbounded_inaccurate": "unbounded",
    }

    @property
    @abstractmethod
    def library(self) -> str:
        """cvxpy's name of it."""

    def refuses(self, program: Program) -> str | None:
        if isinstance(program, RegularisedRisk) and isinstance(program.loss, PerceptronLoss):
            return "the perceptron criterion is minimised by w = 0, which separates nothing"
        return None

    def rungs(self) -> Sequence[float]:
        return (DEFAULT, *self.tolerances) if self.knobs else (DEFAULT,)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import cvxpy as cp

        settings = {} if np.isnan(tolerance) else dict.fromkeys(self.knobs, tolerance)
        rung = {"tolerance": None if np.isnan(tolerance) else tolerance, "settings": {**self.options, **settings}}
        with warnings.catch_warnings(record=True, action="always") as heard:
            model, read = write(program)
            try:
                model.solve(solver=self.library, **self.options, **settings)
            except cp.SolverError as error:
                return Iterate(None, claim="failed", said=str(error), info=rung)
            x, dual = read()
        said = "; ".join(dict.fromkeys([model.status, *(str(w.message).strip() for w in heard)]))
        info = rung | {
            "compile_seconds": model.compilation_time,
            "library_seconds": model.solver_stats and model.solver_stats.solve_time,
            "library_iterations": model.solver_stats and model.solver_stats.num_iters,
        }
        claim = self.claims.get(model.status, "failed")
        return Iterate(x, None if claim == "unbounded" else dual, claim, said, info)  # SCS: multipliers of NaN there


@dataclass(frozen=True)
class CvxpyModel(CvxpyLadder):
    """solver: cvxpy's name of the library. knobs: what that library calls its tolerances; none, and the default is
    the only rung. tolerances: the rungs after the default. options: further settings of the library, on every rung."""

    solver: str = "CLARABEL"
    knobs: Sequence[str] = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    tolerances: Sequence[float] = (1e-10, 1e-12)
    options: Mapping[str, Any] = field(default_factory=dict)

    requires: ClassVar = {"cvxpy": "", "clarabel": "", "scs": ""}

    @property
    def library(self) -> str:
        return self.solver


@dataclass(frozen=True)
class CvxpyAny(CvxpyLadder):
    """Whatever library cvxpy finds here. name: cvxpy's name of it, in any case. The other fields as of `CvxpyModel`.
    accuracy: what may be asked of any library at its default tolerance."""

    name: str = UNCHECKED
    knobs: Sequence[str] = ()
    tolerances: Sequence[float] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    requires: ClassVar = {"cvxpy": ""}
    accuracy = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.library != UNCHECKED and self.library not in found_by_cvxpy():
            found = ", ".join(found_by_cvxpy())
            raise InputError(f"solver.name={self.name}: cvxpy finds no such solver here; possible are {found}")

    @property
    def library(self) -> str:
        return str(self.name).upper()


@cache
def found_by_cvxpy() -> list[str]:
    import cvxpy

    return sorted(cvxpy.installed_solvers())


@dataclass(frozen=True)
class CvxpyQp(CvxpyModel):
    """For libraries without second-order cones: OSQP."""

    accepts = (RegularisedRisk, QuadraticProgram)
    requires: ClassVar = {"cvxpy": "", "osqp": ""}


@dataclass(frozen=True)
class CvxpyHighs(CvxpyQp):
    """accuracy: what HiGHS reaches by its own interface too."""

    requires: ClassVar = {"cvxpy": "", "highspy": "qp"}
    accuracy = 1e-2


@dataclass(frozen=True)
class CvxpyPiqp(CvxpyQp):
    requires: ClassVar = {"cvxpy": "", "piqp": "qp"}


@dataclass(frozen=True)
class CvxpyEcos(CvxpyModel):
    """accuracy: ECOS has no quadratic objective; of the cone that stands for it, a small error is the square of w's."""

    requires: ClassVar = {"cvxpy": "", "ecos": "gpl"}
    licence = "GPL-3.0"
    accuracy = 5e-3


def write(program: Program) -> tuple[Any, Any]:
    """The model, and the function that reads (x, dual) from it once it is solved."""
    if isinstance(program, RegularisedRisk):
        return write_risk(program)
    if isinstance(program, QuadraticProgram):
        return write_quadratic(program)
    assert isinstance(program, ConeProgram)
    return write_conic(program)


def write_risk(program: RegularisedRisk) -> tuple[Any, Any]:
    import cvxpy as cp

    w, b = cp.Variable(program.d), cp.Variable(1)
    scores = program.X @ w + b if program.intercept else program.X @ w
    z = cp.pos(1 - cp.multiply(program.y, scores))
    if isinstance(program.loss, Hinge):
        losses = z
    elif isinstance(program.loss, SmoothedHinge):
        delta: Any = program.loss.delta  # its stub asks for an int
        losses = cp.huber(z, delta) / (2 * delta)
    else:
        losses = cp.square(z)
    model = cp.Problem(cp.Minimize(0.5 * program.lam * cp.sum_squares(w) + program.weight @ losses))

    def read() -> tuple[Array | None, None]:
        if w.value is None or b.value is None:  # b is in the model only where there is an intercept
            return w.value, None
        return np.concatenate([w.value, b.value]), None

    return model, read


def write_quadratic(program: QuadraticProgram) -> tuple[Any, Any]:
    import cvxpy as cp

    x, (cone, S) = cp.Variable(program.q.size), program.conic()
    A, b, k = cone.A.tocsr(), cone.b, cone.zero
    constraints = [A[:k] @ x == b[:k]] * (k > 0) + [A[k:] @ x <= b[k:]] * (k < b.size)
    model = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(program.P)) + program.q @ x), constraints)

    def read() -> tuple[Array | None, Array | None]:
        z = multipliers(constraints)
        return x.value, None if z is None else S.T @ z

    return model, read


def write_conic(program: ConeProgram) -> tuple[Any, Any]:
    import cvxpy as cp

    x, k, n = cp.Variable(program.c.size), program.zero, program.nonnegative
    slack = program.b - program.A.tocsr() @ x
    constraints = [slack[:k] == 0] * (k > 0) + [slack[k : k + n] >= 0] * (n > 0)
    k += n
    for size in program.cones:
        constraints.append(cp.SOC(slack[k], slack[k + 1 : k + size]))
        k += size
    model = cp.Problem(cp.Minimize(program.c @ x), constraints)

    def read() -> tuple[Array | None, Array | None]:
        z = multipliers(constraints)
        if z is not None:
            z[: program.zero] *= -1.0  # cvxpy's Lagrangian has + for equalities, here slack = b - Ax
        return x.value, z

    return model, read


def multipliers(constraints: list[Any]) -> Array | None:
    values = [constraint.dual_value for constraint in constraints]
    if any(value is None for value in values):
        return None
    parts = [part for value in values for part in (value if isinstance(value, list) else [value])]  # a cone has two
    return np.concatenate([np.ravel(part) for part in parts])
