"""Run work in a process of its own, so that nothing it does can hurt its neighbours.

    with Isolation() as isolation:
        outcome = isolation.run(cell, data, digest, known, Limits(seconds=60, memory_mb=4096), log)
        result = isolation.do(Job("package.module.function", (argument,), Limits()))

Whatever happens there (it raises, crashes, hangs, allocates without end, leaves children behind), `run` returns an
Outcome whose record says so, and `do` a Result. A job costs a fork of one of the processes of `fork_server.py`.
"""

import contextlib
import errno
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from marginbench.datasets import cache
from marginbench.harness.cell.judging import Outcome
from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import StoreError
from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point
from marginbench.harness.old_names import current_name
from marginbench.harness.records.codec import Damaged, loads
from marginbench.harness.rehearsal import PACKAGE
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.cores import Cores, claim
from marginbench.harness.running.exchange import Exchange
from marginbench.harness.running.features import prepared
from marginbench.harness.running.fork_server import receive, send_request
from marginbench.harness.running.job import Job, Limits, Result
from marginbench.harness.running.outcome import blank, outcome_of
from marginbench.harness.running.result import lost, result_of

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "RAYON")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {
    "VECLIB_MAXIMUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pandas brings it, scikit-learn brings pandas
}
"""For numerical libraries, before they are loaded. A job has one core; and fork copies one thread only, so that there
must be no other."""

STARTUP_SECONDS = 120.0
"""For the first interpreter to start."""

WARM_UP_SECONDS = 600.0
"""For a solver of the project to import and compile what it needs: a minute of CPU, and ten where ten processes share a
core. A solver that is given up here compiles again in each cell, inside its limit."""

