"""Run a cell in a process of its own, so that nothing it does can hurt its neighbours.

    with Isolation() as isolation:
        outcome = isolation.run(cell, data, digest, known, Limits(seconds=60, memory_mb=4096), log)

Whatever the solver does (raise, crash, hang, allocate without end, leave children behind), `run` returns an Outcome
whose record says what happened. The processes are those of `zygote.py`; a cell costs a fork of one of them.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from marginbench.harness.cell.run import Outcome
from marginbench.harness.cell.spec import Cell
from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.codec import dumps, loads
from marginbench.harness.running.confinement import Limits, Order
from marginbench.harness.running.fork_server import receive, send
from marginbench.harness.running.mapped_data import spill
from marginbench.harness.running.outcome import blank, judge, lost

__all__ = ["Isolation", "Limits", "spill"]

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "RAYON")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {
    "VECLIB_MAXIMUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pandas brings it, scikit-learn brings pandas
}
"""For numerical libraries, before they are loaded: a core is shared with nobody, and a fork is of all there is."""

PATIENCE = 120.0
"""Seconds for the first interpreter to start, and for a solver to import and compile what it needs."""

GRACE = 1.5
"""Seconds for a family to end a cell that is over its time, and to report."""


class Silent(Exception):
    """A process of ours does not answer: it died, or hangs."""


@dataclass
class Family:
    """Our end of a family: its socket, its process, and what it has been warmed for."""

    channel: socket.socket
    pid: int
    warmed: set[str] = field(default_factory=set)
    alive: bool = True

    def ask(self, warm: bool, order: Order, seconds: float) -> list[bytes]:
        """Give an order and wait for the answer. Silent when none comes; the family is then ended."""
        try:
            self.channel.settimeout(seconds)
            send(self.channel, pickle.dumps((warm, order)))
            parts = receive(self.channel, 1 if warm else 3)
        except ConnectionError:
            parts = None
        except BaseException as error:  # an interrupt too: a late answer must not be taken for that of the next cell
            self.end()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            if isinstance(error, TimeoutError):
                raise Silent("hangs") from None
            raise
        if parts is None:
            self.end()
            raise Silent("died")
        return parts

    def end(self) -> None:
        """An idle family leaves when its socket closes."""
        self.alive = False
        self.channel.close()


class Isolation:
    """Owner of all processes that cells run in. One cell at a time: for more, more of these."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self._cold: set[str] = set()
        """Modules that no family imports: they crash, hang or start threads, which a fork does not survive."""

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
        for family in self._families.values():
            family.end()
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
        core = None if self._core is None else self._core[0]
        order = Order(cell, Path(data), digest, known, limits, core, so_far)
        trouble = ""
        try:
            report, answer, output = self._family(order).ask(False, order, limits.seconds + GRACE)
        except Silent as how:
            return lost(order, str(how))
        try:
            outcome, trouble = judge(order, loads(report), answer, output)
        except (ValueError, TypeError, LookupError) as error:
            outcome = blank(order, "failed", f"its answer cannot be read: {error}")
        if log is not None and (output or trouble):
            write_atomically(log, output + trouble.encode())
            outcome.record.machine["log"] = f"{log.parent.name}/{log.name}"
        return outcome

    # -- families ------------------------------------------------------------------------------------------------

    def _family(self, order: Order) -> Family:
        """The family of the order's solver, warm for it; where that fails, the one that has imported nothing."""
        module = str(order.cell.solver.get("_target_", "")).rpartition(".")[0]
        if module not in self._cold:
            family = self._living(module)
            if _kind(order) in family.warmed:
                return family
            with contextlib.suppress(Silent):
                if loads(family.ask(True, order, max(PATIENCE, order.limits.seconds))[0]) == 1:
                    family.warmed.add(_kind(order))
                    return family
                family.end()
            self._cold.add(module)
        return self._living("")

    def _living(self, module: str) -> Family:
        family = self._families.get(module)
        if family is not None and family.alive and select.select([family.channel], [], [], 0.0)[0]:
            family.end()  # it says something without being asked: that it has gone
        if family is None or not family.alive:
            try:
                family = self._new_family()
            except (OSError, struct.error):  # root is gone, though it runs nothing foreign: once more
                self._stop()
                self._start()
                family = self._last_family()
            self._families[module] = family
        return family

    def _last_family(self) -> Family:
        """The second attempt; what the process said when it fails too."""
        try:
            return self._new_family()
        except (OSError, struct.error):
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines() or ["it says nothing"]
            raise RuntimeError(f"the process that starts cells does not start: {said[-1]}") from None

    def _new_family(self) -> Family:
        self._channel.settimeout(PATIENCE)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._channel, [b"+"], [theirs.fileno()])
            (pid,) = struct.unpack("<q", self._channel.recv(8, socket.MSG_WAITALL))
        except BaseException:
            ours.close()
            self._channel.close()  # what it would say now would be taken for the answer to the next question
            raise
        return Family(ours, pid)


def _kind(order: Order) -> str:
    """What warming depends on: all of the cell that can lead into other code, and the layout of the data."""
    cell = order.cell
    solver = {key: value for key, value in cell.solver.items() if key != "seed"}
    problem = {**cell.problem, "C": float(cell.problem.get("C", 1.0)) == float("inf")}
    return dumps([solver, cell.formulation, problem, (order.data / "X.npy").exists()])


def _own_core() -> tuple[int, socket.socket] | None:
    """A core for our cells that no other harness has claimed, and the claim: a name that the kernel frees with us."""
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
