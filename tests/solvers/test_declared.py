"""What solvers declare for reports and validation, so that the harness need not know their names."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from problems import random_problem

from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.commands.pairs import target
from marginbench.harness.formulations.pegasos import Pegasos as PegasosObjective
from marginbench.harness.formulations.regularised_sum import RegularisedSum
from marginbench.harness.formulations.tikhonov import Tikhonov
from marginbench.harness.model.programs import RegularisedRisk
from marginbench.solvers.pegasos import Pegasos

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "conf" / "solver").glob("*.yaml"))
SOLVERS = {path.stem: target(yaml.safe_load(path.read_text())) for path in CONFIGS}


def literals(path: Path) -> set[str]:
    """Strings of a module that are nothing but a word; quoted words of a template or script."""
    text = path.read_text()
    if path.suffix == ".py":
        return {node.value for node in ast.walk(ast.parse(text)) if isinstance(getattr(node, "value", None), str)}
    return set(re.findall(r"""["'](\w+)["']""", text))


INTERFACE = ROOT / "harness" / "interface"
"""Its functions have a default method, which a reader of a signature should see by name."""

FILES = [
    path
    for kind in ("py", "j2", "js")
    for path in sorted((ROOT / "harness").rglob(f"*.{kind}"))
    if INTERFACE not in path.parents
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_harness_names_no_solver(path):
    assert not literals(path) & set(SOLVERS)


def test_a_name_would_be_found(tmp_path):
    (tmp_path / "a.py").write_text('chosen = r.solver == "auto"')
    (tmp_path / "a.js").write_text("if (name === 'osqp') x();")
    assert "auto" in literals(tmp_path / "a.py") & set(SOLVERS)
    assert "osqp" in literals(tmp_path / "a.js") & set(SOLVERS)
    assert {"charts.js", "report.html.j2"} <= {path.name for path in FILES}


def test_there_is_one_base_line_and_a_memory_field_is_a_field():
    assert [name for name, solver in SOLVERS.items() if solver.baseline] == ["auto"]
    kept = {name: solver.memory_field for name, solver in SOLVERS.items() if solver.memory_field}
    assert kept
    for name, field in kept.items():
        assert field in {f.name for f in fields(SOLVERS[name])}


@pytest.mark.parametrize("formulation", [PegasosObjective, RegularisedSum, Tikhonov])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_the_bound_of_pegasos_is_the_papers_in_canonical_units(formulation, layout):
    """n C G^2 (1 + ln T) / (2 lam T), lam = 1 / (C n), G = max ||x_i|| + sqrt(lam), however the objective is scaled."""
    problem = random_problem(0).with_(C=0.5, bias="none")
    problem = problem.with_(X=layout(problem.X))
    program = formulation().program(problem, RegularisedRisk)
    lam, T = 1.0 / (0.5 * problem.n), 1000
    G = np.linalg.norm(np.asarray(random_problem(0).X), axis=1).max() + np.sqrt(lam)
    bound = Pegasos(project=True, average="uniform").bound(program)
    assert bound({"steps": T}) == pytest.approx(G**2 * (1.0 + np.log(T)) / (2.0 * lam**2 * T))
    assert Pegasos(project=False, average="uniform").bound(program) is None
    assert Pegasos(project=True, average="linear").bound(program) is None


def test_a_record_carries_what_its_solver_declares():
    problem = random_problem(0)
    formulation = {"_target_": "marginbench.harness.formulations.pegasos.Pegasos"}
    solver = {"_target_": "marginbench.solvers.pegasos.Pegasos", "project": True, "average": "uniform"}
    asked = {"C": 1.0, "bias": "none"}
    cell = Cell({}, asked, formulation, solver, "", "", "", budget={"iterations": 30, "gap": 1e-12})
    record = run_cell(cell, problem.X, problem.y, "").record
    assert record.info["lesson"] == list(PegasosObjective.lesson)
    assert record.info.items() >= {"baseline": False, "peer": False, "restarts": False, "judge": "optimum"}.items()
    bounds = [entry["bound"] for entry in record.curve]
    assert bounds == sorted(bounds, reverse=True)
    best = min(entry["primal"] for entry in record.curve)
    assert all(entry["primal"] - best <= entry["bound"] for entry in record.curve)
