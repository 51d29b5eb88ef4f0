"""Methods as scikit-learn classifiers: scikit-learn's own checks, and what is ours."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginbench as mb
from marginbench.harness.model.problem import InputError

X, y = mb.load("breast_cancer")
NAMES = np.where(y > 0, "benign", "malignant")

CHECKED = [
    mb.estimator("auto"),
    mb.estimator("coordinate_descent", iterations=1000),
    mb.estimator("liblinear"),
    mb.estimator("pegasos", iterations=200),  # it knows no gap, and would run until its seconds are spent
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_it_finds_what_libsvm_finds():
    ours = mb.estimator(C=0.1, bias="free", gap=1e-9).fit(X, NAMES)
    theirs = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, NAMES)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.classes_.tolist() == ["benign", "malignant"]
    assert ours.certificate_.positive == "malignant"


def test_it_works_in_a_pipeline_and_a_grid_search():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), mb.estimator(seconds=5.0)), {"marginclassifier__C": [1e-4, 0.1]}, cv=3
    )
    assert search.fit(X, NAMES).best_params_ == {"marginclassifier__C": 0.1}
    assert search.score(X, NAMES) > 0.97


def test_an_answer_short_of_the_gap_is_warned_of():
    with pytest.warns(ConvergenceWarning, match="the budget of 2 iterations was spent"):
        fitted = mb.estimator("coordinate_descent", C=100.0, iterations=2).fit(X, y)
    assert fitted.status_ == "inaccurate"
    assert fitted.n_iter_ == 2


def test_a_method_that_does_not_take_the_problem_is_refused():
    with pytest.raises(InputError, match="skipped: Pegasos has no free bias"):
        mb.estimator("pegasos", bias="free").fit(X, y)


def test_a_fitted_estimator_does_not_keep_its_data():
    fitted = mb.estimator("liblinear").fit(X, y)
    assert len(pickle.dumps(fitted)) < 20 * X.shape[0] < X.nbytes


def test_parameters_survive_cloning():
    made = mb.estimator(("tikhonov", "subgradient"), C=3.0, bias="none", loss="hinge", weight="balanced", seed=4)
    assert clone(made).get_params() == made.get_params()
