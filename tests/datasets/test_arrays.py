"""Files of arrays, .npz, .npy and .mat: labels inside and beside, what is refused, and how much may be unpacked."""

import bz2
import gzip
import io
import lzma
import re
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from file_contents import mat, npy, npz, parquet, sparse_npz
from sample_data import dense, put

from marginbench.datasets import files

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -3.0]])
y = np.array([0, 1, 1])
Y = [-1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("made", [sp.csr_array, sp.csr_matrix])
def test_save_npz_with_labels_inside_and_beside(tmp_path, kind, made):
    saved = made(X).asformat(kind)
    words = np.array(["ham", "spam", "spam"])
    (tmp_path / "y_train.npy").write_bytes(npy(words))
    (tmp_path / "words.txt").write_text("ham\nspam\nspam\n")
    for content, name, options in (
        (sparse_npz(saved, y=y), "a.npz", {}),
        (sparse_npz(saved, z=y), "a.npz", {"labels": "z"}),
        (sparse_npz(saved), "X_train.npz", {}),
        (sparse_npz(saved), "a.npz", {"labels": "y_train.npy"}),
        (sparse_npz(saved), "a.npz", {"labels": "words.txt"}),
    ):
        read = files.file(put(tmp_path, content, name), **options)
        assert dense(read[0]).tolist() == X.tolist()
        assert read[1].tolist() == Y
        assert any("stands for" in note for note in read.notes)


@pytest.mark.parametrize(
    ("name", "beside"),
    [("X.npy", "y.npy"), ("X_train.npy", "y_train.npy"), ("digits_X.npy", "digits_y.npy"), ("a.npy", "a_labels.npy")],
)
def test_pairs_of_npy(tmp_path, name, beside):
    (tmp_path / beside).write_bytes(npy(y.reshape(-1, 1)))
    for array in (X, np.asfortranarray(X), X.astype(">f4")):
        read = files.file(put(tmp_path, npy(array), name), layout="dense")
        assert read[0].tolist() == X.tolist()
        assert read[1].tolist() == Y
        assert f"the labels are the file {beside}" in read.notes
    (tmp_path / beside).unlink()
    with pytest.raises(ValueError, match=r"no labels in it, and no \w+\.npy beside; dataset\.labels=FILE"):
        files.file(str(tmp_path / name))


@pytest.mark.parametrize("compressed", [True, False])
def test_mat(tmp_path, compressed):
    names = np.array(["ham", "spam", "spam"])
    for arrays, options in (
        ({"X": X, "y": y}, {}),
        ({"X": sp.csc_matrix(X), "y": y.reshape(-1, 1), "note": "hello"}, {}),
        ({"fea": X, "gnd": y}, {}),
        ({"X": X, "y": names}, {}),
        ({"A": X, "a": y, "b": y}, {"labels": "a"}),
    ):
        read = files.file(put(tmp_path, mat(compressed, **arrays), "a.mat"), layout="dense", **options)
        assert read[0].tolist() == X.tolist()
        assert read[1].tolist() == Y
    with pytest.raises(ValueError, match=r"need a matrix X and a vector y .* found are A \(3, 3\), a \(1, 3\), b"):
        files.file(put(tmp_path, mat(compressed, A=X, a=y, b=y), "a.mat"))
    with pytest.raises(ValueError, match="X has entries of type complex128; need real numbers"):
        files.file(put(tmp_path, mat(compressed, X=X + 1j, y=y), "a.mat"))


COO = {"data": [1.0], "row": [0], "col": [0], "shape": [1, 1], "format": b"coo", "y": [1]}
CSR = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2], "y": [0, 1]}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"y": [1, 2]}, "arrays found: y; need X and y, or those of scipy.sparse.save_npz and y"),
        ({"X": np.ones((2, 2))}, "no labels in it, and no bad_y.npy beside"),
        ({"X": np.ones(2), "y": np.ones(2)}, "need a matrix of real numbers"),
        ({"X": np.ones((2, 2), dtype=complex), "y": [1, 2]}, "need a matrix of real numbers"),
        ({"X": np.ones((2, 2)), "y": [1, 2j]}, "labels of type complex128"),
        ({"X": np.ones((2, 2)), "y": [1, 2, 1]}, "labels of shape (3,) for 2 rows"),
        ({"X": np.array([[1.0], [2.0], [np.nan]]), "y": [1, 2, 1]}, "row 2 (counted from 0) holds NaN or infinity"),
        ({"X": np.array([[None]]), "y": [1]}, "X has entries of type object; need real numbers or text"),
        ({"X": np.ones((0, 3)), "y": []}, "no rows"),
        (CSR | {"indices": [0, 9]}, "not the arrays of a CSR matrix"),
        (CSR | {"indices": [0.0, 1.5]}, "indices has entries of type float64; need a list of whole numbers"),
        (CSR | {"indptr": [0.0, 1.0, 2.0]}, "indptr has entries of type float64"),
        (CSR | {"data": [1.0, 2.0j]}, "data have shape (2,) and type complex128; need real numbers"),
        (CSR | {"shape": [2, -2]}, "a sparse matrix of shape (2, -2)"),
        (CSR | {"shape": [2, 2**40]}, "need rows and columns below 2^31"),
        (CSR | {"shape": [2**30, 2]}, "2 labels for 1073741824 rows"),
        (CSR | {"format": b"dia"}, "the sparse format is 'dia'; need csr, csc or coo"),
        (COO | {"col": [7]}, "not the arrays of a COO matrix"),
    ],
)
def test_a_bad_npz_is_refused(tmp_path, arrays, says):
    path = put(tmp_path, npz(**arrays), "bad.npz")
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        files.file(path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


# -- a small file that unpacks to a large one -------------------------------------------------------------------------

ZEROS = bytes(2**24)


def bomb(name):
    """A content of some KB that unpacks to 16 MB or more."""
    if name.endswith("npz"):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("X.npy", npy(np.zeros((2**20, 2))))
            archive.writestr("y.npy", npy(np.arange(2**20) % 2))
        return file.getvalue()
    if name.endswith("mat"):
        return mat(X=np.zeros((2**20, 2)), y=np.arange(2**20) % 2)
    if name.endswith("parquet"):
        return parquet({"y": np.arange(2**20) // 2**19, "x": np.zeros(2**20)})
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress}
    return pack[name.rpartition(".")[2]](ZEROS)


@pytest.mark.parametrize("name", ["a.npz", "a.mat", "a.parquet", *(f"a.csv.{k}" for k in ("gz", "bz2", "xz", "zst"))])
def test_unpacking_is_bounded_by_an_option(tmp_path, name):
    path = put(tmp_path, bomb(name), name)
    with pytest.raises(ValueError, match=r"unpacks to more than 8 MB; dataset\.largest_mb=\.\.\. allows more"):
        files.file(path, largest_mb=8)
    if "csv" not in name:
        assert files.file(path)[0].shape[0] == 2**20


def test_an_array_that_says_more_than_it_holds(tmp_path):
    """Without the check, four terabytes would be asked for."""
    content = bytearray(npy(np.zeros((4, 4))))
    at = content.index(b"(4, 4)")
    content[at : at + 21] = b"(524288, 1048576), } "
    (tmp_path / "y.npy").write_bytes(npy(np.arange(4) % 2))
    with pytest.raises(ValueError, match=r"says shape \(524288, 1048576\) .* which \d+ bytes do not hold"):
        files.file(put(tmp_path, bytes(content), "X.npy"))
