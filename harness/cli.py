"""The command line: marginbench VERB [options]. `main` returns the exit code: 0 well, 1 bad rows, 2 bad input.

This module and what it imports are light, so that help and completion answer at once.
"""

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Iterator, Sequence

from marginbench.harness.errors import InputError, StoreError
from marginbench.harness.interruption import ended_by_signals
from marginbench.harness.printable import Printable, printable

VERBS = (
    "run",
    "runs",
    "status",
    "collect",
    "report",
    "compare",
    "validate",
    "agreement",
    "choice",
    "reproduce",
    "bundle",
    "show",
    "reference",
    "claims",
    "list",
    "data",
    "doctor",
    "help",
    "completion",
    "work",
)
"""Each a module of `harness.commands`, imported only when it is asked for."""

WITH_VALUE = (
    "--config-dir",
    "-cd",
    "--cfg",
    "-c",
    "--package",
    "-p",
    "--info",
    "-i",
    "--out",
    "--json",
    "--markdown",
    "--from",
    "--allow",
    "--fail-if",
    "--results",
    "--clock",
    "--accuracy",
)
"""Flags whose next word is a value, and so no verb."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the end
    try:
        if arguments[:1] == ["--version"]:
            print(f"marginbench {_version()}")
            return 0
        verb, rest = split_verb(arguments)
        if rest[:1] != ["answer"] and any(word in ("-h", "--help") for word in rest):
            verb, rest = "help", [verb]
        command = importlib.import_module(f"marginbench.harness.commands.{verb}")
        with ended_by_signals(), _printable_streams():
            code = command.main(rest)
        sys.stdout.flush()
        return code
    except InputError as error:
        print(f"marginbench: {printable(error)}", file=sys.stderr)
        return 2
    except StoreError as error:
        print(f"marginbench: {printable(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has enough, as `head` does
        _silence()
        return 0
    except OSError as error:
        print(f"marginbench: {_sentence(error)}", file=sys.stderr)
        if error.filename is None:
            _silence()
        return 2 if error.errno == errno.ENAMETOOLONG else 1


def _sentence(error: OSError) -> str:
    """What the system refused, and where."""
    said = " ".join(str(error.strerror or error).split())
    if error.errno == errno.EAGAIN:
        limits = "; `ulimit -u` shows how many are allowed" if os.strerror(errno.EAGAIN) in said else ""
        return f"cannot start a process: {said}{limits}"
    return f"{said}: {error.filename if error.filename is not None else 'the output cannot be written'}"


def _silence() -> None:
    """Nothing more is written to the output, not even at the end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _printable_streams() -> Iterator[None]:
    """Whatever a verb prints, no escape of a file or a solver reaches the terminal. A progress bar goes back by \\r."""
    out, errors = Printable(sys.stdout), Printable(sys.stderr, kept="\n\t\r")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        yield


def split_verb(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The verb, which may stand behind flags and options, and the other words. Options without a verb are for run."""
    if not arguments or arguments[0] in ("-h", "--help"):
        return "help", list(arguments[1:])
    value = False
    for place, word in enumerate(arguments):
        if value or word.startswith(("-", "~")) or "=" in word:
            value = word in WITH_VALUE
        elif word in VERBS:
            return word, [*arguments[:place], *arguments[place + 1 :]]
        elif place == 0:
            raise InputError(f"{word}: there is no such verb; possible are {', '.join(VERBS)}")
    return "run", list(arguments)


def _version() -> str:
    from importlib.metadata import version  # 30 ms that no other verb needs

    return version("marginbench")
