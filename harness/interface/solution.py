"""solve: one method on one problem, and its certified answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marginbench.harness.cell.spec import make_problem
from marginbench.harness.interface import engine, html
from marginbench.harness.interface.certificate import Certificate, certificate
from marginbench.harness.interface.data import Classes, Samples, matrix_of, samples
from marginbench.harness.interface.methods import Method, pair_of
from marginbench.harness.interface.problem import described
from marginbench.harness.model.problem import Array, Bias, InputError, Loss, Problem
from marginbench.harness.records.record import Record

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Solution:
    """The hyperplane w.x + b that a method found, and what it is worth.

    status, message: the verdict, as in the column `status` of a report. w, b, alpha: None where there is no answer.
    With a kernel w is the coefficients c of sum_i c_i phi(x_i), a number for each row of the data.
    certificate: computed in this process from the data; seconds: of the solver alone; record: the whole row.
    """

    problem: Problem
    classes: Classes
    record: Record
    w: Array | None = None
    b: float | None = None
    alpha: Array | None = None
    certificate: Certificate | None = None

    @property
    def positive(self) -> Any:
        """The label that counts as +1."""
        return self.classes.positive

    @property
    def status(self) -> str:
        return self.record.status

    @property
    def message(self) -> str:
        return self.record.message

    @property
    def seconds(self) -> float | None:
        return self.record.solve_seconds

    @property
    def curve(self) -> "pd.DataFrame":
        """One row per iterate that was certified: iteration, seconds, primal, dual, gap, own_residual."""
        import pandas as pd

        return pd.DataFrame(self.record.curve)

    def decision_function(self, X: object) -> Array:
        """w.x + b of each row; above 0 is the positive class."""
        if self.w is None or self.b is None:
            raise InputError(f"there is no hyperplane: {self.status}: {self.message}")
        given = matrix_of(X)
        if given.shape[1] != self.problem.d:
            raise InputError(f"X has {given.shape[1]} columns; the hyperplane has {self.problem.d}")
        return np.asarray(self.problem.scores_of(given, self.w) + self.b)

    def predict(self, X: object) -> Array:
        """The class of each row, as a label of y."""
        return self.classes.names(self.decision_function(X))

    def _title(self) -> str:
        name = self.record.method or f"{self.record.formulation}, {self.record.solver}"
        spent = "" if self.seconds is None else f" in {self.seconds:.3g} s"
        return f"{name}: {self.status}{spent}" + (f" ({self.message})" if self.message else "")

    def _rows(self) -> list[tuple[str, str]]:
        if self.certificate is not None:
            return self.certificate.rows()
        return [("problem", described(self.problem)), ("positive class", repr(self.positive))]

    def __repr__(self) -> str:
        proven = [] if self.certificate is None else [self.certificate.proven]
        return "\n".join([self._title(), *proven, *(f"{name}: {value}" for name, value in self._rows())])

    def _repr_html_(self) -> str:
        return html.pairs(self._title(), self._rows(), [] if self.certificate is None else [self.certificate.proven])


def solve(
    X: object,
    y: object,
    method: Method = "auto",
    C: float = 1.0,
    bias: Bias | None = None,
    *,
    loss: Loss = "hinge",
    weight: Any = None,
    s: float = 1.0,
    kernel: str = "linear",
    gamma: float | None = None,
    sigma: float | None = None,
    coef0: float | None = None,
    degree: int | None = None,
    budget: Mapping[str, float] | float | None = None,
    limits: Mapping[str, float] | float | None = None,
    threads: int = 1,
    seed: int = 0,
    positive: object = None,
    reference: bool = True,
    isolated: bool = True,
) -> Solution:
    """Solve the max-margin problem of (X, y), and certify the answer.

    method: see `marginbench list method`; a pair (formulation, solver), a Solver, or "FILE.py:Class".
    bias: None is `augmented`, the default of the command line; `free` and `none` are other problems.
    weight: None, "balanced", {"positive": 2, "negative": 1}, or a number for each row.
    kernel: "gaussian", exp(-gamma ||x - z||^2) with gamma = 1 / (2 sigma^2), or "polynomial",
    (gamma x.z + coef0)^degree. What is not given is gamma = 1 / d, coef0 = 0, degree = 3.
    budget: seconds, or a mapping of `seconds`, `gap`, `iterations`; limits alike.
    threads: cores that a method may use, where it can share out one problem.
    reference: where the method gives no multipliers, find a lower bound of the optimum first.
    isolated: run in a process of its own, as the command line does; False runs here, for a debugger.

    >>> import marginbench as mb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> solution = mb.solve(X, y, C=10.0, bias="free")
    >>> solution.status, solution.positive, solution.predict([[0.4], [2.6]]).tolist()
    ('solved', 'yes', ['no', 'yes'])
    >>> bool(abs(solution.w[0] - 2.0) < 1e-6), solution.certificate.gap < 1e-6
    (True, True)
    >>> ring = mb.solve(X, ["in", "out", "out", "in"], "smo", bias="free", kernel="gaussian", gamma=0.5, C=10.0)
    >>> ring.status, ring.predict([[0.1], [1.4], [2.9]]).tolist()
    ('solved', ['in', 'out', 'in'])
    """
    given = samples(X, y, positive)
    return solve_samples(
        given,
        method,
        engine.problem_config(C, bias, loss, weight, s, kernel, gamma=gamma, sigma=sigma, coef0=coef0, degree=degree),
        engine.options("budget", budget, seed),
        engine.options("limits", limits, seed),
        seed,
        reference,
        isolated,
        threads,
    )


def solve_samples(
    given: Samples,
    method: Method,
    problem: dict[str, Any],
    budget: dict[str, Any],
    limits: dict[str, Any],
    seed: int,
    reference: bool,
    isolated: bool,
    threads: int = 1,
) -> Solution:
    """`solve` for data that were read, and options that were checked."""
    pair = pair_of(method, make_problem(given.X, given.y, problem), seed, isolated)
    (cell,) = engine.cells(given, [pair], problem, {}, "data", budget, limits, seed, threads=threads)
    run = engine.run_one(cell, given, reference, isolated)
    point, record = run.outcome.point, run.outcome.record
    if point is None:
        return Solution(run.judged, given.classes, record)
    found = certificate(run.judged, point, run.known, classes=given.classes, judge=run.judge)
    return Solution(run.judged, given.classes, record, point.w, point.b, point.alpha, found)
