"""The architecture, held by tests: imports go one way, every configuration can be made, one algorithm is one file."""

import ast
import hashlib
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numba
import pytest
import yaml

from marginbench.harness import kernel_sources
from marginbench.harness.commands.pairs import target

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
CONFIGS = sorted((CONF / "solver").glob("*.yaml")) + sorted((CONF / "formulation").glob("*.yaml"))

KEPT = ("cache", "check", "digest", "eviction", "mapped", "preprocessing", "samples")
TOOLS = tuple(f"datasets.{name}" for name in KEPT)
"""What the harness may know of data: how they are taken over, checked, prepared, named and kept; no data set."""

SHELF = ("datasets.catalogue", "datasets.acquisition", "datasets.checksums", "datasets.download")
"""What commands may know beside: which data sets are published, and how their files are fetched."""

ROOMS = {
    "harness/rowops": ("harness.pages",),
    "harness/model": ("harness.matrices", "harness.rowops"),
    "harness/formulations": ("harness.model",),
    "harness/records": ("harness.model", "harness.files"),
    "harness/cell": (
        *("harness.model", "harness.records", "harness.old_names", "harness.printable", "harness.requirements"),
        *("harness.matrices", "harness.pages"),
    ),
    "harness/references": ("harness.model", "harness.cell", "harness.data_parts", "harness.files", *TOOLS),
    "harness/reporting": (
        *("harness.model", "harness.records", "harness.files", "harness.old_names", "harness.printable"),
    ),
    "harness/running": (
        *("harness.model", "harness.rowops", "harness.records", "harness.cell", "harness.references"),
        *("harness.files", "harness.matrices", "harness.old_names", "harness.printable", "harness.rehearsal"),
        *("harness.data_parts", *TOOLS),
    ),
    "harness/compose": ("harness.cell", "harness.config_files", "harness.rehearsal", "harness.solver_spec"),
    "harness/commands": ("harness", *TOOLS, *SHELF),
    "harness/interface": ("harness", *TOOLS),
    "harness/validation": (
        *("harness.model", "harness.records", "harness.cell", "harness.references", "harness.running", *TOOLS),
    ),
    "harness/published": (
        *("harness.model", "harness.records", "harness.cell", "harness.references", "harness.running"),
        *("harness.compose", "harness.rehearsal", *TOOLS),
    ),
    "solvers": ("harness.model", "harness.rowops"),
    "datasets": ("harness.files", "harness.matrices", "harness.pages", "harness.places"),
}
"""For each room, what it may import of this project beside itself."""

SHORT = {"solvers/auto.py": ("solvers.choice", "solvers.coordinate_descent", "solvers.newton")}
"""A choice between two solvers is the one file that may name another one."""


def imports(path: Path) -> set[str]:
    """Modules of this project imported anywhere in a file, inside functions too, without the package's name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def ours(names: set[str]) -> set[str]:
    """Without the bare packages, which `from marginbench.datasets import cache` names beside the module."""
    packages = {"harness", "datasets", "solvers"}
    found = {name.removeprefix("marginbench.") for name in names if name.startswith("marginbench.")}
    return found - packages - {".".join(path.split("/")) for path in ROOMS}


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def modules(room: str) -> list[Path]:
    found = sorted((ROOT / room).rglob("*.py"))
    assert found, f"{room} is gone: this test guards nothing"
    return found


@pytest.mark.parametrize(
    ("room", "path"), [(room, path) for room in ROOMS for path in modules(room)], ids=lambda p: getattr(p, "name", p)
)
def test_imports_go_one_way(room, path):
    own = room.replace("/", ".")
    if room == "solvers":
        family = path.relative_to(ROOT / "solvers").parts[0]
        own = f"solvers.{family}" if not family.endswith(".py") else f"solvers.{path.stem}"
    allowed = (own, "harness.errors", *ROOMS[room], "harness.errors", *SHORT.get(str(path.relative_to(ROOT)), ()))
    assert not {name for name in ours(imports(path)) if not within(name, allowed)}


@pytest.mark.parametrize("path", modules("solvers"), ids=lambda p: p.name)
def test_solvers_take_row_operations_from_their_one_public_module(path):
    assert not {name for name in ours(imports(path)) if within(name, ("harness.rowops.rows", "harness.rowops.passes"))}


def test_every_room_is_guarded():
    rooms = {f"harness/{path.parent.name}" for path in (ROOT / "harness").glob("*/__init__.py")}
    assert rooms == {room for room in ROOMS if room.startswith("harness/")}


@pytest.mark.parametrize(
    "path", [p for top in ("harness", "solvers", "datasets") for p in modules(top)], ids=lambda p: p.name
)
def test_only_compose_knows_hydra(path):
    known = {name for name in imports(path) if within(name, ("hydra", "omegaconf"))}
    assert not known or path.parent == ROOT / "harness" / "compose"
    assert not {name for name in known if "_internal" in name}


@pytest.mark.parametrize("path", modules("harness"), ids=lambda p: p.name)
def test_the_harness_knows_no_solver_and_no_data_set_by_name(path):
    found = ours(imports(path))
    assert not {name for name in found if within(name, ("solvers",))}
    assert not {name for name in found if within(name, ("datasets",)) and not within(name, (*TOOLS, *SHELF))}


def test_a_report_loads_no_solver_no_compiler_and_no_isolation():
    """As a reader of a folder would: the modules are imported, and what came with them is looked at."""
    foreign = ("marginbench.solvers", "marginbench.harness.running", "marginbench.harness.validation", "hydra", "numba")
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules("harness/reporting")]
    code = "import importlib, sys\n"
    code += "import marginbench.harness.commands.report\n"
    code += f"for name in {names!r}: importlib.import_module('marginbench.' + name.removesuffix('.__init__'))\n"
    code += f"print(*[m for m in sys.modules if m.startswith({foreign!r})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_no_module_is_imported_under_two_names():
    assert not {"harness", "solvers", "datasets", "conf"} & {name.partition(".")[0] for name in sys.modules}


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
    methods = list((CONF / "method").glob("*.yaml"))
    assert methods
    for path in methods:
        choices = {k: v for entry in yaml.safe_load(path.read_text())["defaults"] for k, v in entry.items()}
        assert (CONF / "formulation" / f"{choices['override /formulation']}.yaml").exists(), path
        assert (CONF / "solver" / f"{choices['override /solver']}.yaml").exists(), path


def test_the_methods_that_scripts_rely_on_are_there():
    promised = """perceptron margin_perceptron hard_primal_qp hard_dual_qp primal_qp dual_qp tikhonov pegasos
        coordinate_descent newton_smoothed_hinge"""
    assert {path.stem for path in (CONF / "method").glob("*.yaml")} >= set(promised.split())


def test_files_stay_short_enough_to_hold_one_idea():
    paths = [p for top in ("harness", "solvers", "datasets", "tests") for p in modules(top)]
    assert not {str(p.relative_to(ROOT)): n for p in paths if (n := len(p.read_text().splitlines())) > 350}


def test_compiled_kernels_are_kept_apart_for_each_state_of_their_sources():
    """A kernel of an older harness must neither run nor fail to load."""
    sources = kernel_sources()
    assert {path.name for path in sources} >= {"rows.py", "passes.py", "sweeps.py", "systems.py"}
    sha = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    assert Path(numba.config.CACHE_DIR).name == f"kernels-{sha.hexdigest()[:12]}"
