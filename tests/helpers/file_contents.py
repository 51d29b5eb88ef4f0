"""Contents of small data files of every format, as bytes."""

import io
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from scipy.io import savemat


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def sparse_npz(X, **more) -> bytes:
    """As scipy.sparse.save_npz writes it, with arrays of one's own added."""
    file = io.BytesIO()
    sp.save_npz(file, X)
    with np.load(io.BytesIO(file.getvalue())) as saved:
        return npz(**{key: saved[key] for key in saved.files}, **more)


def mat(compressed=True, **arrays) -> bytes:
    file = io.BytesIO()
    savemat(file, arrays, do_compression=compressed)
    return file.getvalue()


def parquet(columns) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def quiet(function, *arguments, **options):
    """A call without the warnings of other people's libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)
