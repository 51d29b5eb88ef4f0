"""Watch the process of a job, end it when its time is over, and leave none of its descendants alive."""

import contextlib
import os
import resource
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marginbench.harness.records.codec import dumps
from marginbench.harness.running.confinement import LINUX, confined, limit_memory
from marginbench.harness.running.job import Job

LONGEST_ANSWER = 2**28
"""Bytes of the longest answer that is listened to."""

LONGEST_OUTPUT = 2**18
"""Bytes of a solver's printing that are kept."""


@dataclass
class Watched:
    """The process of a job, and what has come out of its two pipes."""

    pid: int
    answer_pipe: int
    output_pipe: int
    answer: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    unkept: int = 0
    own_mb: float = 0.0
    """The most memory that it was seen to have of its own: not the pages of files, which the kernel can drop."""

    def look(self) -> None:
        self.own_mb = max(self.own_mb, own_mb(self.pid))

    @property
    def answered(self) -> bool:
        return len(self.answer) >= 16 and len(self.answer) >= 16 + sum(struct.unpack("<2Q", self.answer[:16]))

    def read(self, pipe: int) -> bool:
        """Take what a pipe has to give; False at its end."""
        into, most = (self.answer, LONGEST_ANSWER) if pipe == self.answer_pipe else (self.output, LONGEST_OUTPUT)
        part = os.read(pipe, 2**16)
        room = max(0, most - len(into))
        into += part[:room]
        self.unkept += len(part[room:])
        return bool(part)

    @property
    def ended(self) -> bool:
        """Seen without reaping: until `end`, nobody else can have its number."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self) -> tuple[int, Any]:
        """Kill what is left of it and of its descendants, hear what they said last: (wait status, resource usage)."""
        _kill(self.pid)
        _, status, usage = os.wait4(self.pid, 0)
        end_children()
        for pipe in (self.answer_pipe, self.output_pipe):
            while select.select([pipe], [], [], 0.0)[0] and self.read(pipe):
                pass
            os.close(pipe)
        return status, usage


def guard(harness: socket.socket, job: Job, descriptors: Sequence[int] = ()) -> tuple[bytes, bytes, bytes]:
    """Fork a job, wait for its answer, its end or its time: (report, answer, output)."""
    kills, base, start = _out_of_memory_kills(), _resident_mb(), time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    watched = _fork(harness, job, descriptors)
    late = _wait(harness, watched, start + job.limits.seconds)
    status, usage = watched.end()
    total = resource.getrusage(resource.RUSAGE_CHILDREN)  # with what its orphans took, which came to us
    code = os.waitstatus_to_exitcode(status)
    report = {
        "answered": watched.answered,
        "late": late,
        "exit_code": 0 if watched.answered else code,
        "out_of_memory": _out_of_memory_kills() > kills,
        "unkept": watched.unkept,
        "base_mb": base,
        "own_mb": watched.own_mb,
        "peak_mb": usage.ru_maxrss / (2**10 if LINUX else 2**20),
        "process_seconds": time.monotonic() - start,
        "process_cpu_seconds": total.ru_utime + total.ru_stime - before.ru_utime - before.ru_stime,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
    }
    return dumps(report).encode(), bytes(watched.answer), bytes(watched.output)


def _fork(harness: socket.socket, job: Job, descriptors: Sequence[int]) -> Watched:
    (answer, answer_end), (output, output_end) = os.pipe(), os.pipe()
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            for descriptor in (harness.fileno(), answer, output):
                os.close(descriptor)
            confined(job, descriptors, answer_end, output_end, parent)
        os._exit(1)
    for descriptor in (answer_end, output_end, *descriptors):
        os.close(descriptor)
    return Watched(pid, answer, output)


def survives(trial: Callable[[], None], seconds: float) -> bool:
    """Whether `trial` ends well in a process of its own, without output, in so many seconds and 1 GB."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setsid()
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            limit_memory(1024.0)
            trial()
            os._exit(0)
        os._exit(1)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.002)
    end_children()
    return False


def _wait(harness: socket.socket, watched: Watched, deadline: float) -> bool:
    """Until there is an answer or nothing more to wait for; True when the time is over."""
    poll = select.poll()
    for source in (harness.fileno(), watched.answer_pipe, watched.output_pipe):
        poll.register(source, select.POLLIN)
    while not (watched.answered or watched.ended):
        left = deadline - time.monotonic()
        watched.look()
        if left <= 0.0:
            return True
        # A child of the job can hold the pipes open after its end: twenty times a second, look at the process itself.
        for source, _ in poll.poll(1000.0 * min(0.05, left)):
            if source == harness.fileno():  # closed: nobody waits for the answer any more
                watched.end()
                os._exit(0)
            if not watched.read(source):
                poll.unregister(source)
    return False


def _out_of_memory_kills() -> int:
    """How often the kernel has killed for want of memory."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/vmstat").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("oom_kill ")).split()[1])
    return 0


def own_mb(pid: int) -> float:
    """Memory of a process without pages of files; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        fields = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return sum(int(words[1]) for words in fields if words and words[0] in ("RssAnon:", "RssShmem:")) / 2**10
    return 0.0


def _resident_mb() -> float:
    """Memory of this process, which a fork shares and counts as its own."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return 0.0


# -- the end ------------------------------------------------------------------------------------------------------


def end_children(spare: set[int] | frozenset[int] = frozenset()) -> set[int]:
    """Reap the dead; kill every other child but `spare`, and its children as they become ours. Returns the reaped.

    Where there is somebody to spare, others are looked for only after a death: they come from no other place.
    """
    reaped, killed = set[int](), set[int]()
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                reaped.add(pid)
        except ChildProcessError:
            break
        strays = _children() - spare if reaped or not spare else set()
        if not strays and killed <= reaped:  # who was killed may be dead and not yet reaped
            break
        for pid in strays:
            _kill(pid)
        killed |= strays
        time.sleep(0.001)
    return reaped


def _children() -> set[int]:
    """Children of this process, the dead that are not yet reaped among them."""
    found = set[int]()
    for task in Path("/proc/self/task").iterdir() if LINUX else ():
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


def _kill(pid: int) -> None:
    """The process group that `pid` leads, and the process."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
