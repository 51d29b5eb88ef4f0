"""Libraries as their users walk into their traps: the real ones, with the settings that spring them."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.programs import BoxDual, Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver


@dataclass(frozen=True)
class SilencedLinearSVC(Solver):
    """scikit-learn's LinearSVC with warnings turned off, as in many notebooks, its result taken as the optimum."""

    tol: float = 1e-4
    max_iter: int = 1000

    accepts = (RegularisedRisk,)

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        plain = isinstance(program.loss, Hinge) and not program.intercept
        return None if plain else "takes the hinge without a free bias"

    def iterates(self, program: Program) -> Iterator[Iterate]:
        from sklearn.svm import LinearSVC

        assert isinstance(program, RegularisedRisk)
        model = LinearSVC(
            loss="hinge", tol=self.tol, max_iter=self.max_iter, fit_intercept=False, dual=True, random_state=0
        )
        with warnings.catch_warnings(action="ignore"):
            model.fit(program.X, program.y, sample_weight=program.weight / program.lam)
        yield Iterate(model.coef_[0], claim="converged")


@dataclass(frozen=True)
class StaleProxqp(Solver):
    """ProxQP along a path of C, each solve from the last, with its defaults: only residuals are checked."""

    first: float = 1e-3
    """C of the solve before, as a share of the one that is asked for."""

    accepts = (BoxDual,)

    def refuses(self, program: Program) -> str | None:
        return "takes no free bias" if program.equality else None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        from proxsuite import proxqp

        assert isinstance(program, BoxDual)
        n, Z = program.n, program.y[:, None] * program.X
        qp = proxqp.dense.QP(n, 0, n)
        qp.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
        qp.init(Z @ Z.T, -np.ones(n), None, None, np.eye(n), np.zeros(n), self.first * program.upper)
        qp.solve()
        qp.update(u=program.upper)
        qp.solve()
        alpha = np.clip(qp.results.x, 0.0, program.upper)
        yield Iterate(alpha, program.X.T @ (alpha * program.y), claim="converged")
