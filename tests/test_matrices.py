"""The one form of a data matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.matrices import as_matrix


def test_dense_data_become_float64_in_C_order():
    X = as_matrix(np.asfortranarray([[1, 2], [3, 4]], dtype=np.int8))
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(X, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, bool])
def test_sparse_data_become_csr_with_sorted_short_indices_and_no_duplicates(dtype):
    """Duplicates are added as float64: 100 + 100 is 200, whatever fits into the type they came in."""
    value, expected = (True, 2.0) if dtype is bool else (100, 200.0)
    entries = np.array([1, value, value], dtype), np.array([2, 0, 0], np.int64), np.array([0, 3, 3], np.int64)
    X = as_matrix(sp.csr_array(entries, shape=(2, 3)))
    assert X.format == "csr"
    assert X.has_canonical_format
    assert (X.data.dtype, X.indices.dtype, X.indptr.dtype) == (np.float64, np.int32, np.int32)
    np.testing.assert_array_equal(X.toarray(), [[expected, 0.0, 1.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_data_in_the_right_form_are_neither_copied_nor_written_to(sparse):
    X = sp.csr_array(np.eye(3)) if sparse else np.eye(3)
    arrays = (X.data, X.indices, X.indptr) if sparse else (X,)
    for array in arrays:
        array.flags.writeable = False
    Y = as_matrix(X)
    for array, same in zip(arrays, (Y.data, Y.indices, Y.indptr) if sparse else (Y,), strict=True):
        assert np.shares_memory(array, same)


def test_data_that_must_change_are_copied_first():
    X = sp.csr_array((np.ones(2), np.array([1, 0], np.int32), np.array([0, 2], np.int32)), shape=(1, 2))
    as_matrix(X)
    assert X.indices.tolist() == [1, 0]
