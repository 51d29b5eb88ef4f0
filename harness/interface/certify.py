"""certify: what a point, or a fitted estimator, is worth."""

from typing import Any, overload

import numpy as np

from marginbench.harness.interface.certificate import Certificate, certificate
from marginbench.harness.interface.data import SIGNS
from marginbench.harness.interface.engine import bounds_of
from marginbench.harness.interface.promise import promise_of
from marginbench.harness.model import problem as model
from marginbench.harness.model.problem import Array, Point


@overload
def certify(
    subject: model.Problem, w: Any, b: float = 0.0, alpha: Any = None, *, reference: bool = True
) -> Certificate: ...


@overload
def certify(subject: object, X: Any, y: Any, *, reference: bool = True) -> Certificate: ...


def certify(subject: Any, *given: Any, reference: bool = True, **named: Any) -> Certificate:
    """certify(problem, w, b, alpha=None): the certificate of a point of a Problem.
    certify(estimator, X, y): that of a fitted scikit-learn estimator, for the problem it promised to solve. X and y are
    the data it was fitted on.

    Without multipliers there is no lower bound of the optimum in the point itself. marginbench then solves the problem
    too, in this process, and takes the bound from its own multipliers; `dual_source` says so. reference=False: do not.

    >>> import marginbench as mb
    >>> from sklearn.svm import LinearSVC
    >>> X, y = mb.load("breast_cancer")
    >>> found = mb.certify(LinearSVC(loss="hinge", tol=1e-8, max_iter=1_000_000).fit(X, y), X, y)
    >>> found.promise
    'LinearSVC: hinge, C = 1, intercept penalised (s = 1)'
    >>> found.gap < 1e-4, found.dual_source
    (True, 'reference')
    """
    if isinstance(subject, model.Problem):
        return _of_point(subject, *given, reference=reference, **named)
    return _of_estimator(subject, *given, reference=reference, **named)


def _of_point(problem: model.Problem, w: Any, b: float = 0.0, alpha: Any = None, *, reference: bool) -> Certificate:
    classes = getattr(problem, "classes", None) or SIGNS
    point = Point(_vector(w), b, None if alpha is None else _vector(alpha))
    found = certificate(problem, point, classes=classes)
    if found.dual is not None or not reference:
        return found
    return certificate(problem, point, bounds_of(problem), classes=classes)


def _of_estimator(estimator: Any, X: Any, y: Any, *, reference: bool) -> Certificate:
    found = promise_of(estimator, X, y)
    needed = reference and found.point.alpha is None and found.judge == "optimum"
    known = bounds_of(found.problem) if needed else None
    return certificate(
        found.problem,
        found.point,
        known,
        classes=found.classes,
        judge=found.judge,
        promise=found.text,
        notes=found.notes,
    )


def _vector(values: Any) -> Array:
    """A column or row of a matrix too, as `coef_` is."""
    found = np.asarray(values)
    return found.ravel() if found.ndim == 2 and 1 in found.shape else found
