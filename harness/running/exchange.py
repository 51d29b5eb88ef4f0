"""What a solver's process and the judge say to each other: short texts through a socket, arrays through shared memory.

The solver's process sends an `Opening`, then `Step`s. After each it waits for one byte: GO, BOUNDS or STOP. Arrays are
written to memory that both have open. The judge copies them first, checks the copy, and uses nothing else. It reads
what it is sent as data: sizes, types and counts are checked on arrival, and nothing in it is ever executed.
"""

import os
import socket
import struct
import tempfile
from dataclasses import asdict
from typing import Any, BinaryIO, Self, cast

import numpy as np

from marginbench.harness.cell.attempt import Opening
from marginbench.harness.cell.measure import Step
from marginbench.harness.model.problem import Array
from marginbench.harness.model.solver import Claim, Iterate
from marginbench.harness.model.validity import InvalidPoint
from marginbench.harness.records.codec import Damaged, dumps, loads
from marginbench.harness.running.confinement import LINUX

GO, BOUNDS, STOP = b"g", b"b", b"s"

LONGEST_TEXT = 2**20
"""Bytes of a text. What a solver says beyond that is cut before it is sent."""

LONGEST_INFO = 2**16

KINDS = "fiu"
"""Real numbers, as NumPy spells their kinds."""


class Exchange:
    """The means by which a solver's process and the judge speak: a channel with two ends, and memory for arrays; and
    memory for the point that the judge hands to us."""

    def __enter__(self) -> Self:
        self.judge, self.solver = socket.socketpair()
        if LINUX:
            self.judge.setsockopt(
                socket.SOL_SOCKET, socket.SO_PASSCRED, 1
            )  # the kernel then tells the judge who speaks
        self.memory, self.points = _memory(), _memory()
        return self

    def __exit__(self, *_: object) -> None:
        for part in (self.judge, self.solver, self.memory, self.points):
            part.close()


def _memory() -> BinaryIO:
    """A file without a name, in memory where the system can."""
    return os.fdopen(os.memfd_create("x"), "r+b") if hasattr(os, "memfd_create") else tempfile.TemporaryFile()


def send_text(to: socket.socket, text: dict[str, Any]) -> None:
    data = dumps(text).encode()
    to.sendall(struct.pack("<Q", len(data)) + data)


def receive_text(source: socket.socket) -> dict[str, Any] | None:
    """None when the other side is gone; Damaged where it does not keep to the form."""
    header = exactly(source, 8)
    if header is None:
        return None
    (size,) = struct.unpack("<Q", header)
    if size > LONGEST_TEXT:
        raise Damaged(f"a text of {size} bytes")
    data = exactly(source, size)
    if data is None:
        return None
    text = loads(data)
    if not isinstance(text, dict):
        raise Damaged("a text that is no dictionary")
    return text


def exactly(source: socket.socket, size: int) -> bytes | None:
    """So many bytes; None when the other side is gone."""
    data = bytearray()
    while len(data) < size:
        part = source.recv(min(size - len(data), 2**16))
        if not part:
            return None
        data += part
    return bytes(data)


# -- the solver's side --------------------------------------------------------------------------------------------


def step_text(step: Step, memory: int) -> dict[str, Any]:
    """The step as a text; its arrays are written to `memory`."""
    text: dict[str, Any] = {
        "iteration": int(step.iteration),
        "seconds": float(step.seconds),
        "cpu_seconds": float(step.cpu_seconds),
        "ended": step.ended,
        "refused": step.refused[:4096],
        "iterate": None,
    }
    iterate, at = step.iterate, 0
    if iterate is not None:
        arrays = {}
        for name in ("x", "dual"):
            value = getattr(iterate, name)
            if value is not None:
                arrays[name], at = _put(value, memory, at)
        info: dict[str, Any] = dict(iterate.info)
        if len(dumps(info)) > LONGEST_INFO:
            info = {"note": f"what the solver said of itself was longer than {LONGEST_INFO} bytes and is left out"}
        text["iterate"] = {**arrays, "claim": str(iterate.claim)[:200], "said": iterate.said, "info": info}
    return text


