"""Compressed files, unpacked up to a limit: a small file can be made to unpack to any size."""

import bz2
import gzip
import io
import lzma
import zlib
from typing import IO, Any

STEP = 1024
"""Bytes of .zst data that are unpacked at a time: they become 32 MB at most."""

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def decompressed(raw: bytes, compression: str, name: str, most: int) -> bytes:
    """`compression`: one of COMPRESSIONS, or empty. More than `most` bytes are refused, as damaged data are."""
    try:
        if compression == ".zst":
            return _unzstd(raw, name, most)
        if not compression:
            return raw
        openers: dict[str, Any] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
        opened = {"fileobj": io.BytesIO(raw)} if compression == ".gz" else {"filename": io.BytesIO(raw)}
        with openers[compression](**opened) as file:
            return bounded(file, name, most)
    except TooLarge:
        raise
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{name}: damaged {compression} data: {str(error).splitlines()[0]}") from None


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


def _unzstd(raw: bytes, name: str, most: int) -> bytes:
    """All frames of a .zst file; a file that ends inside a frame is damaged."""
    import zstandard

    parts, size = [], 0
    while raw:
        frame, at = zstandard.ZstdDecompressor().decompressobj(), 0
        while at < len(raw) and not frame.eof:
            try:
                parts.append(frame.decompress(raw[at : at + STEP]))
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from None
            at += STEP
            size += len(parts[-1])
            if size > most:
                raise TooLarge(name, most)
        if not frame.eof:
            raise ValueError("the data end early")
        raw = frame.unused_data + raw[at:]
    return b"".join(parts)
