"""Data sets: the promised property of each generator, every file format, every refusal, digest and cache."""

import bz2
import gzip
import lzma
import re
from decimal import Decimal, localcontext
from inspect import signature
from pathlib import Path

import clarabel
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zstandard
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from scipy.stats import norm

from datasets import bundled, cache, files, generators
from datasets.check import check
from datasets.digest import digest
from datasets.libsvm import read_libsvm
from datasets.tables import read_csv

CONFIGS = Path(__file__).parents[1] / "conf" / "dataset"
NAMES = sorted(path.stem for path in CONFIGS.glob("*.yaml") if "datasets.files.file" not in path.read_text())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


def configured(name, **changes):
    return instantiate(OmegaConf.merge(OmegaConf.load(CONFIGS / f"{name}.yaml"), changes))


def dense(X):
    return X.toarray() if sp.issparse(X) else X


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
    "text": "32eb4d84c561dd9f",
    "one_hot_large": "15c70edfd9ee445a",
    "overlapping_large": "547529729135635d",
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


# -- files: every format and compression ---------------------------------------------------------------------------

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def as_libsvm(X, y):
    rows = (" ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(x) if v) for x in X)
    return "".join(f"{label:+g} {row}\n" for label, row in zip(y, rows, strict=True)).encode()


def as_csv(X, y):
    return "".join(
        f"{label:g}," + ",".join(repr(float(v)) for v in x) + "\n" for label, x in zip(y, X, strict=True)
    ).encode()


def as_npz(tmp_path, **arrays):
    np.savez(tmp_path / "made.npz", **arrays)
    return (tmp_path / "made.npz").read_bytes()


def as_parquet(X, y):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"y": y} | {f"x{j}": X[:, j] for j in range(X.shape[1])}), sink)
    return sink.getvalue().to_pybytes()


