"""What users of Hydra type about launchers is read as ours, and said."""

import os

import pytest

from marginbench.harness.compose import Composer
from marginbench.harness.compose.grid import expand
from marginbench.harness.compose.hydra_launcher import translated
from marginbench.harness.errors import InputError

CORES = len(os.sched_getaffinity(0))
SLURM = "marginbench.harness.running.launchers.slurm.Slurm"

SAME = [
    (["hydra/launcher=basic"], ["launcher=local"]),
    (["hydra/launcher=joblib", "hydra.launcher.n_jobs=4"], ["launcher=local", "launcher.jobs=4"]),
    (["hydra/launcher=joblib", "hydra.launcher.n_jobs=-1"], ["launcher=local", f"launcher.jobs={CORES}"]),
    (["hydra/launcher=joblib"], ["launcher=local", f"launcher.jobs={CORES}"]),
    (["hydra/launcher=submitit_local"], ["launcher=local", f"launcher.jobs={CORES}"]),
    (
        ["hydra/launcher=submitit_slurm", "hydra.launcher.partition=x", "hydra.launcher.timeout_min=30"],
        ["launcher=slurm", "launcher.partition=x", "launcher.time=30"],
    ),
    (["hydra.launcher.mem_gb=4", "hydra/launcher=submitit_slurm"], ["launcher=slurm", "+launcher.options.mem=4G"]),
]


@pytest.mark.parametrize(("given", "ours"), SAME, ids=[" ".join(given) for given, _ in SAME])
def test_it_is_read_as_ours_and_one_line_says_so(given, ours):
    words, said = translated(["problem.C=1,2", *given])
    assert words == ["problem.C=1,2", *ours]
    assert len(said) == 1
    assert all(word in said[0] for word in (*given, *ours))


def test_a_composed_run_has_the_options_of_sbatch():
    more = "hydra.launcher.additional_parameters={gpus: 1}"
    given = ["hydra/launcher=submitit_slurm", more, "hydra.launcher.qos=long"]
    grid = expand(Composer("run"), given)
    assert grid.configs()[0]["launcher"]["_target_"] == SLURM
    assert grid.configs()[0]["launcher"]["options"] == {"qos": "long", "gpus": 1}
    assert "read as launcher=slurm" in grid.notes[0]


BAD = [
    (["hydra/launcher=ray"], "possible are basic, joblib"),
    (["hydra.launcher.n_jobs=2"], "goes with hydra/launcher=NAME"),
    (["hydra/launcher=submitit_slurm", "hydra.launcher.stderr_to_stdout=true"], "has no counterpart"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[" ".join(given) for given, _ in BAD])
def test_what_has_no_counterpart_is_refused_by_name(given, said):
    with pytest.raises(InputError, match=said):
        translated(given)


def test_without_hydras_launcher_nothing_changes():
    assert translated(["problem.C=1", "launcher.jobs=2"]) == (["problem.C=1", "launcher.jobs=2"], [])
