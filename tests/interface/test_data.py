"""Data as Python users hold them: every form of the same data states the same problem."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import marginbench as mb
from marginbench.harness.interface.data import samples
from marginbench.harness.model.problem import InputError

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 4.0]])
SIGNS = [-1.0, -1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("y", "positive"),
    [
        ([-1, -1, 1, 1], 1),
        ([0, 0, 1, 1], 1),
        ([False, False, True, True], True),
        (["no", "no", "yes", "yes"], "yes"),
        (pd.Series(["no", "no", "yes", "yes"], dtype="category"), "yes"),
        (np.array([2.0, 2.0, 7.0, 7.0]), 7.0),
    ],
)
def test_of_two_labels_the_larger_one_is_positive(y, positive):
    found = samples(X, y)
    assert found.y.tolist() == SIGNS
    assert found.classes.positive == positive
    assert found.classes.names(np.array([-1.0, 2.0])).tolist() == [found.classes.negative, positive]


def test_the_positive_label_can_be_chosen():
    found = samples(X, ["no", "no", "yes", "yes"], positive="no")
    assert found.y.tolist() == [1.0, 1.0, -1.0, -1.0]
    assert found.classes == ("yes", "no")


@pytest.mark.parametrize(
    "given",
    [
        X.tolist(),
        X.astype(np.float32),
        X.astype(int),
        np.asfortranarray(X),
        sp.csr_matrix(X),
        sp.coo_array(X),
        pd.DataFrame(X, columns=["a", "b"]),
        pd.DataFrame({"a": X[:, 0], "b": X[:, 1].astype(int)}),
        pd.DataFrame({"a": pd.array([0, 1, 2, 3], dtype="Int64"), "b": X[:, 1]}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_form_of_X_gives_the_same_problem(given):
    problem = mb.Problem(given, SIGNS)
    w = np.array([0.5, -0.25])
    assert problem.primal(w, 0.1) == mb.Problem(X, SIGNS).primal(w, 0.1)


@pytest.mark.parametrize(
    ("given", "y", "message"),
    [
        (X, [0, 1, 2, 2], r"3 classes \(0, 1, 2\); needs two"),
        (X, [1, 1, 1, 1], r"one class only \(1\)"),
        (X, ["a", None, "b", "b"], "missing in row 1"),
        (X, [0.0, 1.0, np.nan, 1.0], "missing in row 2"),
        (X, ["a", 1, "b", 2], "of several types|classes"),
        (X, [[0], [0], [1], [1]], r"shape \(4, 1\)"),
        (X, [0, 1, 1], "labels of shape"),
        (X[:, 0], SIGNS, r"shape \(4,\); needs rows and columns"),
        (X * 1j, SIGNS, "complex128"),
        (sp.csr_array(X * 1j), SIGNS, "complex128"),
        ([["a", 1], ["b", 2], ["c", 3], ["d", 4]], SIGNS, "X: "),
        (np.where(X == 5.0, np.nan, X), SIGNS, "row 2 .* NaN"),
        (pd.DataFrame({"a": [1, 2, 3, 4], "town": list("abcd")}), SIGNS, "not numeric: 'town'"),
        (pd.DataFrame({"a": pd.array([0, 1, None, 3], dtype="Int64")}), SIGNS, "row 2 .* NaN"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(given, y, message):
    with pytest.raises(InputError, match=message) as error:
        samples(given, y)
    assert "\n" not in str(error.value)


def test_an_unknown_positive_label_is_refused():
    with pytest.raises(InputError, match="positive='maybe': the classes are 'no' and 'yes'"):
        samples(X, ["no", "no", "yes", "yes"], positive="maybe")


def test_a_problem_keeps_its_labels_when_it_is_changed():
    problem = mb.Problem(X, ["no", "no", "yes", "yes"], C=2.0, positive="no")
    changed = problem.with_(C=3.0)
    assert changed.C == 3.0
    assert changed.classes == ("yes", "no")
    assert changed.y.tolist() == problem.y.tolist()
    assert repr(changed) == "Problem(n=4, d=2, C=3, bias=augmented, loss=hinge)"