def sample(share):
    """Numbers of every size, some of which take 17 digits, others the smallest and largest there are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 7)) * 10.0 ** rng.integers(-300, 300, (40, 7))
    X[rng.random(X.shape) > share] = 0.0
    X[0] = [5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 0.1, 1 / 3, 123456789012345680.0, -1e22]
    X[1] = 0.0
    return X, np.where(rng.random(40) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("share", [0.2, 1.0])
@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("kind", ["libsvm", "svm", "svmlight", "txt", "csv", "npz", "csr.npz", "parquet"])
def test_every_format_and_compression_gives_the_same_bits(tmp_path, kind, compression, share):
    X, y = sample(share)
    if kind == "csr.npz":
        S = sp.csr_array(X)
        raw = as_npz(tmp_path, data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, format=b"csr", y=y)
    elif kind == "npz":
        raw = as_npz(tmp_path, X=X, y=y)
    else:
        raw = {"csv": as_csv, "parquet": as_parquet}.get(kind, as_libsvm)(X, y)
    path = tmp_path / f"data.{kind}{compression}"
    path.write_bytes(COMPRESS[compression](raw))
    read, labels = files.file(str(path))
    assert isinstance(read, np.ndarray) == (share == 1.0)  # whichever takes less memory
    assert np.array_equal(dense(read).view(np.int64), X.view(np.int64))
    assert np.array_equal(labels, y)
    for layout, kind_of in (("dense", np.ndarray), ("csr", sp.csr_array)):
        again, labels = files.file(str(path), layout=layout)
        assert isinstance(again, kind_of)
        assert digest(again, labels) == digest(X, y)
        check(again, labels)


def decimals(rng, count):
    """Texts of 1 to 22 digits with and without point and exponent, and exact midpoints between two doubles."""
    for _ in range(count):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 23))))
        point = int(rng.integers(0, len(digits) + 1))
        mantissa = rng.choice(["", "+", "-"]) + (
            digits[:point] + "." + digits[point:] if rng.random() < 0.7 else digits
        )
        exponent = rng.choice(["e", "E"]) + rng.choice(["", "+", "-"]) + str(rng.integers(0, 250))
        yield mantissa + (exponent if rng.random() < 0.4 else "")
        yield str(2**53 + 2 * int(rng.integers(0, 2**52)) + 1)
        yield str(Decimal(2 * int(rng.integers(2**52, 2**53)) + 1) / 2 ** int(rng.integers(1, 60)))


def test_numbers_are_rounded_as_float_rounds_them():
    with localcontext(prec=200):
        texts = list(decimals(np.random.default_rng(0), 5000))
    content = "".join(f"1 1:{s} 2:1\n{s} 2:1\n" for s in texts).encode()
    X, labels = read_libsvm(content, "made")
    expected = np.array([float(s) for s in texts])
    assert np.array_equal(X[:, [0]].toarray().ravel()[::2], expected)
    assert np.array_equal(labels[1::2].view(np.int64), expected.view(np.int64))
    table, _ = read_csv("".join(f"1,{s}\n" for s in texts).encode(), "made")
    assert np.array_equal(table.ravel().view(np.int64), expected.view(np.int64))


def test_the_file_config_has_every_option_and_asks_for_a_path(tmp_path):
    config = OmegaConf.load(CONFIGS / "file.yaml")
    assert OmegaConf.is_missing(config, "path")
    assert list(config)[1:] == list(signature(files.file).parameters)
    (tmp_path / "made.svm").write_bytes(as_libsvm(*sample(1.0)))
    X, y = configured("file", path=str(tmp_path / "made.svm"))
    assert digest(X, y) == digest(*sample(1.0))


def test_frames_of_zstandard_are_joined(tmp_path):
    half = zstandard.ZstdCompressor().compress
    (tmp_path / "two.svm.zst").write_bytes(half(b"1 1:2\n") + half(b"-1 1:3\n"))
    X, y = files.file(str(tmp_path / "two.svm.zst"))
    assert dense(X).ravel().tolist() == [2.0, 3.0]
    assert y.tolist() == [1.0, -1.0]


# -- files: LIBSVM text --------------------------------------------------------------------------------------------


def put(tmp_path, content, name="made.svm"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_libsvm_passes_over_what_is_no_data(tmp_path):
    text = "\ufeff# title\r\n\r\n+1 qid:7 1:2 3:-4.5e0 # note 9:9\r\n   \n-1\t2:.5#tight\n1 4:0\n-1"
    X, y = files.file(put(tmp_path, text), layout="dense")
    assert X.tolist() == [[2, 0, -4.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert y.tolist() == [1, -1, 1, -1]


def test_libsvm_stores_no_zeros(tmp_path):
    X, _ = files.file(put(tmp_path, "1 1:0 5:1\n-1 2:0.0 3:-0\n"), layout="csr")
    assert X.nnz == 1
    assert X.shape == (2, 5)


def test_an_index_zero_means_that_indices_count_from_zero(tmp_path):
    X, _ = files.file(put(tmp_path, "1 0:1 2:3\n-1 1:2\n"), layout="dense")
    assert X.tolist() == [[1, 0, 3], [0, 2, 0]]


def test_d_adds_empty_columns_and_refuses_more(tmp_path):
    path = put(tmp_path, "1 1:1\n-1 2:1\n-1 3:1\n")
    assert files.file(path, d=5)[0].shape == (3, 5)
    with pytest.raises(ValueError, match=r"line 3: index 3, but dataset\.d=2"):
        files.file(path, d=2)
    table = put(tmp_path, "1,2,3\n-1,4,5\n", "made.csv")
    assert files.file(table, d=4, layout="dense")[0].tolist() == [[2, 3, 0, 0], [4, 5, 0, 0]]
    with pytest.raises(ValueError, match=r"2 features, but dataset\.d=1"):
        files.file(table, d=1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 abc", "expected index:value, got 'abc'"),
        ("1 1:2 7", "expected index:value, got '7'"),
        ("1 :2", "expected index:value, got ':2'"),
        ("1 -1:2", "expected index:value, got '-1:2'"),
        ("1 1.5:2", "expected index:value, got '1.5:2'"),
        ("1 1:", "expected a finite number after the colon, got '1:'"),
        ("1 1: 2", "expected a finite number after the colon, got '1:'"),
        ("1 1:x", "got '1:x'"),
        ("1 1:2:3", "got '1:2:3'"),
        ("1 1:1_0", "got '1:1_0'"),
        ("1 1:1e", "got '1:1e'"),
        ("1 1:.", "got '1:.'"),
        ("1 1:0x1p3", "got '1:0x1p3'"),
        ("1 1:nan", "expected a finite number after the colon, got '1:nan'"),
        ("1 1:-inf", "expected a finite number after the colon, got '1:-inf'"),
        ("1 1:1e999", "expected a finite number, got '1e999'"),
        ("one 1:1", "expected a label, a finite number, got 'one'"),
        ("nan 1:1", "expected a label, a finite number, got 'nan'"),
        ("1,2 1:1", "expected a label, a finite number, got '1,2'"),
        ("1:1 2:1", "expected a label, a finite number, got '1:1'"),
        ("1 2:1 2:3", "'2:3' has an index not above the one before it"),
        ("1 3:1 2:3", "'2:3' has an index not above the one before it"),
        ("1 2147483648:1", "has an index above 2147483647"),
        ("1 99999999999999999999999999:1", "has an index above 2147483647"),
        ("1 1:2\0", r"got '1:2\x00'"),
        (b"1 \xff\xfe", "expected index:value"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, says):
    line = line if isinstance(line, bytes) else line.encode()
    path = put(tmp_path, b"1 1:1\r\n# comment\n\n-1 2:1\n" + line + b"\n1 1:1\n")
    with pytest.raises(ValueError, match=re.escape(f"{path}: line 5: ") + ".*" + re.escape(says)) as caught:
        files.file(path)
    assert "\n" not in str(caught.value)


# -- files: labels, tables, and what cannot be read ------------------------------------------------------------------


@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), (1, 2), (-3.5, 2e3)])
def test_the_larger_of_two_labels_is_positive(tmp_path, labels):
    low, high = labels
    _, y = files.file(put(tmp_path, f"{high} 1:1\n{low} 1:2\n{high}\n"))
    assert y.tolist() == [1, -1, 1]


def test_one_or_three_classes_are_refused_and_positive_chooses(tmp_path):
    path = put(tmp_path, "1 1:1\n2 1:2\n3 1:3\n2 1:4\n")
    with pytest.raises(ValueError, match=r"labels 1, 2, 3: need exactly two classes; choose with dataset\.positive="):
        files.file(path)
    assert files.file(path, positive=2)[1].tolist() == [-1, 1, -1, 1]
    assert files.file(path, positive=OmegaConf.create([1, 3.0]))[1].tolist() == [1, -1, 1, -1]
    with pytest.raises(ValueError, match=r"dataset\.positive=7 is not among the labels 1, 2, 3"):
        files.file(path, positive=7)
    with pytest.raises(ValueError, match="none is left for -1"):
        files.file(path, positive=[1, 2, 3])
    with pytest.raises(ValueError, match="labels 1: need exactly two classes"):
        files.file(put(tmp_path, "1 1:1\n1 1:2\n"))
    with pytest.raises(ValueError, match=r"labels 0, 1, .*, 9, \.\.\. \(30 in all\)"):
        files.file(put(tmp_path, "".join(f"{k} 1:1\n" for k in range(30))))


def test_csv_finds_header_label_column_and_text_labels(tmp_path):
    path = put(tmp_path, "\ufeffage, kind,size\n\n1.5,benign,+2\n3,malignant, 4\n0.1,benign,1e3\n", "a.csv")
    X, y = files.file(path, labels="kind")
    assert X.tolist() == [[1.5, 2], [3, 4], [0.1, 1000]]
    assert y.tolist() == [-1, 1, -1]
    assert np.array_equal(files.file(path, labels=1)[0], X)
    assert files.file(path, labels=1, positive="benign")[1].tolist() == [1, -1, 1]
    assert files.file(put(tmp_path, "no,1,2\nyes,3,4\n", "b.csv"))[1].tolist() == [-1, 1]
    numbered = put(tmp_path, "0,1,2\n1,5,6\n0,7,8\n", "c.csv")
    assert files.file(numbered, header=True)[0].tolist() == [[5, 6], [7, 8]]
    with pytest.raises(ValueError, match=r"dataset\.labels=sex: no such column; possible are age, kind, size"):
        files.file(path, labels="sex")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2,3\n\n-1,abc,5\n", "line 3: column 1 (counted from 0): expected a finite number, got 'abc'"),
        ("y,a,b\n1,2,3\n-1,4,\n", "line 3: column 'b': expected a finite number, got ''"),
        ("1,2,3\n-1,nan,5\n", "line 2: column 1 (counted from 0): expected a finite number, got 'nan'"),
        ("1,2,3\n-1,1e999,5\n", "line 2: column 1 (counted from 0): expected a finite number, got '1e999'"),
        ("1,2,3\n-1,NA,5\n", "line 2: column 1 (counted from 0): expected a finite number, got 'NA'"),
        ("1,2,3\n-1,True,5\n", "line 2: column 1 (counted from 0): expected a finite number, got 'True'"),
        ("1,2,3\n-1,4\n", "line 2: 2 fields, but the first line has 3"),
        ("1,2,3\n-1,4,5,6\n", "line 2: 4 fields, but the first line has 3"),
        ("1,2,3\n-1,4,5,6\n1,2,3,4\n", "line 2: 4 fields, but the first line has 3"),
        ("y,a,b\n1,2,3,4\n-1,4,5,6\n", "line 2: 4 fields, but the first line has 3"),
        ("1,2,3\n,4,5\n", "line 2: column 0 (counted from 0): expected a label, got nothing"),
        ("1\n-1\n", "1 column; need the labels and at least one feature"),
        ("y,a\n", "no rows"),
        ("\n \n", "no rows"),
        ("", "no rows"),
        (b"1,\xff\n", "not UTF-8 text"),
        ("1,2\nnan,3\n", "row 1 (counted from 0) has the label nan"),
    ],
)
def test_a_malformed_csv_line_is_named(tmp_path, text, says):
    path = put(tmp_path, text, "made.csv")
    with pytest.raises(ValueError, match=re.escape(f"{path}: {says}")) as caught:
        files.file(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"X": np.ones((2, 2))}, "arrays found: X; need X and y, or data, indices, indptr, shape and y"),
        ({"X": np.ones(2), "y": np.ones(2)}, "need a matrix of real numbers"),
        ({"X": np.ones((2, 2), dtype=complex), "y": [1, 2]}, "need a matrix of real numbers"),
        ({"X": np.ones((2, 2)), "y": [1, 2, 1]}, "labels of shape (3,) for 2 rows"),
        ({"X": np.array([[1.0], [2.0], [np.nan]]), "y": [1, 2, 1]}, "row 2 (counted from 0) holds NaN or infinity"),
        ({"X": np.array([[None]]), "y": [1]}, "not a .npz file that can be read"),
        ({"X": np.ones((0, 3)), "y": []}, "no rows"),
        ({"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 2], "y": [1]}, "not the arrays of a CSR"),
        (
            {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 1], "y": [1], "format": b"csc"},
            "need CSR",
        ),
    ],
)
def test_a_bad_npz_is_refused(tmp_path, arrays, says):
    path = put(tmp_path, as_npz(tmp_path, **arrays), "bad.npz")
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        files.file(path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


def test_a_bad_parquet_is_refused(tmp_path):
    def written(columns):
        pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
        return str(tmp_path / "bad.parquet")

    with pytest.raises(ValueError, match=r"row 1 .* of column 'x' is missing"):
        files.file(written({"y": [1, 2], "x": [0.5, None]}))
    with pytest.raises(ValueError, match="column 'x' is of type string; features must be numbers"):
        files.file(written({"y": [1, 2], "x": ["a", "b"]}))
    assert files.file(written({"x": [1, 2], "y": ["a", "b"]}), labels="y")[0].tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="not a parquet file"):
        files.file(put(tmp_path, b"PAR1nonsense", "bad.parquet"))


@pytest.mark.parametrize("compression", [c for c in COMPRESS if c])
def test_damaged_compression_is_refused(tmp_path, compression):
    whole = COMPRESS[compression](as_libsvm(*sample(1.0)))
    for raw in (whole[: len(whole) // 2], b"not compressed at all"):
        path = put(tmp_path, raw, f"made.svm{compression}")
        with pytest.raises(ValueError, match=f"damaged {re.escape(compression)} data") as caught:
            files.file(path)
        assert "\n" not in str(caught.value)


def test_paths_and_options_are_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"dataset\.path=no\.svm: no such file; possible endings are \.libsvm \.svm"):
        files.file("no.svm")
    put(tmp_path, "1 1:1\n-1 1:2\n", "a9a.t")
    with pytest.raises(ValueError, match=r"unknown ending; possible are .*\.zst; or say dataset\.format="):
        files.file("a9a.t")
    assert files.file("a9a.t", format="libsvm")[0].shape == (2, 1)
    for option, value in (("format", "arff"), ("layout", "coo"), ("labels", 1), ("header", True), ("d", 0)):
        with pytest.raises(ValueError, match=rf"dataset\.{option}={value}"):
            files.file("a9a.t", **{"format": "libsvm"} | {option: value})
    with pytest.raises(ValueError, match="no such file"):
        files.file(str(tmp_path))
    with pytest.raises(ValueError, match=r"made\.svm: no rows"):
        files.file(put(tmp_path, "\n# nothing\n"))
    with pytest.raises(ValueError, match=r"X has shape \(2, 0\)"):
        files.file(put(tmp_path, "1\n-1\n"))


# -- check and digest ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (np.ones((3, 1)), [1, -1], "labels of shape (2,) for 3 rows"),
        (np.ones((0, 2)), [], "at least one row"),
        (np.ones((2, 0)), [1, -1], "at least one row and one column"),
        (np.ones(2), [1, -1], "X has shape (2,)"),
        (np.array([["a"], ["b"]]), [1, -1], "not a matrix of numbers"),
        (np.array([[1.0, 2.0], [3.0, np.inf]]), [1, -1], "row 1 (counted from 0) holds NaN or infinity"),
        (sp.csr_array(np.array([[0, 0], [1, 2], [0, np.nan]])), [1, -1, 1], "row 2 (counted from 0)"),
        (np.ones((2, 1)), [1, 1], "every label is +1"),
        (np.ones((2, 1)), [0, 1], "labels 0, 1; need -1 and +1"),
        (np.ones((2, 1)), [np.nan, 1], "labels 1, nan"),
    ],
)
def test_check_refuses_in_one_line(X, y, says):
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        check(X, y, "mine")
    assert str(caught.value).startswith("mine: ")
    assert "\n" not in str(caught.value)


def test_check_makes_the_canonical_form():
    messy = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 0, 1])), shape=(2, 2)).tocsr()
    messy = sp.csr_array(
        (messy.data[::-1].copy(), messy.indices[::-1].astype(np.int64).copy(), [0, 1, 3]), shape=(2, 2)
    )
    X, y = check(messy, [1, -1])
    assert X.has_sorted_indices
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert np.array_equal(dense(X), dense(messy))
    assert y.dtype == np.float64
    assert check(np.ones((2, 3), dtype=np.float32, order="F"), y)[0].flags.c_contiguous


def test_the_digest_sees_values_and_nothing_else():
    X, y = sample(0.5)
    S = sp.csr_array(X)
    with_zeros = sp.csr_array((X.ravel(), np.tile(np.arange(7), 40), np.arange(0, 281, 7)), shape=X.shape)
    backwards = sp.csr_array((X[:, ::-1].ravel(), np.tile(np.arange(7)[::-1], 40), np.arange(0, 281, 7)), shape=X.shape)
    halves = sp.csr_array((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=X.shape)
    wide = sp.csr_array((S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)), shape=S.shape)
    for A in (np.asfortranarray(X), S, with_zeros, backwards, wide, np.where(X == 0, -0.0, X)):
        assert digest(A, y) == digest(X, y)
    assert digest(halves, y) == digest(halves.toarray(), y)
    assert (backwards.indices.reshape(40, 7) == np.arange(7)[::-1]).all()  # what is hashed is left as it was
    assert halves.nnz == 2 * S.nnz


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40 * 7 - 1), st.integers(0, 63))
def test_one_flipped_bit_changes_the_digest(entry, bit):
    X, y = sample(1.0)
    X[1] = 1.0
    changed = X.copy()
    changed.view(np.uint64).ravel()[entry] ^= np.uint64(1 << bit)
    assert digest(changed, y) != digest(X, y)


def test_the_digest_sees_shape_order_and_labels():
    X, y = sample(0.5)
    others = [
        (np.hstack([X, np.zeros((40, 1))]), y),
        (X[::-1], y[::-1]),
        (X[:, ::-1], y),
        (X, np.append(-y[0], y[1:])),
        (X[:, :6], y),
        (X.reshape(20, 14), y),
    ]
    assert len({digest(X, y)} | {digest(*other) for other in others}) == 7


# -- cache -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path):
    """A text just large enough to be kept."""
    rows = [f"{k % 2} 1:{k}.25 {2 + k % 50}:-1 {60 + k % 7}:1\n" for k in range(55_000)]
    path = put(tmp_path, "".join(rows), "large.svm")
    assert Path(path).stat().st_size >= files.LARGE
    return path


def entries():
    return sorted(cache.folder().glob("*"))


def test_a_large_text_is_parsed_once(large, monkeypatch):
    X, y = files.file(large)
    assert len(entries()) == 1
    monkeypatch.setattr(files, "read_libsvm", lambda *_: pytest.fail("parsed again"))
    again, labels = files.file(large)
    assert digest(again, labels) == digest(X, y)
    assert again.indices.dtype == np.int32
    monkeypatch.undo()


def test_other_options_or_content_are_other_entries(large, monkeypatch):
    files.file(large)
    _, y = files.file(large, positive=0)
    assert y[0] == 1.0
    assert isinstance(files.file(large, layout="dense")[0], np.ndarray)
    assert len(entries()) == 3
    Path(large).write_bytes(Path(large).read_bytes() + b"1 1:7\n")
    assert files.file(large)[1].size == 55_001


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "swapped", "foreign"])
def test_a_damaged_entry_is_ignored_and_written_again(large, damage):
    X, y = files.file(large)
    (entry,) = entries()
    whole = entry.read_bytes()
    if damage == "swapped":  # a sound archive that is not what its digest says
        with np.load(entry) as stored:
            arrays = dict(stored)
        np.savez(entry, **arrays | {"y": -arrays["y"]})
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        entry.write_bytes({"truncated": whole[:middle], "flipped": flipped, "empty": b"", "foreign": b"text"}[damage])
    assert cache.load(entry.stem) is None
    again, labels = files.file(large)
    assert digest(again, labels) == digest(X, y)
    assert entries() == [entry]
    assert cache.load(entry.stem) is not None


def test_small_files_leave_no_entry_and_an_unwritable_cache_is_no_error(tmp_path, large, monkeypatch):
    files.file(put(tmp_path, "1 1:1\n-1 1:2\n"))
    assert entries() == []
    (tmp_path / "occupied").write_text("a file, not a folder")
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "occupied"))
    assert files.file(large)[1].size == 55_000