def _put(value: Any, memory: int, at: int) -> tuple[dict[str, Any], int]:
    array = np.asarray(value)
    about: dict[str, Any] = {"type": array.dtype.str[:40], "shape": list(array.shape), "at": at}
    if array.dtype.kind not in KINDS:
        return about, at
    data = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    written = 0
    while written < len(data):
        written += os.pwrite(memory, data[written:], at + written)
    return about, at + len(data)


# -- the judge's side ---------------------------------------------------------------------------------------------


def opening_of(said: Any) -> Opening:
    """What `asdict(Opening)` gave, every type checked."""
    if not isinstance(said, dict) or set(said) != set(asdict(Opening())):
        raise Damaged("an opening that is none")
    for name, value in asdict(Opening()).items():
        if type(said[name]) is not type(value):
            raise Damaged(f"{name} of an opening is a {type(said[name]).__name__}")
    versions = {str(key)[:200]: str(value)[:200] for key, value in list(said["versions"].items())[:50]}
    return Opening(**{**said, "message": said["message"][:4096], "versions": versions})


def threads_of(said: Any) -> dict[str, int]:
    """Threads of each numerical library that is loaded."""
    if not isinstance(said, dict) or not all(type(count) is int for count in said.values()):
        raise Damaged("threads that are none")
    return {str(name)[:200]: count for name, count in list(said.items())[:50]}


def step_of(text: Any, memory: int, largest: int) -> Step:
    """The step that a text and the memory hold. InvalidPoint where an array is not one of real numbers."""
    if not isinstance(text, dict):
        raise Damaged("a step that is none")
    wanted = {"iteration": int, "seconds": float, "cpu_seconds": float, "ended": bool, "refused": str}
    for name, kind in wanted.items():
        if type(text.get(name)) is not kind:
            raise Damaged(f"{name} of a step is a {type(text.get(name)).__name__}")
    said, iterate = text.get("iterate"), None
    if said is not None:
        if not isinstance(said, dict):
            raise Damaged("an iterate that is none")
        arrays = {name: _taken(name, said[name], memory, largest) for name in ("x", "dual") if name in said}
        claim, words, info = said.get("claim"), said.get("said"), said.get("info")
        if type(claim) is not str or type(words) is not str or type(info) is not dict:
            raise Damaged("an iterate that is none")
        iterate = Iterate(arrays.get("x"), arrays.get("dual"), cast(Claim, claim), words, info)  # the judge reads it
    return Step(text["iteration"], text["seconds"], text["cpu_seconds"], iterate, text["ended"], text["refused"])


def _taken(name: str, about: Any, memory: int, largest: int) -> Array:
    """A copy of an array of the other side."""
    if not isinstance(about, dict) or not isinstance(about.get("shape"), list) or type(about.get("at")) is not int:
        raise Damaged("an array that is none")
    shape = about["shape"]
    if not all(type(count) is int and count >= 0 for count in shape) or about["at"] < 0:
        raise Damaged("an array without a shape")
    try:
        dtype = np.dtype(str(about.get("type")))
    except TypeError:
        raise Damaged("an array without a type") from None
    if dtype.kind not in KINDS:
        raise InvalidPoint(f"{name}: the solver gave {dtype} of shape {tuple(shape)}; needed are real numbers")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if count > largest:
        raise InvalidPoint(f"{name}: the solver gave {dtype} of shape {tuple(shape)}, far more than the program has")
    array = np.empty(count, dtype)
    view, done = memoryview(array.view(np.uint8).data), 0
    while done < len(view):
        read = os.preadv(memory, [view[done:]], about["at"] + done)
        if read == 0:
            raise Damaged("an array that was not written")
        done += read
    return array.reshape(shape)
