"""Compressed files, unpacked piece by piece and up to a limit: a small file can be made to unpack to any size."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from typing import IO, Any

STEP = 1024
"""Bytes of .zst data that are unpacked at a time: they become 32 MB at most."""

PIECE = 2**20
"""Bytes that are given at a time."""

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def unpacked(file: IO[bytes], compression: str, name: str, most: int) -> Iterator[bytes]:
    """The content of an open file in pieces. `compression`: one of COMPRESSIONS, or empty.

    More than `most` bytes of what was compressed are refused, as damaged data are.
    """
    if not compression:
        while piece := file.read(PIECE):
            yield piece
        return
    size = 0
    try:
        for piece in _unzstd(file) if compression == ".zst" else _pieces(file, compression):
            size += len(piece)
            if size > most:
                raise TooLarge(name, most)
            yield piece
    except TooLarge:
        raise
    except (OSError, EOFError, Damaged, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{name}: damaged {compression} data: {str(error).splitlines()[0]}") from None


class Damaged(Exception):
    """Data that no .zst file has."""


class TooLarge(ValueError):
    """The file unpacks to more than the limit."""

    def __init__(self, name: str, most: int) -> None:
        super().__init__(f"{name}: unpacks to more than {most / 2**20:g} MB; dataset.largest_mb=... allows more")


def bounded(file: IO[bytes], name: str, most: int) -> bytes:
    """All that a file gives, if it is not more than `most` bytes."""
    data = file.read(most + 1)
    if len(data) > most:
        raise TooLarge(name, most)
    return data


def _pieces(file: IO[bytes], compression: str) -> Iterator[bytes]:
    openers: dict[str, Any] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
    given: dict[str, Any] = {"fileobj": file} if compression == ".gz" else {"filename": file}
    with openers[compression](**given) as opened:
        while piece := opened.read(PIECE):
            yield piece


def _unzstd(file: IO[bytes]) -> Iterator[bytes]:
    """All frames of a .zst file; a file that ends inside a frame is damaged."""
    import zstandard

    raw = file.read(STEP)
    while raw:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while raw and not frame.eof:
            try:
                yield frame.decompress(raw)
            except zstandard.ZstdError as error:
                raise Damaged(str(error)) from None
            raw = b"" if frame.eof else file.read(STEP)
        if not frame.eof:
            raise Damaged("the data end early")
        raw = frame.unused_data or file.read(STEP)
