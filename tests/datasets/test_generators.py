"""Data sets: the promised property of each generator, and the bundled ones."""

import re

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from omegaconf import OmegaConf
from sample_data import CONFIGS, configured
from scipy.stats import norm

from marginbench.datasets import bundled, generators
from marginbench.datasets.check import check
from marginbench.datasets.digest import digest

READ = ("datasets.files.file", "datasets.field_sets.")
NAMES = sorted(path.stem for path in CONFIGS.glob("*.yaml") if not any(target in path.read_text() for target in READ))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


# -- generators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_config_gives_a_canonical_data_set_and_the_same_one_again(name):
    X, y = configured(name)
    assert X.dtype == y.dtype == np.float64
    if sp.issparse(X):
        assert isinstance(X, sp.csr_array)
        assert X.has_canonical_format
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert X.data.all()
    else:
        assert X.flags.c_contiguous
    checked, _ = check(X, y)
    assert digest(checked, y) == digest(X, y) == digest(*configured(name))


# Stored optima are found by these names: a change of the data must be a decision.
PINNED = {
    "breast_cancer": "2f247de97c37d256",
    "digits": "bbb2792c82afee5c",
    "duplicates": "5ef2990f7b4380fd",
    "ill_conditioned": "601b8a87c4535c97",
    "label_noise": "8f9b48e8162142d4",
    "one_hot": "04a0d3edd56d5739",
    "overlapping": "ff6048a3e3f11fb9",
    "rare": "7a917a579227bb2d",
    "raw_counts": "b516653e4e52bbc6",
    "separable": "fadbee8c8dbce6e6",
    "small": "4a8d96ce800731f9",
    "family": "9b7b394f0cfdf004",
    "units": "4a670398262e4ffe",
    "text": "32eb4d84c561dd9f",
    "one_hot_large": "15c70edfd9ee445a",
    "overlapping_large": "547529729135635d",
    "overlapping_on_disk": "d7a23573c9bb0fdf",
    "ill_conditioned_large": "808fec35f7493b13",
    "text_large": "ee1f6fc06b89443e",
    "wide": "36592eb2bb18faca",
    "raw_counts_large": "2e67c2345d6077f8",
    "wine": "da75175fb1d9d8e5",
    "polynomial_kernel": "0e649a697822f16d",
    "gaussian_kernel": "4391b43f64908c86",
}


SEEDED = [n for n in NAMES if "seed" in OmegaConf.load(CONFIGS / f"{n}.yaml") and not n.endswith("kernel")]


def test_the_default_data_sets_are_the_same_bits_as_ever():
    assert {name: digest(*configured(name))[:16] for name in NAMES} == PINNED


@pytest.mark.parametrize("name", SEEDED)
def test_the_seed_changes_the_data_and_the_sizes_are_obeyed(name):
    X, y = configured(name, seed=1, n=90, d=31)
    assert X.shape == (90, 31)
    assert digest(X, y) != digest(*configured(name, seed=2, n=90, d=31))


def hard_margin(X, y, bias):
    """(w, b) of min 1/2 ||w||^2 (+ b^2/2 if augmented), y_i (w.x_i + b) >= 1, by an interior-point code."""
    n, d = X.shape
    column = np.zeros((n, 1)) if bias == "none" else np.ones((n, 1))
    A = -y[:, None] * np.hstack([X, column])
    P = sp.diags_array(np.append(np.ones(d), 0.0 if bias == "free" else 1.0), format="csc")
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(n)]
    solver = clarabel.DefaultSolver(P, np.zeros(d + 1), sp.csc_array(A), -np.ones(n), cones, options)
    x = np.array(solver.solve().x)
    return x[:d], x[d]


