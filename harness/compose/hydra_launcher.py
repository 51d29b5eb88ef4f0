"""What users of Hydra type to run on several cores or on a cluster, in our words.

    hydra/launcher=submitit_slurm hydra.launcher.partition=x     launcher=slurm launcher.partition=x
    hydra/launcher=joblib hydra.launcher.n_jobs=4                launcher=local launcher.jobs=4

Hydra's launchers themselves are not used: they run one process per cell, and what they return is not what happened.
"""

import os
from collections.abc import Sequence

from marginbench.harness.compose.overrides import parse
from marginbench.harness.errors import InputError

GROUP, OPTION = "hydra/launcher", "hydra.launcher."

LAUNCHERS = {"basic": "local", "joblib": "local", "submitit_local": "local", "submitit_slurm": "slurm"}

OPTIONS = {
    "local": {"n_jobs": "jobs"},
    "slurm": {
        "partition": "partition",
        "account": "account",
        "timeout_min": "time",
        "array_parallelism": "at_once",
        "mem_gb": "options.mem",
        "mem_per_cpu": "options.mem_per_cpu",
        "cpus_per_task": "options.cpus_per_task",
        "qos": "options.qos",
        "constraint": "options.constraint",
        "gres": "options.gres",
        "exclude": "options.exclude",
        "comment": "options.comment",
        "additional_parameters": "options",
    },
}
"""Hydra's option -> ours, for each of our launchers."""


def translated(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """The overrides with Hydra's launcher as ours, and a line that says so."""
    chosen = [text for text in overrides if _key(text) == GROUP]
    options = [text for text in overrides if _key(text).startswith(OPTION)]
    if not chosen:
        if options:
            raise InputError(f"{options[0]}: goes with {GROUP}=NAME; possible are {', '.join(LAUNCHERS)}")
        return list(overrides), []
    theirs = str(parse(chosen[-1]).value())
    if theirs not in LAUNCHERS:
        known = "launcher=local, launcher=slurm and launcher=dask"
        raise InputError(f"{chosen[-1]}: possible are {', '.join(LAUNCHERS)}; ours are {known}")
    ours = LAUNCHERS[theirs]
    words = [f"launcher={ours}", *(_translated(text, theirs, ours) for text in options)]
    if theirs in ("joblib", "submitit_local") and not any(word.startswith("launcher.jobs=") for word in words):
        words.append(f"launcher.jobs={_all_cores()}")
    rest = [text for text in overrides if text not in chosen and text not in options]
    said = f"{' '.join([*chosen, *options])}: read as {' '.join(words)}, since marginbench runs the cells itself"
    return [*rest, *words], [said]


def _translated(text: str, theirs: str, ours: str) -> str:
    name = _key(text).removeprefix(OPTION)
    value = text.partition("=")[2]
    if name not in OPTIONS[ours]:
        known = ", ".join(OPTIONS[ours])
        raise InputError(f"{text}: has no counterpart in launcher={ours}; of {theirs}, possible are {known}")
    if name == "n_jobs" and value.lstrip("-").isdigit() and int(value) < 0:  # joblib counts from all cores
        value = str(max(1, _all_cores() + 1 + int(value)))
    if name == "mem_gb":
        value = f"{value}G"
    option = OPTIONS[ours][name]
    return f"{'+' if '.' in option else ''}launcher.{option}={value}"


def _key(text: str) -> str:
    return text.lstrip("+~").partition("=")[0]


def _all_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
