"""marginbench bundle RUN: one file with everything that is needed to read a run and to run it again."""

from collections.abc import Sequence
from pathlib import Path

from marginbench.datasets import cache
from marginbench.harness.commands.options import split_flags
from marginbench.harness.errors import InputError
from marginbench.harness.running.bundle import bundle


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, {"--out": "FILE.zip", "--include-data": ""})
    if len(words) != 1:
        raise InputError("bundle: which run? Give one folder, as in results/comparison/2026-01-31_12-00-00")
    run = Path(words[0]).resolve()
    if not (run / "cells").is_dir():
        raise InputError(f"{words[0]}: no results there (a results folder has a folder `cells`)")
    name = f"{run.parent.name}-{run.name}"
    out = Path(flags.get("--out", f"{name}.zip"))
    if out.suffix != ".zip":
        raise InputError(f"--out {out}: a bundle ends in .zip")
    if out.exists():
        raise InputError(f"{out}: is there already; give another name by --out FILE.zip")
    if run in out.resolve().parents:
        raise InputError(f"--out {out}: lies in the folder to be bundled")
    print(f"bundle: {bundle(run, out, name, cache.folder() / 'data', '--include-data' in flags)}")
    return 0