@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
@pytest.mark.parametrize(("n", "d", "margin"), [(60, 5, 0.3), (41, 1, 2.0), (2, 3, 0.5), (30, 60, 0.05)])
def test_separable_has_the_chosen_margin_for_every_bias(n, d, margin, bias):
    X, y = generators.separable(n, d, margin, seed=3)
    w, b = hard_margin(X, y, bias)
    assert 1 / np.linalg.norm(w) == pytest.approx(margin, rel=1e-6)
    assert b == pytest.approx(0.0, abs=1e-5 / margin)
    reached = y * (X @ w) / np.linalg.norm(w)
    assert np.count_nonzero(np.abs(reached - margin) <= 1e-5) >= 2 * max(1, n // 20)


def test_other_units_change_every_number_by_a_power_of_two():
    X, y = generators.overlapping(50, 3, distance=2.0, seed=4)
    scaled, labels = generators.units(50, 3, distance=2.0, scale=2.0**-12, seed=4)
    assert (scaled * 2.0**12 == X).all()
    assert (labels == y).all()


def test_overlapping_classes_err_as_gaussians_do():
    X, y = generators.overlapping(20_000, 9, distance=2.0, seed=0)
    assert y.sum() == 0
    error = np.mean(np.sign(X.sum(axis=1)) != y)
    expected = norm.cdf(-1.0)
    assert error == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / y.size))
    assert np.cov(X[y > 0].T) == pytest.approx(np.eye(9), abs=0.06)


def test_label_noise_turns_the_chosen_share_of_each_class():
    X, y = generators.label_noise(201, 4, margin=0.2, flip=0.1, seed=5)
    clean_X, clean = generators.separable(201, 4, margin=0.2, seed=5)
    assert np.array_equal(X, clean_X)
    assert np.count_nonzero((y != clean) & (clean > 0)) == 10
    assert np.count_nonzero((y != clean) & (clean < 0)) == 10


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
def test_ill_conditioned_has_the_chosen_condition_number(condition):
    X, y = generators.ill_conditioned(80, 12, condition, noise=0.5, seed=0)
    assert np.linalg.cond(X) == pytest.approx(condition, rel=1e-6)
    assert y.sum() == 0


def test_text_has_unit_rows_and_column_counts_that_fall_as_one_over_the_rank():
    X, y = generators.text(4000, 1000, length=40, topic=0.2, seed=0)
    assert np.sqrt(X.multiply(X).sum(axis=1)) == pytest.approx(np.ones(4000), rel=1e-14)
    assert X.nnz < 0.05 * 4000 * 1000
    rank = np.arange(20, 320)  # beyond words that nearly every document holds; neighbours 2j, 2j + 1 share a topic
    documents = np.bincount(X.indices, minlength=1000)[rank].reshape(-1, 2).mean(axis=1)
    slope = np.polyfit(np.log(rank.reshape(-1, 2).mean(axis=1)), np.log(documents), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.1)
    odd = X[:, 1::2].sum(axis=1) / X.sum(axis=1)
    assert odd[y > 0].mean() > odd[y < 0].mean() + 0.1


def test_raw_counts_are_counts_of_documents_of_very_different_length():
    X, _ = generators.raw_counts(300, 500, shortest=5, spread=2000, topic=0.2, seed=0)
    assert np.array_equal(X.data, np.round(X.data))
    words = X.sum(axis=1)
    assert (words.min(), words.max()) == (5, 10_000)
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    assert norms.max() / norms.min() > 300


def test_duplicates_has_exactly_the_chosen_copies_and_zero_rows():
    X, y = generators.duplicates(200, 6, distance=2.0, repeats=0.3, zeros=0.05, seed=0)
    empty = ~X.any(axis=1)
    assert empty.sum() == 10
    assert set(y[empty]) == {-1.0, 1.0}
    labelled = np.column_stack([X, y])[~empty]
    assert len(np.unique(labelled, axis=0)) == len(labelled) - 60


@pytest.mark.parametrize(("ratio", "count"), [(0.03, 15), (1e-6, 1), (0.5, 250)])
def test_rare_has_exactly_the_chosen_ratio(ratio, count):
    _, y = generators.rare(500, 3, distance=2.0, ratio=ratio, seed=0)
    assert np.count_nonzero(y > 0) == count


