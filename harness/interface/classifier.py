"""Any method as a scikit-learn classifier for two classes."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from marginbench.harness.cell.spec import make_problem
from marginbench.harness.interface import engine
from marginbench.harness.interface.data import Classes, Samples, classes_of
from marginbench.harness.interface.methods import Method
from marginbench.harness.interface.solution import solve_samples
from marginbench.harness.model.problem import Array, Bias, InputError, Loss, Matrix, Problem


class MarginClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters are those of `estimator`. After `fit`: coef_, intercept_, classes_, alpha_ (None where the method
    has no multipliers), certificate_, status_, n_iter_."""

    def __init__(
        self,
        method: Method = "auto",
        C: float = 1.0,
        bias: Bias | None = None,
        loss: Loss = "hinge",
        weight: str | None = None,
        gap: float = 1e-6,
        seconds: float = 10.0,
        iterations: int = 1_000_000,
        seed: int = 0,
    ) -> None:
        self.method = method
        self.C = C
        self.bias = bias
        self.loss = loss
        self.weight = weight
        self.gap = gap
        self.seconds = seconds
        self.iterations = iterations
        self.seed = seed

    def fit(self, X: Any, y: Any) -> "MarginClassifier":
        """Solve the problem of (X, y) in this process."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise InputError(f"Only binary classification is supported. The type of the target is {kind}.")
        classes = classes_of(y)
        budget = {"gap": self.gap, "seconds": self.seconds, "iterations": self.iterations}
        solution = solve_samples(
            Samples(X, classes.signs(y), classes),
            self.method,
            self._problem_config(),
            engine.options("budget", budget, self.seed),
            engine.options("limits", None, self.seed),
            self.seed,
            reference=False,
            isolated=False,
        )
        if solution.w is None or solution.b is None or solution.certificate is None:
            raise InputError(f"method={self.method!r}: {solution.status}: {solution.message}")
        self.classes_ = np.unique(y)
        self.coef_ = solution.w[None, :]
        self.intercept_ = np.array([solution.b])
        self.alpha_ = solution.alpha
        self.certificate_ = replace(solution.certificate, problem=None)  # a fitted estimator does not keep its data
        self.status_ = solution.status
        self.n_iter_ = solution.record.iterations
        if solution.status != "solved" and solution.certificate.gap is not None:
            warnings.warn(f"{solution.status}: {solution.message}", ConvergenceWarning, stacklevel=2)
        return self

    def problem_of(self, X: Matrix, y: Array) -> Problem:
        """The problem that these parameters state of data with labels -1 and +1."""
        return make_problem(X, y, self._problem_config())

    def _problem_config(self) -> dict[str, Any]:
        return engine.problem_config(self.C, self.bias, self.loss, self.weight, 1.0)

    def decision_function(self, X: Any) -> Array:
        """w.x + b of each row; above 0 is classes_[1]."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        f = self.decision_function(X)
        return Classes(*self.classes_).names(f)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def estimator(
    method: Method = "auto",
    C: float = 1.0,
    bias: Bias | None = None,
    *,
    loss: Loss = "hinge",
    weight: str | None = None,
    gap: float = 1e-6,
    seconds: float = 10.0,
    iterations: int = 1_000_000,
    seed: int = 0,
) -> MarginClassifier:
    """Any method as a scikit-learn classifier for two classes: in pipelines, grid searches and cross-validation.

    It runs in this process, without isolation and without limits of memory: use `solve` or `compare` for a method that
    you do not trust. bias: None is `augmented`, the default of the command line. gap, seconds, iterations: when it
    stops. A method without multipliers (pegasos) knows no gap, and runs until its seconds or iterations are spent.

    >>> import marginbench as mb
    >>> X, y = mb.load("breast_cancer")
    >>> fitted = mb.estimator(method="auto", C=0.1).fit(X, y)
    >>> fitted.score(X, y) > 0.95, fitted.certificate_.gap <= 1e-6
    (True, True)
    """
    return MarginClassifier(method, C, bias, loss, weight, gap, seconds, iterations, seed)
