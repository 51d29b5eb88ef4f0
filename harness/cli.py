"""The command line: marginbench VERB [options]. `main` returns the exit code: 0 well, 1 bad rows, 2 bad input."""

import importlib
import sys
from collections.abc import Sequence

from marginbench.harness.files import StoreError
from marginbench.harness.model.problem import InputError

USAGE = """marginbench: certified benchmarks of max-margin solvers

usage: marginbench VERB [key=value ...]

  run        one cell, or with comma-separated values or experiment=NAME a sweep
  report     PATH...: tables, figures and report again from stored records
  validate   solver=NAME|FILE.py:Class: a solver against the reference problems
  reference  compute and prove an optimum; --check re-proves the stored ones
  reproduce  PATH: run a stored report's cells again and compare
  list       [dataset|formulation|solver|method|experiment]: what there is
  doctor     what this machine can measure and enforce

Without a verb: the comparison of all methods, `marginbench run experiment=comparison`.
--config-dir DIR adds a folder of your own configurations; DIR and its parent are importable.

examples
  marginbench run method=pegasos,coordinate_descent dataset=breast_cancer problem.C=0.1,1,10
  marginbench run method=coordinate_descent dataset=file dataset.path=heart_scale problem.bias=none
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        arguments = ["run", "experiment=comparison"]
    verb = "run" if "=" in arguments[0] or arguments[0].startswith("-m") else arguments.pop(0)
    if verb in ("-h", "--help", "help") or "--help" in arguments or "-h" in arguments:
        print(USAGE)
        return 0
    try:
        if verb not in VERBS:
            raise InputError(f"{verb}: there is no such verb; possible are {', '.join(VERBS)}")
        return importlib.import_module(f"marginbench.harness.commands.{verb}").main(arguments)
    except InputError as error:
        print(f"marginbench: {error}", file=sys.stderr)
        return 2
    except StoreError as error:
        print(f"marginbench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


VERBS = ("run", "report", "validate", "reproduce", "reference", "list", "doctor")
"""Each a module of `harness.commands`, imported only when it is asked for."""
