"""The canonical problem: duality, symmetry, bias and repair, as properties on random problems."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbench.harness.model import lambdas
from marginbench.harness.model.problem import InputError, Problem

BIASES = ("none", "free", "augmented")
LOSSES = ("hinge", "squared_hinge")
modest = settings(max_examples=40, deadline=None, derandomize=True)


@st.composite
def problems(draw, biases=BIASES, losses=LOSSES, C=None):
    """A small problem with a generator for points on it; rounded data, so that ties and flat pieces do occur."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-1, 2)
    if draw(st.booleans()):
        X = np.round(X)
    made = Problem(
        sp.csr_array(X) if draw(st.booleans()) else X,
        np.where(rng.random(n) < rng.choice([0.0, 0.5, 0.8]), -1.0, 1.0),
        C=10.0 ** draw(st.integers(-3, 3)) if C is None else C,
        bias=draw(st.sampled_from(biases)),
        loss=draw(st.sampled_from(losses)),
        weight=rng.uniform(0.1, 3.0, n) if draw(st.booleans()) else None,
        s=float(rng.choice([1.0, 0.5, 3.0])),
    )
    return made, rng


def some_plane(problem, rng):
    b = 0.0 if problem.bias == "none" else float(rng.standard_normal())
    return rng.standard_normal(problem.d) * 10.0 ** rng.integers(-2, 2), b


def some_alpha(problem, rng):
    """Feasible multipliers, with some at each bound."""
    inside = rng.random(problem.n) * np.where(np.isinf(problem.upper), 3.0, problem.upper)
    alpha = np.choose(rng.integers(0, 3, problem.n), [0.0 * inside, inside, np.minimum(problem.upper, 10.0)])
    return problem.feasible_dual(alpha)


def close(a, b, scale=1.0):
    return np.allclose(a, b, rtol=1e-9, atol=1e-11 * max(1.0, scale))


# -- duality -----------------------------------------------------------------------------------------------------


@given(problems())
@modest
def test_weak_duality(case):
    problem, rng = case
    for _ in range(5):
        P, D = problem.primal(*some_plane(problem, rng)), problem.dual(some_alpha(problem, rng))
        assert (P - D) / max(1.0, abs(P), abs(D)) >= -1e-10


@given(problems())
@modest
def test_gap_is_a_sum_over_rows(case):
    """P - D = sum alpha (m - 1)_+ + (C - alpha)(1 - m)_+ for w = w(alpha), any b that the dual allows."""
    problem, rng = case
    alpha = some_alpha(problem, rng)
    w, b = problem.point(alpha)[:2]
    m = problem.margins(w, b)
    over, under = np.maximum(0.0, m - 1.0), np.maximum(0.0, 1.0 - m)
    rows = alpha * over
    if problem.loss == "hinge":
        rows = rows + (problem.penalty - alpha) * under
    else:
        rows = rows + (2.0 * problem.penalty * under - alpha) ** 2 / (4.0 * problem.penalty)
    P, D = problem.primal(w, b), problem.dual(alpha)
    assert close(P - D, rows.sum(), scale=abs(P) + abs(D))


@given(problems())
@modest
def test_swapping_labels_flips_the_plane(case):
    problem, rng = case
    swapped = problem.with_(y=-problem.y)
    w, b = some_plane(problem, rng)
    alpha = some_alpha(problem, rng)
    assert close(swapped.primal(-w, -b), problem.primal(w, b))
    assert close(swapped.dual(alpha), problem.dual(alpha), scale=alpha.sum())
    assert close(swapped.best_bias(-w), -problem.best_bias(w), scale=np.abs(w).max() * np.abs(problem.X).max())
    there, here = swapped.point(alpha), problem.point(alpha)
    assert close(there.w, -here.w, scale=np.abs(here.w).max())


@given(problems())
@modest
def test_doubling_the_data_while_halving_C_changes_nothing(case):
    problem, rng = case
    stack = sp.vstack if sp.issparse(problem.X) else np.vstack
    twice = Problem(
        stack([problem.X, problem.X]),
        np.tile(problem.y, 2),
        C=problem.C / 2.0,
        bias=problem.bias,
        loss=problem.loss,
        weight=None if problem.weight is None else np.tile(problem.weight, 2),
        s=problem.s,
    )
    w, b = some_plane(problem, rng)
    alpha = some_alpha(problem, rng)
    assert close(twice.primal(w, b), problem.primal(w, b))
    assert close(twice.dual(np.tile(alpha / 2.0, 2)), problem.dual(alpha), scale=alpha.sum())


@given(problems(biases=("augmented",)))
@modest
def test_augmented_bias_is_no_bias_on_one_feature_more(case):
    problem, rng = case
    plain = Problem(problem.features, problem.y, C=problem.C, bias="none", loss=problem.loss, weight=problem.weight)
    w, b = some_plane(problem, rng)
    alpha = some_alpha(problem, rng)
    v = problem.join(w, b)
    assert close(plain.primal(v), problem.primal(w, b))
    assert close(plain.dual(alpha), problem.dual(alpha), scale=alpha.sum() + np.abs(problem.X).max() ** 2)
    assert close(problem.join(*problem.point(alpha)[:2]), plain.weights(alpha))
    assert close(problem.split(v)[0], w)
    assert close(problem.split(v)[1], b)


