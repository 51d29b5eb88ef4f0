"""Certificates of points and of fitted estimators: an estimator is judged on the problem that it promised to solve."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import marginbench as mb
from marginbench.harness.model.problem import InputError

RAW, TARGET = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(RAW)[:, :8]
y = np.where(TARGET > 0, "benign", "malignant")
TIGHT = {"tol": 1e-10, "max_iter": 10_000_000}

EXACT = {
    "hinge": LinearSVC(loss="hinge", C=0.05, **TIGHT),
    "squared hinge": LinearSVC(loss="squared_hinge", C=0.05, **TIGHT),
    "primal": LinearSVC(loss="squared_hinge", dual=False, C=0.05, **TIGHT),
    "no intercept": LinearSVC(loss="hinge", C=0.05, fit_intercept=False, **TIGHT),
    "intercept scaling": LinearSVC(loss="hinge", C=0.05, intercept_scaling=5.0, **TIGHT),
    "balanced": LinearSVC(loss="hinge", C=0.05, class_weight="balanced", **TIGHT),
    "class weights": LinearSVC(loss="hinge", C=0.05, class_weight={"benign": 3.0}, **TIGHT),
    "SVC": SVC(kernel="linear", C=0.05, tol=1e-8),
    "SVC balanced": SVC(kernel="linear", C=0.05, tol=1e-8, class_weight="balanced"),
    "ours": mb.estimator("auto", C=0.05, bias="free", gap=1e-8),
    "ours weighted": mb.estimator("coordinate_descent", C=0.05, weight="balanced", loss="squared_hinge", gap=1e-8),
}


@pytest.mark.parametrize("name", EXACT)
def test_an_estimator_that_was_solved_to_the_end_has_no_gap(name):
    """It would have one if C, loss, weights, or the convention of the bias were read wrongly."""
    found = mb.certify(EXACT[name].fit(X, y), X, y)
    assert found.gap is not None
    assert found.gap < 1e-5
    assert found.positive == "malignant"
    assert found.judge == "optimum"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_of_SGD_is_read_in_canonical_units(loss, fit_intercept):
    """alpha/2 ||w||^2 + mean loss, times C n = 1/alpha; and a long run comes near the optimum of that problem."""
    alpha = 0.01
    steps = {"learning_rate": "constant", "eta0": 1e-3, "max_iter": 1000, "tol": None, "average": True}
    sgd = SGDClassifier(loss=loss, alpha=alpha, fit_intercept=fit_intercept, random_state=0, **steps).fit(X, y)
    found = mb.certify(sgd, X, y)
    slack = np.maximum(0.0, 1.0 - np.where(y == "malignant", 1.0, -1.0) * sgd.decision_function(X))
    mean = (slack if loss == "hinge" else slack**2).mean()
    assert found.primal == pytest.approx((alpha / 2.0 * (sgd.coef_**2).sum() + mean) / alpha)
    assert found.problem.bias == ("free" if fit_intercept else "none")
    assert found.gap < 0.02


def test_the_default_stopping_of_an_estimator_shows_as_a_gap():
    loose = mb.certify(LinearSVC(loss="hinge", C=1.0, tol=0.5, random_state=0).fit(X, y), X, y)
    assert loose.gap > 1e-5


def test_the_multipliers_of_an_SVC_are_its_own_proof():
    found = mb.certify(SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y), X, y, reference=False)
    assert found.dual_source == "own"
    assert found.gap < 1e-6
    assert found.kkt_stationarity < 1e-10


def test_where_the_lower_bound_comes_from_is_said():
    fitted = LinearSVC(C=0.1).fit(X, y)
    found, alone = mb.certify(fitted, X, y), mb.certify(fitted, X, y, reference=False)
    assert (found.dual_source, found.reference) == ("reference", "computed")
    assert "from a solve by marginbench itself" in found.proven
    assert (alone.dual, alone.gap, alone.dual_source) == (None, None, "")
    assert "not known" in alone.proven
    assert any("sample weights" in note for note in found.notes)


@pytest.mark.parametrize(
    "steps",
    [(StandardScaler(),), (MinMaxScaler(),), (MaxAbsScaler(),), (SelectKBest(k=5), StandardScaler()), ("passthrough",)],
    ids=str,
)
def test_a_pipeline_is_judged_on_what_its_last_step_was_given(steps):
    pipeline = make_pipeline(*steps, SVC(kernel="linear", C=0.1, tol=1e-8)).fit(X, y)
    found = mb.certify(pipeline, X, y)
    assert found.gap < 1e-6
    assert steps == ("passthrough",) or "on the output of" in found.promise


def test_a_perceptron_is_judged_by_separation():
    A, labels = load_iris(return_X_y=True)
    easy, hard = labels != 1, labels != 0
    separated = mb.certify(Perceptron(tol=None).fit(A[easy], labels[easy]), A[easy], labels[easy])
    assert separated.judge == "separation"
    assert separated.mistakes == 0
    assert separated.gap is None
    assert separated.proven.startswith("Every row is on its side")
    mixed = mb.certify(Perceptron().fit(A[hard], labels[hard]), A[hard], labels[hard])
    assert mixed.mistakes > 0
    assert mixed.proven == f"The data are not separated: rows on the wrong side: {mixed.mistakes}."


def test_sparse_data_and_data_frames_give_the_same_certificate():
    fitted = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y)
    dense = mb.certify(fitted, X, y)
    sparse = mb.certify(SVC(kernel="linear", C=0.1, tol=1e-8).fit(sp.csr_matrix(X), y), sp.csr_matrix(X), y)
    assert sparse.gap < 1e-6
    assert sparse.primal == pytest.approx(dense.primal, rel=1e-6)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    assert mb.certify(make_pipeline(StandardScaler(), LinearSVC(C=0.1)).fit(frame, y), frame, y).gap < 1e-2


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "LogisticRegression cannot be judged; possible are LinearSVC"),
        (make_pipeline(StandardScaler(), RandomForestClassifier()), "RandomForestClassifier cannot be judged"),
        (LinearSVC(penalty="l1", dual=False), "penalty='l1'.*possible is penalty='l2'"),
        (SGDClassifier(penalty="elasticnet"), "penalty='elasticnet'"),
        (SGDClassifier(loss="log_loss"), "loss='log_loss'"),
        (SVC(kernel="sigmoid"), "kernel='sigmoid'.*possible are 'linear', 'rbf', 'poly'"),
        (Perceptron(penalty="l2"), "penalty='l2'.*possible is penalty=None"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_promised_something_else_is_refused(estimator, message):
    with pytest.raises(InputError, match=message) as error:
        mb.certify(estimator.fit(X, y), X, y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "asked",
    [{"kernel": "rbf"}, {"kernel": "rbf", "gamma": 0.3}, {"kernel": "poly", "degree": 2, "coef0": 1.0}],
    ids=str,
)
def test_an_SVC_with_a_kernel_is_held_to_its_problem(asked):
    rough, fine = (SVC(C=0.5, tol=tol, **asked).fit(X, y) for tol in (0.1, 1e-8))
    found = mb.certify(fine, X, y)
    assert found.dual_source == "own"
    assert found.gap < 1e-6 < mb.certify(rough, X, y).gap
    assert "eps=" in repr(found)


def test_estimators_that_do_not_fit_the_data_are_refused():
    with pytest.raises(InputError, match="LinearSVC is not fitted"):
        mb.certify(LinearSVC(), X, y)
    with pytest.raises(InputError, match="Pipeline is not fitted"):
        mb.certify(make_pipeline(StandardScaler(), LinearSVC()), X, y)
    A, labels = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="fitted on 3 classes; two are possible"):
        mb.certify(LinearSVC().fit(A, labels), A, labels)
    fitted = SVC(kernel="linear").fit(X, y)
    with pytest.raises(InputError, match="X has 7 columns; SVC was fitted on 8"):
        mb.certify(fitted, X[:, :7], y)
    with pytest.raises(InputError, match="support vectors of the SVC are not rows of X"):
        mb.certify(fitted, X[::-1], y[::-1])
    with pytest.raises(InputError, match="'other' among them; known are 'benign' and 'malignant'"):
        mb.certify(fitted, X, np.where(y == "benign", "other", y))


def test_a_point_of_a_problem():
    problem = mb.Problem(X, y, C=0.1, bias="free")
    svc = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    own = mb.certify(problem, svc.coef_, svc.intercept_[0], alpha)
    without = mb.certify(problem, svc.coef_[0], svc.intercept_[0])
    assert (own.dual_source, without.dual_source) == ("own", "reference")
    assert own.gap < 1e-6
    assert without.primal == own.primal
    assert without.dual >= own.dual * (1.0 - 1e-9)
    assert own.positive == "malignant"
    far = mb.certify(problem, 0.0 * svc.coef_, 0.0)
    assert far.gap > 0.5
    with pytest.raises(InputError, match=r"w has shape \(3,\), not \(8,\)"):
        mb.certify(problem, [1.0, 2.0, 3.0], 0.0)


def test_what_a_reader_sees():
    found = mb.certify(mb.Problem(X, np.where(y == "benign", "<b>", "x"), positive="<b>"), np.zeros(8), 0.0)
    page = found._repr_html_()
    assert "relative gap" in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert found.proven in repr(found)
    assert "positive class: '<b>'" in repr(found)
