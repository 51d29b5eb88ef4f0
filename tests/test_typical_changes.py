"""CONTRIBUTING says that a typical change touches two files at most. Three such changes, made in a copy of the tree."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from clones import clone

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.search(r"## Ten typical changes\n(.*?)\n\n`", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy of what is installed. On the path before the installed one, it is `marginbench`."""
    return clone(tmp_path) / "marginbench"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} has no single place {old!r}"
    path.write_text(text.replace(old, new))


def run(tree: Path, *words: str, code: int = 0) -> str:
    environment = os.environ | {"PYTHONPATH": str(tree.parent), "MARGINBENCH_CACHE": str(tree.parent / "cache")}
    command = [sys.executable, "-m", "marginbench", *words]
    done = subprocess.run(command, cwd=tree.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def rows(tree: Path) -> list[dict[str, str]]:
    with next((tree.parent / "out").glob("*/*/table.csv")).open() as file:
        return list(csv.DictReader(file))


SMALL = ("dataset=separable", "dataset.n=40", "dataset.d=3", "problem.bias=none", "out=out")


def test_an_own_solver_is_one_file_and_its_yaml(tree):
    (tree / "solvers" / "halving.py").write_text(
        '''"""Halving: scaled steps along the mean of y_i x_i, for a test."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.programs import Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver


@dataclass(frozen=True)
class Halving(Solver):
    step: float = 1.0

    accepts = (RegularisedRisk,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        mean = program.X.T @ program.y / program.n
        for k in range(20):
            yield Iterate(self.step * 0.5**k * mean, claim="inaccurate" if k == 19 else "")
'''
    )
    yaml = "_target_: marginbench.solvers.halving.Halving\nstep: 1.0 # length of the first step\n"
    (tree / "conf" / "solver" / "halving.yaml").write_text(yaml)
    assert "halving" in run(tree, "list", "solver")
    assert "length of the first step" in run(tree, "list", "solver", "halving")
    run(tree, "run", "solver=halving", "formulation=regularised_sum", "solver.step=0.5", *SMALL)
    assert [(row["solver"], row["status"]) for row in rows(tree)] == [("halving", "inaccurate")]


def test_a_metric_of_the_certificate_is_a_field_and_a_column(tree):
    certificate = tree / "harness" / "cell" / "certificate.py"
    edit(certificate, "    train_accuracy: float = 0.0\n", "    train_accuracy: float = 0.0\n    length: float = 0.0\n")
    edit(
        certificate,
        "        mistakes=mistakes,\n",
        "        mistakes=mistakes,\n        length=float(np.sqrt(w @ w)),\n",
    )
    record = tree / "harness" / "records" / "record.py"
    edit(record, "    sv_margin: int", "    length: float | None = None\n    sv_margin: int")
    run(tree, "run", "method=auto", *SMALL)
    (row,) = rows(tree)
    assert float(row["primal"]) >= 0.5 * float(row["length"]) ** 2 > 0.0


def test_a_contract_is_a_function_and_its_row(tree):
    contracts = tree / "harness" / "validation" / "contracts.py"
    edit(
        contracts,
        "CONTRACTS: dict[str, Contract] = {\n",
        """def has_a_name(bed: Testbed) -> str:
    return f"it is called {type(bed.solver()).__name__}"


CONTRACTS: dict[str, Contract] = {
    "has a name": has_a_name,
""",
    )
    words = ("solver=clarabel", "formulation=hard_primal_qp", "budget.seconds=1")  # nothing to compile
    assert re.search(r"pass +has a name +it is called ClarabelQp", run(tree, "validate", *words))


def test_the_table_of_changes_names_files_that_are_there():
    assert TABLE is not None
    lines = [line for line in TABLE[1].splitlines() if line.startswith("| ") and "`" in line]
    assert len(lines) == 10
    for line in lines:
        paths = re.findall(r"`((?:harness|solvers|datasets|conf)/[\w/.]+)`", line)
        assert 1 <= len(paths) <= 2, line
        for path in paths:
            place = ROOT / path
            assert place.exists() or (place.parent.is_dir() and place.stem == "NAME"), path
