"""Run work in a process of its own, so that nothing it does can hurt its neighbours.

    with Isolation() as isolation:
        outcome = isolation.run(cell, data, digest, known, Limits(seconds=60, memory_mb=4096), log)
        result = isolation.do(Job("package.module.function", (argument,), Limits()))

Whatever happens there (it raises, crashes, hangs, allocates without end, leaves children behind), `run` returns an
Outcome whose record says so, and `do` a Result. The processes are those of `fork_server.py`; a job costs a fork of one
of them.
"""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from marginbench.harness.cell.run import Outcome
from marginbench.harness.cell.spec import Cell
from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.codec import loads
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.fork_server import receive, send
from marginbench.harness.running.job import Job, Limits, Result
from marginbench.harness.running.outcome import outcome_of
from marginbench.harness.running.result import lost, result_of

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "RAYON")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {
    "VECLIB_MAXIMUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pandas brings it, scikit-learn brings pandas
}
"""For numerical libraries, before they are loaded. A job has one core; and fork copies one thread only, so that there
must be no other."""

STARTUP_SECONDS = 120.0
"""For the first interpreter to start, and for a solver to import and compile what it needs."""

GRACE_SECONDS = 1.5
"""For a parent to end a job that is over its time, and to report."""


class NoAnswer(Exception):
    """A process of ours died, or hangs."""

    def __init__(self, hangs: bool) -> None:
        super().__init__("hangs" if hangs else "died")
        self.hangs = hangs


@dataclass
class Parent:
    """Our end of a process that jobs are forked from: its socket, its number, and what it has been warmed for."""

    channel: socket.socket
    pid: int
    warmed: set[str] = field(default_factory=set)
    alive: bool = True

    def ask(self, warm: bool, job: Job, seconds: float) -> list[bytes]:
        """Give a job and wait for the answer. NoAnswer when none comes; the process is then ended."""
        try:
            self.channel.settimeout(seconds)
            send(self.channel, pickle.dumps((warm, job)))
            parts = receive(self.channel, 1 if warm else 3)
        except ConnectionError:
            parts = None
        except BaseException as error:  # an interrupt too: a late answer must not be taken for that of the next job
            self.end()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            if isinstance(error, TimeoutError):
                raise NoAnswer(hangs=True) from None
            raise
        if parts is None:
            self.end()
            raise NoAnswer(hangs=False)
        return parts

    def end(self) -> None:
        """An idle parent leaves when its socket closes."""
        self.alive = False
        self.channel.close()


class Isolation:
    """Owner of all processes that jobs run in. One job at a time: for more, more of these."""

    def __init__(self) -> None:
        self._parents: dict[str, Parent] = {}
        self._cold: set[str] = set()
        """Modules that no parent imports: they crash, hang or start threads, which a fork does not survive."""

    def __enter__(self) -> Self:
        self._core = _own_core()
        self._errors = tempfile.TemporaryFile()
        self._scratch = tempfile.TemporaryDirectory(prefix="marginbench-")
        self._start()
        return self

    def _start(self) -> None:
        """The first process, a fresh interpreter: what the harness has imported and started is not in it."""
        self._channel, theirs = socket.socketpair()
        path = [os.path.abspath(entry) for entry in sys.path]
        start = (
            f"import sys; sys.path[:] = {path!r}; "
            f"from marginbench.harness.running.fork_server import root; root({theirs.fileno()})"
        )
        with theirs:
            self._root = subprocess.Popen(
                [sys.executable, "-c", start],
                pass_fds=[theirs.fileno()],
                env=os.environ | ONE_THREAD | {"PYTHONHASHSEED": "0"},
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                start_new_session=True,  # Ctrl-C on the terminal is for the harness to handle
            )

    def __exit__(self, *_: object) -> None:
        for parent in self._parents.values():
            parent.end()
        self._stop()
        self._errors.close()
        self._scratch.cleanup()
        if self._core is not None:
            self._core[1].close()

    def _stop(self) -> None:
        self._channel.close()
        try:
            self._root.wait(5.0)
        except subprocess.TimeoutExpired:
            self._root.kill()
            self._root.wait()

    def run(
        self, cell: Cell, data: Path, digest: str, known: Bounds | None, limits: Limits, log: Path | None = None
    ) -> Outcome:
        """Run the cell on the data that `spill` wrote. What it printed and its traceback go to `log`, if anything."""
        so_far = Path(self._scratch.name) / "so_far"
        so_far.unlink(missing_ok=True)
        order = Order(cell, Path(data), digest, known, limits, so_far)
        result = self.do(order.job(), log)
        outcome = outcome_of(order, result, self._cpu)
        if log is not None and result.logged:
            outcome.record.machine["log"] = f"{log.parent.name}/{log.name}"
        return outcome

    @property
    def _cpu(self) -> int | None:
        return None if self._core is None else self._core[0]

    def do(self, job: Job, log: Path | None = None) -> Result:
        """Do a job. What it printed and its traceback go to `log`, if anything."""
        job = replace(job, cpu=self._cpu)
        try:
            report, answer, output = self._parent(job).ask(False, job, job.limits.seconds + GRACE_SECONDS)
        except NoAnswer as none:
            return lost(job, none.hangs)
        result, trace = result_of(job, report, answer, output)
        if log is None or not (output or trace):
            return result
        write_atomically(log, output + trace.encode())
        return replace(result, logged=True)

    # -- parents -------------------------------------------------------------------------------------------------

    def _parent(self, job: Job) -> Parent:
        """The parent for the job's module, warm for it; where that fails, the one that has imported nothing."""
        if job.module not in self._cold:
            parent = self._living(job.module)
            if job.kind in parent.warmed:
                return parent
            with contextlib.suppress(NoAnswer):
                if loads(parent.ask(True, job, max(STARTUP_SECONDS, job.limits.seconds))[0]) == 1:
                    parent.warmed.add(job.kind)
                    return parent
                parent.end()
            self._cold.add(job.module)
        return self._living("")

    def _living(self, module: str) -> Parent:
        parent = self._parents.get(module)
        if parent is not None and parent.alive and select.select([parent.channel], [], [], 0.0)[0]:
            parent.end()  # it says something without being asked: that it has gone
        if parent is None or not parent.alive:
            try:
                parent = self._new_parent()
            except (OSError, struct.error):  # root is gone, though it runs nothing foreign: once more
                self._stop()
                self._start()
                parent = self._last_parent()
            self._parents[module] = parent
        return parent

    def _last_parent(self) -> Parent:
        """The second attempt; what the process said when it fails too."""
        try:
            return self._new_parent()
        except (OSError, struct.error):
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines() or ["it says nothing"]
            raise RuntimeError(f"the process that starts cells does not start: {said[-1]}") from None

    def _new_parent(self) -> Parent:
        self._channel.settimeout(STARTUP_SECONDS)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._channel, [b"+"], [theirs.fileno()])
            (pid,) = struct.unpack("<q", self._channel.recv(8, socket.MSG_WAITALL))
        except BaseException:
            ours.close()
            self._channel.close()  # what it would say now would be taken for the answer to the next question
            raise
        return Parent(ours, pid)


def _own_core() -> tuple[int, socket.socket] | None:
    """A core for our jobs that no other harness has claimed, and the claim: a name that the kernel frees with us."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    for core in sorted(os.sched_getaffinity(0), reverse=True):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0marginbench-core-{core}")
            return core, claim
        except OSError:
            claim.close()
    return None