def test_one_hot_has_one_category_per_variable():
    X, y = generators.one_hot(400, 50, variables=7, ratio=0.25, noise=0.5, seed=0)
    assert set(X.data) == {1.0}
    assert set(np.diff(X.indptr)) == {7}
    assert np.count_nonzero(y > 0) == 100
    columns = X.indices.reshape(400, 7)
    assert (columns.max(axis=0)[:-1] < columns.min(axis=0)[1:]).all()  # variable k keeps to its own block
    assert np.bincount(X.indices, minlength=50)[columns.min(axis=0)] == pytest.approx(columns.shape[0] / 3, rel=0.8)


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("separable", {"n": 1}, "dataset.n=1: need a whole number of at least 2"),
        ("separable", {"n": 10.5}, "dataset.n=10.5: need a whole number"),
        ("separable", {"n": "many"}, "dataset.n=many: need a whole number"),
        ("separable", {"d": 0}, "dataset.d=0"),
        ("separable", {"margin": 0}, "dataset.margin=0: need a finite number above 0"),
        ("separable", {"margin": float("nan")}, "dataset.margin=nan"),
        ("separable", {"margin": "wide"}, "dataset.margin=wide"),
        ("separable", {"seed": -1}, "dataset.seed=-1"),
        ("overlapping", {"distance": -1}, "dataset.distance=-1"),
        ("label_noise", {"flip": 0.5}, "dataset.flip=0.5"),
        ("ill_conditioned", {"condition": 0.5}, "dataset.condition=0.5"),
        ("ill_conditioned", {"n": 10}, "n >= d"),
        ("ill_conditioned", {"noise": -1}, "dataset.noise=-1"),
        ("text", {"topic": 1.5}, "dataset.topic=1.5"),
        ("text", {"length": 0}, "dataset.length=0"),
        ("raw_counts", {"spread": 0}, "dataset.spread=0"),
        ("duplicates", {"repeats": 0.99}, "leave at least 2"),
        ("duplicates", {"zeros": -0.1}, "dataset.zeros=-0.1"),
        ("rare", {"ratio": 0}, "dataset.ratio=0"),
        ("one_hot", {"ratio": 1}, "dataset.ratio=1"),
        ("one_hot", {"d": 20}, "dataset.d=20: need a whole number of at least 28"),
        ("digits", {"positive": 10}, "possible are 0, 1, 2"),
        ("digits", {"positive": 3}, "two different classes"),
        ("wine", {"negative": "red"}, "dataset.negative=red"),
        ("breast_cancer", {"scale": "max"}, "possible are standard, none"),
    ],
)
def test_nonsense_is_refused_in_one_line(name, changes, says):
    function = OmegaConf.load(CONFIGS / f"{name}.yaml")["_target_"].rsplit(".", 1)[1]
    arguments = {k: v for k, v in OmegaConf.load(CONFIGS / f"{name}.yaml").items() if k != "_target_"}
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        getattr(bundled if hasattr(bundled, function) else generators, function)(**arguments | changes)
    assert "\n" not in str(caught.value)


def test_a_whole_float_from_the_command_line_is_a_size():
    assert configured("overlapping", n=1e2)[0].shape == (100, 20)


# -- bundled -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "shape", "positives"),
    [(bundled.breast_cancer, (569, 30), 357), (bundled.digits, (357, 64), 174), (bundled.wine, (130, 13), 71)],
)
def test_bundled_sets_are_standardised_unless_told_not_to_be(load, shape, positives):
    X, y = load()
    assert X.shape == shape
    assert np.count_nonzero(y > 0) == positives
    raw, _ = load(scale="none")
    varying = raw.std(axis=0) > 0
    assert X.mean(axis=0) == pytest.approx(np.zeros(shape[1]), abs=1e-13)
    assert X[:, varying].std(axis=0) == pytest.approx(np.ones(varying.sum()), rel=1e-12)
    assert not X[:, ~varying].any()
    assert raw.min() >= 0
