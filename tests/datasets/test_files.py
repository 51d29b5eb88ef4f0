"""Data files: every format and compression, labels, tables, and what cannot be read."""

import bz2
import gzip
import lzma
import re
from decimal import Decimal, localcontext
from inspect import signature

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zstandard
from omegaconf import OmegaConf
from sample_data import CONFIGS, configured, dense, put, sample

from marginbench.datasets import files
from marginbench.datasets.check import check
from marginbench.datasets.csv_files import read_csv
from marginbench.datasets.digest import digest
from marginbench.datasets.libsvm import read_libsvm


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


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
    table, _, _ = read_csv("".join(f"1,{s}\n" for s in texts).encode(), "made", labels=0)
    assert np.array_equal(table.ravel().view(np.int64), expected.view(np.int64))


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10**6])
def test_text_in_pieces_of_any_size_is_one_text(size):
    """Rows that are dense for a while and then not, in pieces that end anywhere; lines are counted through all."""
    content = "\ufeff" + "".join(f"{k % 2} 1:{k}.5 2:-1e-3\r\n# c\n" for k in range(1, 20)) + "1 2:3 5:0\n\n0 1:7\n1"
    raw = content.encode()
    pieces = [raw[k : k + size] for k in range(0, len(raw), size)]
    (X, labels), (whole, same) = read_libsvm(iter(pieces), "made"), read_libsvm(raw, "made")
    assert X.shape == (22, 5)
    assert X.nnz == 40
    assert (X.toarray() == whole.toarray()).all()
    assert labels.tolist() == same.tolist() == [1.0, 0.0] * 9 + [1.0, 1.0, 0.0, 1.0]
    assert X.toarray()[-4:].tolist() == [[19.5, -0.001, 0, 0, 0], [0, 3, 0, 0, 0], [7, 0, 0, 0, 0], [0] * 5]
    for text, d, says in (
        (raw + b"\n1 3:x\n", None, "made: line 43: expected a finite number after the colon, got '3:x'"),
        (raw + b"\n1 3:1e999\n", None, "made: line 43: expected a finite number, got '1e999'"),
        (raw, 4, "made: line 39: index 5, but dataset.d=4"),
        (raw + b" 0:1", 5, "made: line 39: index 5, but dataset.d=5"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            read_libsvm((text[k : k + size] for k in range(0, len(text), size)), "made", d)


@pytest.mark.parametrize("base", [0, 1])
def test_rows_that_all_have_the_same_columns_are_a_dense_matrix(base):
    rows = "".join(f"1 {base}:{k} {base + 1}:0.25\n" for k in range(5)).encode()
    X, _ = read_libsvm([rows[:9], rows[9:]], "made")
    assert isinstance(X, np.ndarray)
    assert X.tolist() == [[k, 0.25] for k in range(5)]
    assert sp.issparse(read_libsvm(b"1 2:1 3:1\n1 2:2 3:1\n", "made")[0])  # its first column is empty
    assert sp.issparse(read_libsvm(rows, "made", 4)[0])


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
    for option, value in (
        ("format", "hdf5"),
        ("drop", [1]),
        ("largest_mb", -1),
        ("layout", "coo"),
        ("labels", 1),
        ("header", True),
        ("d", 0),
    ):
        with pytest.raises(ValueError, match=re.escape(f"dataset.{option}={value}")):
            files.file("a9a.t", **{"format": "libsvm"} | {option: value})
    with pytest.raises(ValueError, match="no such file"):
        files.file(str(tmp_path))
    with pytest.raises(ValueError, match=r"made\.svm: no rows"):
        files.file(put(tmp_path, "\n# nothing\n"))
    with pytest.raises(ValueError, match=r"X has shape \(2, 0\)"):
        files.file(put(tmp_path, "1\n-1\n"))
