"""Accidents: what happened to a cell and is no fault of its solver. Such a cell is run again; a failure is not."""

import errno
import os
import re

from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of

FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGPWR")
"""Signals that users, schedulers and machines send. A solver that does wrong gets others."""

PATTERNS = {
    "the disk was full": rf"{os.strerror(errno.ENOSPC)}|{os.strerror(errno.EDQUOT)}",
    "the cache was gone or changed": r"\[Errno 2\].*/([0-9a-f]{64}/\w+\.npy|kernels-)|the data on disk were changed",
    "no process could be started": rf"BlockingIOError.*{os.strerror(errno.EAGAIN)}",
}
"""What a message says when the machine, not the solver, was at fault."""


def accident(record: Record) -> str:
    """What happened, in a few words; empty for every record that says something of its solver."""
    marked, signal = record.machine.get("accident"), record.machine.get("signal")
    if isinstance(marked, str) and marked:
        return marked
    if record.status == "crashed" and signal in FROM_OUTSIDE:
        return f"it was ended from outside ({signal})"
    if status_of(record.status).broke:
        return next((reason for reason, pattern in PATTERNS.items() if re.search(pattern, record.message)), "")
    return ""
