"""Checking contracts: in this process, or in one that a solver may crash or hang, which breaks one contract only."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing.connection import Connection

from marginbench.harness.records.codec import dumps, loads
from marginbench.harness.running.isolation import ONE_THREAD
from marginbench.harness.validation.contracts import CONTRACTS
from marginbench.harness.validation.probes import first_line
from marginbench.harness.validation.scorecard import Line
from marginbench.harness.validation.testbed import Broken, Idle, Lab, Subject

PATIENCE = 60.0
"""Seconds for a contract beside those of its solves: importing and compiling."""

SOLVES = 20
"""The most solves that a contract takes, over all settings."""


def check(subject: Subject, names: tuple[str, ...] = tuple(CONTRACTS)) -> Iterator[Line]:
    """The contracts in this process, each in all settings."""
    labs = [Lab(subject, setting) for setting in subject.settings]
    for name in names:
        yield combined(name, [examine(name, lab) for lab in labs])


def examine(name: str, lab: Lab) -> Line:
    where = f"{lab.setting.name}, bias {lab.setting.problem['bias']}"
    try:
        return Line(name, "pass", CONTRACTS[name](lab))
    except Idle as reason:
        return Line(name, "not applicable", str(reason))
    except Broken as reason:
        return Line(name, "fail", f"{where}: {reason}")
    except Exception as error:  # whatever a solver raises on a program that it accepts
        return Line(name, "fail", f"{where}: {first_line(error)}")


def combined(name: str, lines: list[Line]) -> Line:
    """The worst result: one setting in which a contract is broken breaks it."""
    for result in ("fail", "pass", "not applicable"):
        for line in lines:
            if line.result == result:
                return line
    return Line(name, "not applicable", "no setting to check it in")


def check_apart(subject: Subject, names: tuple[str, ...] = tuple(CONTRACTS)) -> list[Line]:
    lines: list[Line] = []
    while len(lines) < len(names):
        lines += _some(subject, names[len(lines) :])
    return lines


def _some(subject: Subject, names: tuple[str, ...]) -> Iterator[Line]:
    """Lines of one process, up to the one that ends it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, subject, names))
    with pinned():
        process.start()
    theirs.close()
    try:
        for name in names:
            if not ours.poll(PATIENCE + SOLVES * subject.seconds):
                yield Line(name, "fail", f"no end after {PATIENCE + SOLVES * subject.seconds:g} s")
                return
            try:
                yield Line(**loads(ours.recv_bytes()))
            except EOFError:
                process.join()
                yield Line(name, "fail", f"the process ended with code {process.exitcode}")
                return
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        ours.close()


def _work(answers: Connection, subject: Subject, names: tuple[str, ...]) -> None:
    os.setsid()
    for line in check(subject, names):
        answers.send_bytes(dumps(asdict(line)).encode())


@contextlib.contextmanager
def pinned() -> Iterator[None]:
    """Processes started here run their numerical libraries in one thread."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
