"""How marginbench writes: a file, or a folder of files, is there whole under its name, or not at all.

It is written under a temporary name beside its place, synced to the disk, and renamed. A reader sees the old content or
the new one; of several writers the last one wins; after a power failure no half of a file is left.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from marginbench.harness.errors import StoreError

Content = bytes | str | Path | Callable[[BinaryIO], object]
"""Bytes, text (written as UTF-8), the path of a file with this content, or a function that writes into an open file."""


def write_atomically(path: Path, content: Content, synced: bool = True) -> Path:
    """Write a file, with the folders above it; its path. StoreError on a full disk or in a read-only folder.

    synced: whether the file must survive a power failure; it survives the end of this process in any case.
    """
    path = Path(path)
    temporary = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(temporary, content, synced)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if synced:
            _sync_folder(path.parent)
    except OSError as error:
        raise _failure(path, error) from error
    return path


def write_folder_atomically(path: Path, files: Mapping[str, Content]) -> Path:
    """Write a folder of files unless it is there; its path. Of several writers the first one wins."""
    path = Path(path)
    if path.is_dir():
        return path
    temporary = _beside(path)
    try:
        temporary.mkdir(parents=True)
        for name, content in files.items():
            _write(temporary / name, content, synced=True)
        os.rename(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if not path.is_dir():  # else another writer was first
            raise _failure(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return path


def _beside(path: Path) -> Path:
    """A name of our own in the same folder; hidden, so that readers of the folder pass over it."""
    return path.with_name(f".{path.name[:150]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")


def _write(path: Path, content: Content, synced: bool) -> None:
    if isinstance(content, Path):
        root = os.open("/", os.O_RDONLY)  # with it, Python follows symbolic links
        try:
            os.link(content, path, src_dir_fd=root, follow_symlinks=True)
            return
        except OSError:  # another file system, or one without links: a copy
            pass
        finally:
            os.close(root)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
        if isinstance(content, Path):
            with open(content, "rb") as there:
                shutil.copyfileobj(there, file, 2**24)
        elif callable(content):
            content(file)
        else:
            file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        if synced:
            os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot, and need not
            raise
    finally:
        os.close(folder)


def _failure(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {path}: {error.strerror or error}")
