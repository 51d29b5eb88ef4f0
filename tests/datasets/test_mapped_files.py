"""Arrays that are mapped where they lie, and data that are generated straight to disk."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.datasets import mapped, mapped_files
from marginbench.datasets.digest import digest
from marginbench.datasets.files import file
from marginbench.datasets.mapped import open_data, spill
from marginbench.datasets.on_disk import overlapping_on_disk
from marginbench.harness.pages import on_disk


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch, tmp_path):
    monkeypatch.setattr(mapped_files, "LARGE", 1000)
    monkeypatch.setattr(mapped, "LINKED", 1000)
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(100, 4)), np.where(rng.random(100) < 0.5, 1.0, -1.0)


def test_a_large_npy_file_is_mapped_and_linked_not_copied(tmp_path, data):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", (y > 0).astype(int))
    made = file(str(tmp_path / "X.npy"))
    assert on_disk(made[0])
    np.testing.assert_array_equal(made[0], X)
    np.testing.assert_array_equal(made[1], y)
    assert "the file is mapped, not read" in made.notes
    path = spill(*made, digest(*made), tmp_path / "store")
    assert os.path.samefile(path / "X.npy", tmp_path / "X.npy")
    np.testing.assert_array_equal(open_data(path)[0], X)


def test_what_cannot_be_mapped_is_read_or_said_to_be_too_large(tmp_path, data):
    X, y = data
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    np.testing.assert_array_equal(file(str(tmp_path / "X.npy"))[0], X)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    with pytest.raises(ValueError, match=r"float32 and shape \(100, 4\), of more than dataset.largest_mb=0.000999"):
        file(str(tmp_path / "X.npy"), largest_mb=0.001)


@pytest.mark.parametrize("layout", [np.array, sp.csr_array])
def test_a_folder_of_arrays_is_a_data_set(tmp_path, data, layout):
    X, y = layout(data[0]), data[1]
    path = spill(X, y, "name", tmp_path)
    made = file(str(path))
    assert on_disk(made[0])
    assert sp.issparse(made[0]) == sp.issparse(X)
    assert digest(*made) == digest(X, y)
    (path / "y.npy").unlink()
    with pytest.raises(ValueError, match=r"no such file, and a folder without y.npy; possible is a folder"):
        file(str(path))


def test_data_generated_to_disk_are_the_same_bits_and_leave_nothing_behind(tmp_path):
    X, y = overlapping_on_disk(n=2001, d=3, distance=2.0, seed=1)
    again, _ = overlapping_on_disk(n=2001, d=3, distance=2.0, seed=1)
    assert on_disk(X)
    assert X.shape == (2001, 3)
    np.testing.assert_array_equal(X, again)
    assert (y > 0).sum() == 1001
    mean = (y[:, None] * X).mean(axis=0)
    np.testing.assert_allclose(mean, 1.0 / np.sqrt(3), atol=0.1)
    assert not any((tmp_path / "cache" / "data").iterdir())
    path = spill(X, y, digest(X, y), tmp_path / "cache" / "data")
    np.testing.assert_array_equal(open_data(path)[0], X)
    assert os.stat(path / "X.npy").st_nlink == 1
