"""Pages of files in memory: which arrays are made of them, and how they are given back after use.

An array mapped read-only from a file takes no memory of its own: the kernel can drop its pages at any time and read
them again. But they count as resident until it does. Whoever goes through data larger than memory gives the pages of
each block back when done with it.

`Pages(file)` says whether its pages are to stay: those of data that fit are brought in once, and kept.
"""

import mmap
import os
import resource
import weakref
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

POPULATE_READ = 22
"""MADV_POPULATE_READ of Linux 5.14: bring pages in at once, not by one fault for each few of them."""


class Pages(mmap.mmap):
    """A file mapped read-only. kept: `release` leaves its pages where they are. path: of the file, or how this process
    finds one that has no name."""

    kept: bool = False
    path: str = ""


def map_file(file: BinaryIO, kept: bool) -> Pages:
    """The pages of an open file; kept: all of them are brought in now.

    They are not memory of the process: a limit of what it may map is raised by as much.
    """
    _allow(os.fstat(file.fileno()).st_size)
    flags = mmap.MAP_SHARED | (getattr(mmap, "MAP_POPULATE", 0) if kept else 0)
    pages = Pages(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ)
    pages.kept, pages.path = kept, str(file.name)
    if isinstance(file.name, int):  # it has no name: as long as it is open, this is where it is
        number = os.dup(file.fileno())
        weakref.finalize(pages, os.close, number)
        pages.path = f"/proc/self/fd/{number}"
    return pages


def _allow(size: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        more = soft + size
        resource.setrlimit(resource.RLIMIT_AS, (more if hard == resource.RLIM_INFINITY else min(more, hard), hard))


def source(array: np.ndarray) -> mmap.mmap | None:
    """The file mapping that an array looks into, if it is one that nobody can write to and that is not kept."""
    base = mapping(array)
    if base is None or getattr(base, "kept", False):
        return None
    return base if memoryview(base).readonly else None  # what was written to a private mapping would be lost


def mapping(array: np.ndarray) -> mmap.mmap | None:
    """The mapping that an array looks into, of whatever kind."""
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None


def parts(X: Any) -> tuple[np.ndarray, ...]:
    """The arrays of a matrix."""
    return (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)


def on_disk(X: Any) -> bool:
    """Whether the entries of a matrix are pages of a file that are not kept in memory."""
    return source(parts(X)[0]) is not None


def release(*arrays: np.ndarray) -> None:
    """Give the pages of these arrays back, where they are those of a file; they can still be read."""
    for array in arrays:
        _advise(array, getattr(mmap, "MADV_DONTNEED", None))


def prefetch(*arrays: np.ndarray) -> None:
    """Have the pages of these arrays brought in, all at once."""
    for array in arrays:
        _advise(array, POPULATE_READ)


def _advise(array: np.ndarray, advice: int | None) -> None:
    pages = source(array) if array.size and array.flags.c_contiguous else None
    if pages is None or advice is None or not hasattr(pages, "madvise"):
        return
    first = array.__array_interface__["data"][0] - np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
    start = first // mmap.PAGESIZE * mmap.PAGESIZE
    try:
        pages.madvise(advice, start, first + array.nbytes - start)
    except (OSError, ValueError):
        return  # a kernel that does not know this advice: it is only advice
