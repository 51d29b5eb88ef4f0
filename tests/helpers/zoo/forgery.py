"""Attacks on what is written: answers and records of the solver's own making."""

import contextlib
import os
import socket
import struct
import time
from dataclasses import dataclass

import numpy as np

from marginbench.harness.cell.measure import Step
from marginbench.harness.model.solver import Iterate
from marginbench.harness.records.codec import dumps, record_to_plain
from marginbench.harness.records.record import Record
from marginbench.harness.running.exchange import send_text, step_text
from zoo.changed_problem import Attack
from zoo.honest import WORK, optimum, work


def forged(**changes) -> bytes:
    """An answer as the process of a cell gives one."""
    record = Record(dataset="zoo", n=40, d=5, nnz=200, C=1.0, bias="none", solver="zoo", claim="converged")
    for name, value in {"status": "solved", "primal": 1.0, "dual": 1.0, "gap": 0.0, "iterations": 1, **changes}.items():
        setattr(record, name, value)
    text = dumps({"record": record_to_plain(record), "b": None, "sizes": {}}).encode()
    return struct.pack("<2Q", len(text), 0) + text


def write_everywhere(data: bytes) -> None:
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.set_blocking(descriptor, False)
            os.write(descriptor, data)


@dataclass(frozen=True)
class ForgesRecord(Attack):
    """Writes a record with a false optimum to every open descriptor, and leaves."""

    def deed(self, program):
        write_everywhere(forged())
        os._exit(0)


@dataclass(frozen=True)
class ForgesTime(Attack):
    """Works, and writes a record with the right optimum and a microsecond."""

    seconds: float = WORK

    def deed(self, program):
        work(self.seconds)
        found = optimum(program)
        value = 0.5 * float(found.w @ found.w)
        value += float(program.weight / program.lam @ np.maximum(0.0, 1.0 - program.margins(found.w)))
        write_everywhere(forged(primal=value, dual=value, solve_seconds=1e-6, cpu_seconds=1e-6))
        os._exit(0)


@dataclass(frozen=True)
class ForgesNonsense(Attack):
    """Writes bytes that are no answer, and goes on."""

    def deed(self, program):
        write_everywhere(struct.pack("<2Q", 8, 0) + b'{"b": 1}')


@dataclass(frozen=True)
class ForgesSteps(Attack):
    """Works, and speaks to the judge itself, in the agreed form: the answer was there after a microsecond."""

    seconds: float = WORK

    def deed(self, program):
        work(self.seconds)
        answer = optimum(program).w
        memory = next(number for number in range(3, 64) if "memfd" in target(number))
        for number in range(3, 64):
            if target(number).startswith("socket"):
                step = Step(1, 1e-6, 1e-6, Iterate(answer, claim="converged"), ended=True)
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as channel:
                    send_text(channel, {"step": step_text(step, memory)})
        time.sleep(60.0)


def target(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    return ""


@dataclass(frozen=True)
class SelfMadeIterate(Attack):
    """An object with the attributes of an Iterate whose claim changes with every question."""

    def iterates(self, program):
        class Chameleon(Iterate):
            asked = 0

            def __getattribute__(self, name):
                if name == "claim":
                    type(self).asked += 1
                    return "converged" if type(self).asked % 2 else ""
                return super().__getattribute__(name)

        yield Chameleon(np.zeros(program.d))