@given(problems())
@modest
def test_dense_and_sparse_are_one_problem(case):
    problem, rng = case
    other = problem.with_(X=problem.X.toarray() if sp.issparse(problem.X) else sp.csr_array(problem.X))
    w, b = some_plane(problem, rng)
    alpha = some_alpha(problem, rng)
    assert close(other.primal(w, b), problem.primal(w, b))
    assert close(other.dual(alpha), problem.dual(alpha), scale=alpha.sum() + np.abs(other.X).max() ** 2)
    assert other.d == problem.d


# -- bias --------------------------------------------------------------------------------------------------------


@given(problems(biases=("free", "augmented")))
@modest
def test_best_bias_beats_every_other(case):
    problem, rng = case
    w, _ = some_plane(problem, rng)
    t = problem.y - problem.X @ w
    best = problem.best_bias(w)
    least = problem.primal(w, best)
    for b in [*t, *np.linspace(t.min() - 2.0, t.max() + 2.0, 100), 0.0]:
        assert least <= problem.primal(w, b) * (1.0 + 1e-12) + 1e-14 * problem.penalty.sum()


@given(problems(biases=("free",), losses=("hinge",)))
@modest
def test_best_bias_is_the_middle_of_the_optimal_break_points(case):
    problem, rng = case
    w, _ = some_plane(problem, rng)
    t = problem.y - problem.X @ w
    values = np.array([problem.primal(w, b) for b in t])
    optimal = t[values <= values.min() * (1.0 + 1e-13) + 1e-13 * problem.penalty.min()]
    assert problem.best_bias(w) == pytest.approx((optimal.min() + optimal.max()) / 2.0, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_best_bias_of_one_class_costs_nothing(label, loss):
    """Thousands of roundings of a running sum must not hide that the slope is 0."""
    X = np.random.default_rng(0).standard_normal((5000, 2))
    problem = Problem(X, np.full(5000, label), C=0.1, loss=loss)
    assert problem.primal(np.zeros(2), problem.best_bias(np.zeros(2))) == 0.0
    w = np.array([1.0, -2.0])
    assert problem.primal(w, problem.best_bias(w)) == pytest.approx(2.5, rel=1e-12)


def test_best_bias_sees_a_flat_piece_among_thousands_of_rows():
    n = 10_000
    y = np.repeat([1.0, -1.0], n)
    x = np.concatenate([np.linspace(2.0, 3.0, n), np.linspace(-9.0, -4.0, n)])
    assert Problem(x[:, None], y, C=0.1).best_bias(np.ones(1)) == pytest.approx((-1.0 + 3.0) / 2.0, abs=1e-12)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_best_bias_is_the_middle_where_the_squared_hinge_is_flat(label):
    X, y = np.array([[3.1], [2.3], [-1.7]]), label * np.array([1.0, 1.0, -1.0])
    b = Problem(X, y, loss="squared_hinge", weight=np.array([0.1, 0.7, 0.3])).best_bias(np.full(1, label))
    assert b == pytest.approx(label * (-1.3 + 0.7) / 2.0, abs=1e-12)


def test_best_bias_of_the_hard_margin():
    X, y = np.array([[4.0], [3.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    hard = Problem(X, y, C=np.inf)
    assert hard.best_bias(np.ones(1)) == -1.0
    assert hard.primal(np.ones(1), -1.0) == 0.5
    assert hard.primal(np.ones(1), -3.0) == np.inf
    assert hard.with_(bias="augmented").best_bias(np.ones(1)) == 0.0
    assert hard.with_(bias="none").best_bias(np.ones(1)) == 0.0
    one_class = Problem(X, np.ones(3), C=np.inf)
    assert one_class.margins(np.ones(1), one_class.best_bias(np.ones(1))).min() == 1.0


def test_bias_interval_without_a_free_support_vector():
    """x = 1, -1 with C = 0.1: both alpha = C, w = 0.2, and no b between -0.8 and 0.8 is better than another."""
    problem = Problem(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), C=0.1)
    alpha = np.array([0.1, 0.1])
    point = problem.point(alpha)
    low, high = problem.bias_interval(point.w, alpha)
    assert (low, high) == pytest.approx((-0.8, 0.8))
    assert point.b == pytest.approx(0.0)
    for b in np.linspace(low, high, 7):
        assert problem.primal(point.w, b) == pytest.approx(problem.dual(alpha))
    assert problem.primal(point.w, high + 0.01) > problem.dual(alpha) + 1e-4


def test_bias_interval_with_free_support_vectors_is_a_point():
    problem = Problem(np.array([[2.0], [0.0]]), np.array([1.0, -1.0]), C=10.0)
    alpha = np.array([0.5, 0.5])
    assert problem.bias_interval(problem.weights(alpha), alpha) == pytest.approx((-1.0, -1.0))
    assert problem.point(alpha).b == pytest.approx(-1.0)


def test_bias_interval_is_empty_away_from_the_optimum():
    problem = Problem(np.array([[2.0], [0.0]]), np.array([1.0, -1.0]), C=10.0)
    low, high = problem.bias_interval(np.zeros(1), np.zeros(2))
    assert low > high


# -- repair ------------------------------------------------------------------------------------------------------


@given(problems())
@modest
def test_feasible_dual_is_feasible_and_keeps_what_is(case):
    problem, rng = case
    scale = np.where(np.isinf(problem.upper), 3.0, problem.upper)
    alpha = problem.feasible_dual(rng.normal(0.5, 1.0, problem.n) * scale)
    assert (alpha >= 0.0).all()
    assert (alpha <= problem.upper).all()
    if problem.bias == "free":
        assert abs(alpha @ problem.y) <= 1e-12 * alpha.sum()
    assert np.allclose(problem.feasible_dual(alpha), alpha, rtol=1e-12, atol=1e-13 * scale.max())


def test_repair_leaves_multipliers_near_a_bound_alone():
    """An interior point puts every alpha strictly inside; only the truly free ones may pay for the equality."""
    rng = np.random.default_rng(0)
    problem = Problem(rng.standard_normal((40, 2)), np.tile([1.0, -1.0], 20))
    alpha = np.repeat([1e-9, 1.0 - 1e-9, 0.4, 0.6], 10)
    alpha[-1] += 1e-4
    moved = np.abs(problem.feasible_dual(alpha) - alpha)
    assert moved[:20].max() < 1e-13
    assert moved[20:].max() > 1e-6


def test_one_class_with_a_free_bias_has_no_multipliers():
    problem = Problem(np.eye(3), np.ones(3), weight=np.array([0.1, 0.7, 3.0]))
    assert (problem.feasible_dual(np.array([0.1, 0.3, 3.0])) == 0.0).all()


def test_repair_lets_what_is_not_finite_pass():
    problem = Problem(np.eye(2), np.array([1.0, -1.0]), C=np.inf)
    assert np.isnan(problem.feasible_dual(np.array([np.nan, 1.0]))[0])
    assert np.isinf(problem.feasible_dual(np.array([np.inf, 1.0]))[0])
    assert np.isnan(problem.best_bias(np.array([np.nan, 1.0])))


# -- conversions and refusals ------------------------------------------------------------------------------------


@given(st.floats(1e-6, 1e6), st.integers(1, 10**7))
@modest
def test_lambdas_convert_both_ways(C, n):
    assert lambdas.C_of_tikhonov(lambdas.tikhonov_lambda(C, n), n) == pytest.approx(C)
    assert lambdas.C_of_sum(lambdas.sum_lambda(C)) == pytest.approx(C)
    assert lambdas.C_of_pegasos(lambdas.pegasos_lambda(C, n), n) == pytest.approx(C)
    assert 2.0 * n * lambdas.tikhonov_lambda(C, n) == pytest.approx(lambdas.sum_lambda(C))
    assert n * lambdas.pegasos_lambda(C, n) == pytest.approx(lambdas.sum_lambda(C))


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"C": 0.0}, "problem.C=0.0"),
        ({"C": float("nan")}, "problem.C=nan"),
        ({"bias": "some"}, "problem.bias=some"),
        ({"loss": "log"}, "problem.loss=log"),
        ({"s": 0.0}, "problem.s=0.0"),
        ({"y": np.array([0.0, 1.0])}, "labels"),
        ({"y": np.ones(3)}, "labels"),
        ({"weight": np.array([1.0, 0.0])}, "weight"),
        ({"X": np.array([[np.nan], [1.0]])}, "data"),
        ({"X": sp.csr_array(np.array([[np.inf], [1.0]]))}, "data"),
        ({"X": np.ones((2, 0))}, "data"),
        ({"X": np.ones(2)}, "data"),
    ],
)
def test_bad_input_is_refused_in_one_line(changes, names):
    given = {"X": np.eye(2), "y": np.array([1.0, -1.0]), **changes}
    with pytest.raises(InputError, match=names) as caught:
        Problem(**given)
    assert "\n" not in str(caught.value)


def test_whole_numbers_are_the_floats_that_they_equal():
    """Kernels are compiled for types: integers would be other code, with other last digits."""
    X, y = np.eye(2), np.array([1.0, -1.0])
    whole, real = Problem(X, y, 2, "augmented", s=3), Problem(X, y, 2.0, "augmented", s=3.0)
    assert whole.upper.dtype == whole.penalty.dtype == whole.features.dtype == np.float64
    assert repr((whole.C, whole.s)) == repr((real.C, real.s)) == "(2.0, 3.0)"


@pytest.mark.parametrize("C", [0, -1, float("nan"), True, "1", None, 10**400])
def test_a_price_that_is_no_positive_number_is_named(C):
    with pytest.raises(InputError, match=r"^problem\.C=.*: C must be a number above 0, or inf for the hard margin$"):
        Problem(np.eye(2), np.array([1.0, -1.0]), C)
