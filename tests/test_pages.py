"""Data on disk are gone through in blocks whose pages are given back; what is computed of them is the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.datasets.digest import digest
from marginbench.datasets.mapped import open_data, spill
from marginbench.harness import matrices
from marginbench.harness.model.problem import Problem
from marginbench.harness.pages import on_disk, release

LAYOUTS = {"dense": np.array, "csr": sp.csr_array}


def written(tmp_path, layout: str, n: int = 3000, d: int = 7):
    rng = np.random.default_rng(0)
    X = LAYOUTS[layout](rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X, y, spill(X, y, digest(X, y), tmp_path)


def file_pages_mb() -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssFile"))


def test_only_pages_that_are_not_kept_and_cannot_be_written_to_are_given_back(tmp_path):
    X, _, path = written(tmp_path, "dense")
    assert on_disk(open_data(path, touched=False)[0])
    assert not on_disk(open_data(path, touched=True)[0])
    assert not on_disk(X)
    assert on_disk(np.load(path / "X.npy", mmap_mode="r"))
    private = np.load(path / "X.npy", mmap_mode="c")
    private[:] = 5.0
    release(private)
    assert (private == 5.0).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_norms_and_digest_of_data_on_disk_are_those_of_data_in_memory(tmp_path, layout, monkeypatch):
    monkeypatch.setattr(matrices, "LARGE_BLOCK", 1000)
    X, y, path = written(tmp_path, layout)
    there, labels = open_data(path, touched=False)
    here, mapped = Problem(X, y), Problem(there, labels)
    w, v = np.random.default_rng(1).normal(size=7), np.random.default_rng(2).random(3000)
    assert on_disk(mapped.X)
    np.testing.assert_allclose(mapped.margins(w, 0.5), here.margins(w, 0.5), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(mapped.weights(v), here.weights(v), rtol=1e-12)
    np.testing.assert_array_equal(mapped.row_norms, here.row_norms)
    assert digest(there, labels) == digest(X, y)


def test_a_pass_over_data_on_disk_keeps_few_of_their_pages(tmp_path):
    n, d = 100_000, 100  # 80 MB
    path = tmp_path / "X.npy"
    np.save(path, np.ones((n, d)))
    X = np.load(path, mmap_mode="r")
    before = file_pages_mb()
    X.sum()
    assert file_pages_mb() - before > 60.0
    release(X)
    assert file_pages_mb() - before < 5.0
    for rows in matrices.row_blocks(X):
        assert X[rows].sum() == d * (rows.stop - rows.start)
        assert file_pages_mb() - before < 10.0