JUDGES = "judges"
"""Name of the process that judges are forked from. No job of a solver is ever given to it."""

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

    def warm_up(self, job: Job, seconds: float) -> int:
        """How many threads there are after warming up for a job."""
        with self._talk(seconds):
            send_request(self.channel, True, job, ())
            return loads(self._hear(1)[0])

    def give(self, job: Job, descriptors: Sequence[int] = ()) -> None:
        """Give a job, whose result is to be taken next. `descriptors`: open files that are for it."""
        with contextlib.suppress(NoAnswer), self._talk(STARTUP_SECONDS):  # `take` will say it
            send_request(self.channel, False, job, descriptors)

    def take(self, job: Job, seconds: float) -> tuple[Result, bytes]:
        """Wait for the result of a job that was given, and for what belongs into its log."""
        try:
            with self._talk(seconds):
                return result_of(job, *self._hear(3))
        except NoAnswer as none:
            return lost(job, none.hangs), b""

    def _hear(self, count: int) -> list[bytes]:
        parts = receive(self.channel, count)
        if parts is None:
            raise ConnectionError
        return parts

    @contextlib.contextmanager
    def _talk(self, seconds: float) -> Iterator[None]:
        """NoAnswer when none comes in so many seconds; the process is then ended."""
        if not self.alive:
            raise NoAnswer(hangs=False)
        try:
            self.channel.settimeout(seconds)
            yield
        except ConnectionError:
            self.end()
            raise NoAnswer(hangs=False) from None
        except BaseException as error:  # an interrupt too: a late answer must not be taken for that of the next job
            self.kill()
            if isinstance(error, TimeoutError):
                raise NoAnswer(hangs=True) from None
            if isinstance(error, Damaged | LookupError | TypeError):  # a solver was loaded into it: it may say anything
                raise NoAnswer(hangs=False) from None
            raise

    def end(self) -> None:
        """An idle parent leaves when its socket closes."""
        self.alive = False
        self.channel.close()

    def kill(self) -> None:
        self.end()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Isolation:
    """Owner of all processes that jobs run in. One job at a time: for more, more of these."""

    def __init__(self) -> None:
        self._parents: dict[str, Parent] = {}
        self._cold: set[str] = set()
        """Modules that no parent imports: they crash, hang or start threads, which a fork does not survive."""

    def __enter__(self) -> Self:
        self._cores = claim()
        self._errors = tempfile.TemporaryFile()
        try:
            self._start()
        except OSError:  # no process can be started
            self._channel.close()
            self._close()
            raise
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
        self._close()

    def _close(self) -> None:
        self._errors.close()
        if self._cores is not None:
            self._cores.close()

    def _stop(self) -> None:
        self._channel.close()
        try:
            self._root.wait(5.0)
        except subprocess.TimeoutExpired:
            self._root.kill()
            self._root.wait()

    def run(
        self,
        cell: Cell,
        data: Path,
        digest: str,
        known: Bounds | None,
        limits: Limits,
        log: Path | None = None,
        point: bool = True,
        held_out: Path | None = None,
        start: Point | None = None,
    ) -> Outcome:
        """Run the cell on the data that `spill` wrote. What it printed and its traceback go to `log`, if anything.
        `point`: whether the outcome is to have the answer's point. `held_out`: rows that the judge measures it on.
        `start`: what a warm cell begins from."""
        order = Order(cell, Path(data), digest, known, limits, prepared(cell, Path(data)), point, held_out, start)
        try:
            solver = self._parent(order.solver_job())
        except NoAnswer:
            return blank(order, "timeout", f"ended by the limit of {limits.seconds:g} s, while it was warmed up")
        judge, judging = self._living(JUDGES), self._job(order.judge_job())
        with Exchange() as exchange:
            judge.give(judging, (exchange.judge.fileno(), exchange.memory.fileno(), exchange.points.fileno()))
            try:
                exchange.judge.close()
                results, said = self._climb(solver, order, exchange)
                exchange.solver.close()  # the judge hears that nobody will speak any more
                verdict, more = judge.take(judging, judging.limits.seconds + GRACE_SECONDS)
            except BaseException:
                judge.kill()
                raise
            outcome = outcome_of(order, results, verdict, self._claimed(cell.threads), exchange.points.fileno())
        if log is not None and _logged(log, said + more):
            outcome.record.machine["log"] = f"{log.parent.name}/{log.name}"
        return outcome

    def _climb(self, solver: Parent, order: Order, exchange: Exchange) -> tuple[list[Result], bytes]:
        """Run the solver; of a ladder, each rung that the judge wants to see in a process of its own."""
        results, said, end = list[Result](), b"", time.monotonic() + order.limits.seconds
        while not results or results[-1].text.get("next_rung") is True:
            job = self._job(order.solver_job(len(results)))
            left = max(0.0, end - time.monotonic())
            files = (exchange.solver.fileno(), exchange.memory.fileno())
            solver.give(replace(job, limits=replace(job.limits, seconds=left)), files)
            result, more = solver.take(job, left + GRACE_SECONDS)
            results.append(result)
            said += more
        return results, said

    def _job(self, job: Job) -> Job:
        return replace(job, cores=self._claimed(job.threads))

    def _claimed(self, count: int) -> tuple[int, ...]:
        """So many cores that are ours; none where others have claimed too many of them."""
        held = self._cores or Cores((), ())
        if len(held.numbers) < count and (more := claim(count - len(held.numbers))) is not None:
            held = self._cores = Cores(held.numbers + more.numbers, held.claims + more.claims)
        return held.numbers[:count] if len(held.numbers) >= count else ()

    def do(self, job: Job, log: Path | None = None) -> Result:
        """Do a job. What it printed and its traceback go to `log`, if anything."""
        try:
            parent, job = self._parent(job), self._job(job)
        except NoAnswer as none:
            return lost(job, none.hangs)
        parent.give(job)
        result, said = parent.take(job, job.limits.seconds + GRACE_SECONDS)
        return replace(result, logged=log is not None and _logged(log, said))

    # -- parents -------------------------------------------------------------------------------------------------

    def _parent(self, job: Job) -> Parent:
        """The parent for the job's module, warm for it; where that fails, the one that has imported nothing.

        NoAnswer where foreign code has spent the job's time on warming up: it would again.
        """
        if job.module not in self._cold:
            parent = self._living(job.module)
            if job.kind in parent.warmed:
                return parent
            trusted = current_name(job.module).startswith(PACKAGE)
            seconds = max(WARM_UP_SECONDS, job.limits.seconds) if trusted else job.limits.seconds
            try:
                if parent.warm_up(job, seconds) == 1:
                    parent.warmed.add(job.kind)
                    return parent
                parent.end()
            except NoAnswer as none:
                if none.hangs and not trusted:
                    raise
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
            if os.strerror(errno.ENOSPC) in said[-1]:  # compiled kernels are kept in the cache
                raise StoreError(f"cannot write {cache.folder()}: {os.strerror(errno.ENOSPC)}") from None
            raise OSError(errno.EAGAIN, f"the one that starts cells does not start: {said[-1]}") from None

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


def _logged(log: Path, said: bytes) -> bool:
    """Write the log, if there is anything to write."""
    if said:
        write_atomically(log, said)
    return bool(said)
