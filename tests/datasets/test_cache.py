"""What is checked of any data, their digest, and the cache."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_data import dense, put, sample

from marginbench.datasets import cache, eviction, files
from marginbench.datasets.check import check
from marginbench.datasets.digest import digest
from marginbench.datasets.mapped import spill
from marginbench.harness.errors import InputError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


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
    return sorted(cache.folder().glob("*.json"))


def kept():
    """Folders of data."""
    return sorted(path.name for path in cache.data_folder().glob("[!.]*"))


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


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "other data", "foreign", "no text"])
def test_a_damaged_entry_is_ignored_and_written_again(large, damage):
    X, y = files.file(large)
    (entry,) = entries()
    whole = entry.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    other = whole.replace(digest(X, y)[:8].encode(), b"00000000")
    changed = {"truncated": whole[:middle], "flipped": flipped, "empty": b"", "other data": other, "foreign": b"[1]"}
    entry.write_bytes(changed.get(damage, b"\xff"))
    assert cache.load(entry.stem) is None
    again, labels = files.file(large)
    assert digest(again, labels) == digest(X, y)
    assert entries() == [entry]
    assert cache.load(entry.stem) is not None


@pytest.mark.parametrize("part", ["data", "indices", "indptr", "shape", "y"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_damaged_data_are_ignored_and_written_again(large, part, damage):
    X, y = files.file(large)
    name = digest(X, y)
    (entry,), file = entries(), cache.data_folder() / f"{name}-csr" / f"{part}.npy"
    whole = file.read_bytes()
    del X, y  # nobody may have mapped what is cut
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(whole[:-8] if damage == "cut" else whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    assert cache.load(entry.stem) is None
    assert digest(*files.file(large)) == name
    assert file.read_bytes() == whole
    assert kept() == [f"{name}-csr"]


def test_both_layouts_are_kept_at_once(large):
    X, y = files.file(large)
    Z, z = files.file(large, layout="dense")
    assert kept() == [digest(X, y), f"{digest(Z, z)}-csr"]
    assert (type(files.file(large)[0]), type(files.file(large, layout="dense")[0])) == (sp.csr_array, np.ndarray)


def test_the_entries_of_version_01_are_removed(large):
    cache.folder().mkdir()
    np.savez(cache.folder() / "old.npz", y=np.zeros(3))
    files.file(large)
    assert not list(cache.folder().glob("*.npz"))


def test_small_files_leave_no_entry_and_an_unwritable_cache_is_no_error(tmp_path, large, monkeypatch):
    files.file(put(tmp_path, "1 1:1\n-1 1:2\n"))
    assert entries() == []
    (tmp_path / "occupied").write_text("a file, not a folder")
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "occupied"))
    assert files.file(large)[1].size == 55_000


# -- the size of the cache -------------------------------------------------------------------------------------------


def put_data(seed: int, used: float) -> Path:
    """A data set of 8 KB, last used at that time."""
    X = np.random.default_rng(seed).normal(size=(100, 10))
    y = np.where(np.arange(100) % 2, 1.0, -1.0)
    path = spill(X, y, digest(X, y), cache.data_folder())
    os.utime(path, (used, used))
    return path


def test_what_was_used_longest_ago_goes_first(monkeypatch):
    now = time.time()
    old, middle, new = (put_data(seed, now - 100 * seed) for seed in (3, 2, 1))
    monkeypatch.setenv("MARGINBENCH_CACHE_GB", "20e-6")
    eviction.trim(cache.data_folder())
    assert [path.exists() for path in (old, middle, new)] == [False, True, True]
    assert eviction.size(cache.data_folder()) <= 20e3
    eviction.hold(middle)  # is a use
    monkeypatch.setenv("MARGINBENCH_CACHE_GB", "10e-6")
    eviction.trim(cache.data_folder())
    assert [path.exists() for path in (middle, new)] == [True, False]


def test_what_a_living_process_uses_is_kept_and_what_a_dead_one_used_is_not(monkeypatch):
    path = put_data(1, 0.0)
    code = f"from pathlib import Path; from marginbench.datasets.eviction import hold; hold(Path({str(path)!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        user.stdout.readline()
        monkeypatch.setenv("MARGINBENCH_CACHE_GB", "0")
        eviction.trim(cache.data_folder())
        assert path.exists()
        user.kill()
    eviction.trim(cache.data_folder())
    assert not path.exists()


def test_what_a_writer_left_behind_goes_after_a_day(monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE_GB", "0")
    for name, age in (("young", 10.0), ("old", 1e6)):
        folder = cache.data_folder() / f".{name}.tmp"
        folder.mkdir(parents=True)
        (folder / "X.npy").write_bytes(bytes(1000))
        os.utime(folder, (time.time() - age,) * 2)
    eviction.trim(cache.data_folder())
    assert [path.name for path in cache.data_folder().glob("*.tmp")] == [".young.tmp"]


@pytest.mark.parametrize("given", ["many", "-1", "nan"])
def test_a_size_that_is_none_is_refused(given, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE_GB", given)
    with pytest.raises(InputError, match=f"MARGINBENCH_CACHE_GB={given}: needs a number of gigabytes"):
        eviction.limit()
