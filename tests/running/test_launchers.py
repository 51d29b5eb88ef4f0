"""What launchers refuse, and what they tell before anything runs."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import InputError
from marginbench.harness.records.machine import memory
from marginbench.harness.running import cores
from marginbench.harness.running.launchers.dask import Dask
from marginbench.harness.running.launchers.local import Local
from marginbench.harness.running.launchers.slurm import Slurm
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.planning import Planned

BAD = [
    (Local, {"jobs": 0}, "launcher.jobs=0"),
    (Local, {"jobs": True}, "launcher.jobs=True"),
    (Local, {"exclusive": "maybe"}, "launcher.exclusive=maybe"),
    (Dask, {"address": 5}, "launcher.address=5"),
    (Dask, {"jobs": 1.5}, "launcher.jobs=1.5"),
    (Dask, {"chunks": 0}, "launcher.chunks=0"),
    (Slurm, {"setup": [1]}, r"launcher.setup=\[1\]"),
    (Slurm, {"time": True}, "launcher.time=True"),
    (Slurm, {"options": "qos"}, "launcher.options=qos"),
    (Slurm, {"wait": 1}, "launcher.wait=1"),
    (Slurm, {"at_once": 0}, "launcher.at_once=0"),
]


@pytest.mark.parametrize(("launcher", "options", "said"), BAD, ids=[said for _, _, said in BAD])
def test_an_option_that_cannot_be_is_named(launcher, options, said):
    with pytest.raises(InputError, match=said) as error:
        launcher(**options)
    assert "\n" not in str(error.value)


@pytest.fixture(autouse=True)
def claims_of_their_own(monkeypatch):
    """Other harnesses of this machine come and go."""
    monkeypatch.setattr(cores, "NAME", f"test-core-{os.getpid()}")


@pytest.fixture
def planned(tmp_path):
    """Cells of as many problems as asked for, on one data set, with so much memory each."""
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "X.npy", np.zeros(2**17))  # 1 MB

    def made(problems: int, memory_mb: float = 1.0, threads: int = 1) -> list[Planned]:
        limits = {"seconds": 1.0, "memory_mb": memory_mb}
        cell = Cell({}, {}, {}, {}, "", "", "", limits=limits, threads=threads)
        return [Planned(cell, Data(tmp_path / "data", "d" * 64), f"p{k}", f"k{k}", f"k{k}") for k in range(problems)]

    return made


@pytest.mark.parametrize("launcher", [Local, Dask])
def test_jobs_fit_into_memory_with_their_data_or_are_refused(launcher, planned):
    there = memory()["memory_mb"]
    launcher(jobs=2).check(planned(2, there / 2 - 2.0))
    with pytest.raises(InputError, match=r"launcher.jobs=2: needs 2 x \(.* \+ 1 MB of data\)") as error:
        launcher(jobs=2).check(planned(2, there / 2))  # the data are what is too much
    assert "at most 1 jobs" in str(error.value)


def test_that_no_core_is_free_is_said(planned):
    count = len(cores.usable())
    assert Local(jobs=count).check(planned(count)) == []
    with cores.claim(count):
        (said,) = Local(jobs=count).check(planned(count))
    assert said == f"launcher.jobs={count}: 0 of {count} cores are free here; the others are shared"


def test_more_jobs_than_problems_are_said(planned):
    (said,) = Local(jobs=2).check(planned(1))
    assert said.startswith("launcher.jobs=2: 1 at a time")


def test_a_missing_package_is_one_line_with_the_command_that_installs_it(planned, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'marginbench\[dask\]'"):
        Dask().check(planned(1))
    extras = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '\ndask = ["distributed' in extras


def test_away_from_a_cluster_slurm_is_one_line(planned, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="sbatch is not on the PATH"):
        Slurm().check(planned(1))


def test_slurm_without_a_controller_is_one_line_of_ours(planned, tmp_path, monkeypatch):
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        (tmp_path / name).write_text(
            "#!/bin/sh\necho 'slurm_load_ctl_conf error: Unable to contact controller' >&2\nexit 1\n"
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InputError, match=r"^launcher=slurm: no controller answers \(scontrol ping\)[^\n]*$"):
        Slurm().check(planned(1))
