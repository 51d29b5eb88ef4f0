"""The report at the end of a large run, made in a process of its own.

It needs several times the memory of the driver. That process gives it back when it ends, so that the driver, which may
have further experiments to run, stays small.
"""

import multiprocessing
import sys
from collections.abc import Callable

from marginbench.harness.errors import StoreError
from marginbench.harness.interruption import undisturbed
from marginbench.harness.printable import printable

MANY = 1000
"""Records from which on a report has a process of its own. Fewer are reported at once."""


def in_own_process(made: Callable[[], int]) -> int:
    """What `made` returns, from 0 to 255. It prints where this process does. StoreError where a signal ended it."""
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(made,))
    with undisturbed():
        child.start()
        child.join()
    code = child.exitcode or 0
    if code < 0:
        raise StoreError(f"the report was ended by signal {-code}; `marginbench report` on the folder makes it")
    return code


def _answer(made: Callable[[], int]) -> None:
    try:
        code = made()
    except StoreError as error:
        print(f"marginbench: {printable(error)}", file=sys.stderr)
        code = 1
    sys.exit(code)
