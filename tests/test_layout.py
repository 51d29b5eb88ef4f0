"""The architecture, held by tests: imports go one way, every configuration can be made, one algorithm is one file."""

import ast
import hashlib
from dataclasses import fields
from pathlib import Path

import numba
import pytest
import yaml

from harness.listing import target

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
CONFIGS = sorted((CONF / "solver").glob("*.yaml")) + sorted((CONF / "formulation").glob("*.yaml"))


def imports(path: Path) -> set[str]:
    """Modules imported anywhere in a file, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def of(modules: set[str], package: str) -> set[str]:
    return {name for name in modules if name == package or name.startswith(f"{package}.")}


@pytest.mark.parametrize("path", sorted((ROOT / "harness").rglob("*.py")), ids=lambda p: p.name)
def test_the_harness_knows_no_solver_and_no_data_set_by_name(path):
    found = imports(path)
    assert not of(found, "solvers")
    tools = {"datasets.check", "datasets.digest", "datasets.cache"}
    assert not {name for name in of(found, "datasets") if not any(name.startswith(tool) for tool in tools)} - {
        "datasets"
    }
    if path.name != "compose.py":
        assert not of(found, "hydra")
        assert not of(found, "omegaconf")


@pytest.mark.parametrize("path", sorted((ROOT / "solvers").glob("[!_]*.py")), ids=lambda p: p.name)
def test_a_solver_knows_programs_and_the_protocol_only(path):
    found = imports(path)
    allowed = ("harness.problem", "harness.programs", "harness.solver", "harness.kernels")
    assert not {name for name in of(found, "harness") if not name.startswith(allowed)}
    assert not of(found, "datasets")
    assert not of(found, "hydra")
    assert not of(found, "omegaconf")
    if path.name != "auto.py":  # a choice between two solvers
        assert not of(found, "solvers")


@pytest.mark.parametrize("path", sorted((ROOT / "datasets").glob("[!_]*.py")), ids=lambda p: p.name)
def test_data_sets_know_nothing_of_the_rest(path):
    found = imports(path)
    assert not of(found, "harness")
    assert not of(found, "solvers")
    assert not of(found, "hydra")


@pytest.mark.parametrize(
    "module", ["tables", "figures", "report", "record", "store", "comparison", "statistics", "series"]
)
def test_a_report_needs_no_solver_and_no_configuration(module):
    """Directly or through other modules of the harness."""
    seen, queue = set(), [f"harness.{module}"]
    while queue:
        name = queue.pop()
        path = ROOT / Path(*name.split(".")).with_suffix(".py")
        if name in seen or not path.exists():
            continue
        seen.add(name)
        found = imports(path)
        assert not of(found, "hydra")
        assert not of(found, "cvxpy")
        queue += of(found, "harness")
    assert not seen & {"harness.cell", "harness.compose", "harness.isolation.isolate", "harness.sweep"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_configuration_names_all_fields_of_what_it_makes(path):
    """So that each can be set from the command line, and none that does not exist."""
    config = yaml.safe_load(path.read_text())
    made = target(config)
    assert set(config) - {"_target_"} == {field.name for field in fields(made)}
    assert next(iter(config)) == "_target_"
    numbers = {k: v for k, v in config.items() if k != "_target_" and not str(v).startswith("${")}
    made(**numbers)


def test_every_method_names_a_formulation_and_a_solver_that_exist():
    for path in (CONF / "method").glob("*.yaml"):
        choices = {k: v for entry in yaml.safe_load(path.read_text())["defaults"] for k, v in entry.items()}
        assert (CONF / "formulation" / f"{choices['override /formulation']}.yaml").exists(), path
        assert (CONF / "solver" / f"{choices['override /solver']}.yaml").exists(), path


def test_the_methods_that_scripts_rely_on_are_there():
    promised = """perceptron margin_perceptron hard_primal_qp hard_dual_qp primal_qp dual_qp tikhonov pegasos
        coordinate_descent newton_smoothed_hinge"""
    assert {path.stem for path in (CONF / "method").glob("*.yaml")} >= set(promised.split())


def test_files_stay_short_enough_to_hold_one_idea():
    long = {p.name: n for p in ROOT.glob("[hsd]*/**/*.py") if (n := len(p.read_text().splitlines())) > 350}
    assert not long


def test_compiled_kernels_are_kept_apart_for_each_state_of_their_sources():
    """A kernel of an older harness must neither run nor fail to load."""
    place = Path(numba.config.CACHE_DIR)
    sha = hashlib.sha256()
    for path in sorted((ROOT / "harness" / "kernels").glob("*.py")):
        sha.update(path.read_bytes())
    assert place.name == f"kernels-{sha.hexdigest()[:12]}"
