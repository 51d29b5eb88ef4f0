"""What a fitted scikit-learn estimator promised to solve, and the point it holds, read from its attributes.

    LinearSVC      1/2 ||w||^2 + C sum loss; its intercept is penalised: bias augmented, s = intercept_scaling
    SVC            1/2 ||w||^2 + C sum hinge; bias free; dual_coef_ holds alpha_i y_i; linear, rbf and poly kernels
    SGDClassifier  alpha/2 ||w||^2 + (1/n) sum loss, so that C = 1 / (alpha n); bias free
    Perceptron     a separating hyperplane, no optimum

A pipeline promises it of the data that its other steps give.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from marginbench.harness.interface.data import Classes, checked
from marginbench.harness.model.kernel import Kernel, kernel_of
from marginbench.harness.model.lambdas import C_of_pegasos
from marginbench.harness.model.problem import Array, InputError, Matrix, Point, Problem

POSSIBLE = (
    "possible are LinearSVC, SVC(kernel='linear', 'rbf' or 'poly'), "
    "SGDClassifier(loss='hinge' or 'squared_hinge'), Perceptron, marginbench.estimator, "
    "and a Pipeline that ends in one of these"
)
SAMPLE_WEIGHT = "A fitted estimator keeps no sample weights: if fit was given any, it promised another problem."
EARLY_STOPPING = "It held rows back to stop early (early_stopping=True): judged are all rows that were given."


@dataclass(frozen=True)
class Promise:
    """The problem, the point, and how to judge it."""

    problem: Problem
    point: Point
    classes: Classes
    text: str
    judge: Literal["optimum", "separation"] = "optimum"
    notes: tuple[str, ...] = (SAMPLE_WEIGHT,)


def promise_of(estimator: Any, X: Any, y: Any) -> Promise:
    """Of a fitted estimator and the data it was fitted on."""
    from sklearn.pipeline import Pipeline

    if not isinstance(estimator, Pipeline):
        return _of_classifier(estimator, X, y)
    _needs_fit(estimator)
    before = [type(step).__name__ for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    given = estimator[:-1].transform(X) if before else X
    found = _of_classifier(estimator.steps[-1][1], given, y)
    return replace(found, text=f"{found.text}, on the output of {' and '.join(before)}" if before else found.text)


def _of_classifier(estimator: Any, X: Any, y: Any) -> Promise:
    from sklearn.linear_model import Perceptron, SGDClassifier
    from sklearn.svm import SVC, LinearSVC

    from marginbench.harness.interface.classifier import MarginClassifier

    readers = {
        MarginClassifier: _margin_classifier,
        LinearSVC: _linear_svc,
        SVC: _svc,
        SGDClassifier: _sgd,
        Perceptron: _perceptron,
    }
    name = type(estimator).__name__
    reader = next((read for kind, read in readers.items() if isinstance(estimator, kind)), None)
    if reader is None:
        raise InputError(f"certify: {name} cannot be judged; {POSSIBLE}")
    _needs_fit(estimator)
    if len(estimator.classes_) != 2:
        raise InputError(f"certify: {name} was fitted on {len(estimator.classes_)} classes; two are possible")
    if getattr(estimator, "penalty", "l2") != "l2" and reader is not _perceptron:
        raise InputError(f"certify: {name}(penalty={estimator.penalty!r}); possible is penalty='l2'")
    classes = Classes(*np.asarray(estimator.classes_).tolist())
    given, signs = checked(X, classes.signs(y))
    if given.shape[1] != estimator.n_features_in_:
        raise InputError(f"certify: X has {given.shape[1]} columns; {name} was fitted on {estimator.n_features_in_}")
    return reader(estimator, given, signs, classes)


def _needs_fit(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputError(f"certify: {type(estimator).__name__} is not fitted; call fit(X, y) first") from None


def _margin_classifier(estimator: Any, X: Matrix, y: Array, classes: Classes) -> Promise:
    problem = estimator.problem_of(X, y)
    point = Point(estimator.coef_[0], float(estimator.intercept_[0]), estimator.alpha_)
    if estimator.alpha_ is not None and estimator.alpha_.size != problem.n:
        raise InputError(f"certify: X has {problem.n} rows; it was fitted on {estimator.alpha_.size}")
    text = f"marginbench.estimator(method={estimator.method!r})"
    return Promise(problem, point, classes, text, estimator.certificate_.judge, ())


def _linear_svc(estimator: Any, X: Matrix, y: Array, classes: Classes) -> Promise:
    bias: Literal["augmented", "none"] = "augmented" if estimator.fit_intercept else "none"
    s = float(estimator.intercept_scaling) if estimator.fit_intercept else 1.0
    weight = _weight(estimator.class_weight, y, classes)
    problem = Problem(X, y, float(estimator.C), bias, estimator.loss, weight, s)
    text = f"LinearSVC: {estimator.loss}, C = {estimator.C:g}, {_bias(bias, s)}"
    return Promise(problem, _hyperplane(estimator), classes, text)


def _svc(estimator: Any, X: Matrix, y: Array, classes: Classes) -> Promise:
    kernel = _kernel(estimator)
    vectors = X[estimator.support_] if estimator.support_.max(initial=0) < X.shape[0] else X[:0]
    if vectors.shape != estimator.support_vectors_.shape or _differ(vectors, estimator.support_vectors_):
        raise InputError("certify: the support vectors of the SVC are not rows of X: give the data it was fitted on")
    alpha = np.zeros(X.shape[0])
    coefficients = estimator.dual_coef_
    signed = (coefficients.toarray() if sp.issparse(coefficients) else coefficients).ravel()
    alpha[estimator.support_] = np.abs(signed)
    weight = _weight(estimator.class_weight, y, classes)
    problem = Problem(X, y, float(estimator.C), "free", "hinge", weight, kernel=kernel)
    text = f"SVC: hinge, C = {estimator.C:g}, {_bias('free', 1.0)}"
    if kernel is None:
        return Promise(problem, _hyperplane(estimator)._replace(alpha=alpha), classes, text)
    c = np.zeros(X.shape[0])
    c[estimator.support_] = signed
    point = Point(c, float(np.ravel(estimator.intercept_)[0]), alpha)
    return Promise(problem, point, classes, f"{text}, {kernel}")


def _kernel(estimator: Any) -> Kernel | None:
    """That of an SVC, with the gamma that "scale" and "auto" came to."""
    names = {"linear": "linear", "rbf": "gaussian", "poly": "polynomial"}
    if estimator.kernel not in names:
        raise InputError(f"certify: SVC(kernel={estimator.kernel!r}); possible are {', '.join(map(repr, names))}")
    gamma, coef0, degree = float(estimator._gamma), float(estimator.coef0), estimator.degree
    taken = {"rbf": {"gamma": gamma}, "poly": {"gamma": gamma, "coef0": coef0, "degree": degree}}
    return kernel_of(names[estimator.kernel], taken.get(estimator.kernel, {}), estimator.n_features_in_)


def _sgd(estimator: Any, X: Matrix, y: Array, classes: Classes) -> Promise:
    if estimator.loss not in ("hinge", "squared_hinge"):
        raise InputError(f"certify: SGDClassifier(loss={estimator.loss!r}); possible are 'hinge' and 'squared_hinge'")
    bias: Literal["free", "none"] = "free" if estimator.fit_intercept else "none"
    C, weight = C_of_pegasos(float(estimator.alpha), X.shape[0]), _weight(estimator.class_weight, y, classes)
    problem = Problem(X, y, C, bias, estimator.loss, weight)
    price = f"alpha = {estimator.alpha:g}, that is C = 1/(alpha n) = {C:g}"
    text = f"SGDClassifier: {estimator.loss}, {price}, {_bias(bias, 1.0)}"
    notes = (SAMPLE_WEIGHT, EARLY_STOPPING) if estimator.early_stopping else (SAMPLE_WEIGHT,)
    return Promise(problem, _hyperplane(estimator), classes, text, notes=notes)


def _perceptron(estimator: Any, X: Matrix, y: Array, classes: Classes) -> Promise:
    if estimator.penalty is not None:
        raise InputError(f"certify: Perceptron(penalty={estimator.penalty!r}); possible is penalty=None")
    problem = Problem(X, y, np.inf, "free" if estimator.fit_intercept else "none")
    return Promise(problem, _hyperplane(estimator), classes, "Perceptron: a separating hyperplane", "separation", ())


def _hyperplane(estimator: Any) -> Point:
    coefficients = estimator.coef_
    w = (coefficients.toarray() if sp.issparse(coefficients) else np.asarray(coefficients)).ravel()
    return Point(w, float(np.ravel(estimator.intercept_)[0]))


def _weight(class_weight: Any, y: Array, classes: Classes) -> Array | None:
    """The factor of C for each row; None where it is 1 for all."""
    if class_weight is None:
        return None
    from sklearn.utils.class_weight import compute_class_weight

    named = class_weight
    if isinstance(class_weight, dict):
        named = {sign: class_weight.get(label, 1.0) for sign, label in zip((-1.0, 1.0), classes, strict=True)}
    negative, positive = compute_class_weight(named, classes=np.array([-1.0, 1.0]), y=y)
    return np.asarray(np.where(y > 0.0, positive, negative))


def _bias(bias: str, s: float) -> str:
    return {"free": "intercept not penalised", "none": "no intercept"}.get(bias, f"intercept penalised (s = {s:g})")


def _differ(A: Matrix, B: Matrix) -> bool:
    return bool(abs(A - B).max() > 0.0) if sp.issparse(A) or sp.issparse(B) else not np.array_equal(A, B)
