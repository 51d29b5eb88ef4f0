"""What a user installs: a wheel with one import name, which minds nobody else's folders and packages."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOREIGN = "def load_dataset(name):\n    return f'loaded {name}'\n"


def packages_of_the_tree() -> set[str]:
    found = {"marginbench"}
    for top in ("harness", "solvers", "datasets"):
        for path in (ROOT / top).rglob("__init__.py"):
            found.add(".".join(["marginbench", *path.parent.relative_to(ROOT).parts]))
    return found


def test_every_package_of_the_tree_is_installed():
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages_of_the_tree()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from the files that git knows, as a release is."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tree" / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(folder / "tree")], check=True)
    (found,) = folder.glob("*.whl")
    return found


def test_a_wheel_holds_one_package_with_all_its_data(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"marginbench"}
    assert not [name for name in names if name.startswith("marginbench/tests/")]
    for folder, kind in (("conf", "yaml"), ("results/reference", "json"), ("results/reference", "npz")):
        shipped = {name for name in names if name.startswith(f"marginbench/{folder}/") and name.endswith(kind)}
        there = {f"marginbench/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob(f"*.{kind}")}
        assert shipped == there
        assert there
    assert {
        "marginbench/py.typed",
        "marginbench/harness/reporting/assets/report.html.j2",
        "marginbench/datasets/catalogue.csv",
    } <= set(names)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel, the pinned dependencies and a package of somebody else's called datasets."""
    folder = tmp_path_factory.mktemp("environment")
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    command = [uv, "pip", "install", "--quiet", "--python", python, "--constraint", ROOT / "requirements.txt", wheel]
    if subprocess.run([*command, "--offline"], capture_output=True, check=False).returncode:
        subprocess.run(command, check=True)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    foreign = Path(site.stdout.strip()) / "datasets"
    foreign.mkdir()
    (foreign / "__init__.py").write_text(FOREIGN)
    return python


@pytest.fixture
def place(tmp_path) -> Path:
    """A user's folder, with folders of the names that ours have too."""
    for name in ("conf", "datasets", "solvers", "harness"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('this folder is the user\\'s own')\n")
    return tmp_path


def run(python: Path, place: Path, *words: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MARGINBENCH"))}
    environment = {name: value for name, value in environment.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"MARGINBENCH_CACHE": str(python.parents[2] / "cache")}
    return subprocess.run(words, cwd=place, capture_output=True, text=True, env=environment, check=False)


def marginbench(python: Path, place: Path, *words: str) -> str:
    done = run(python, place, str(python.parent / "marginbench"), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_verbs_work_from_a_wheel_beside_folders_of_the_same_names(installed, place):
    assert PROJECT["project"]["version"] in marginbench(installed, place, "--version")
    out = marginbench(installed, place, "run", "dataset=separable", "method=auto", "budget.gap=1e-6")
    assert "1 cell: 1 solved" in out
    folder = Path(out.strip().splitlines()[-1].removeprefix("report: ")).parent
    assert (place / folder / "report.html").exists()
    marginbench(installed, place, "report", str(folder))
    marginbench(installed, place, "list")
    said = marginbench(installed, place, "reproduce", str(folder))
    assert "verdicts: 1 of 1 hold\nvalues: 1 of 1 hold" in said


def test_every_bundled_reference_is_proven_from_a_wheel(installed, place):
    last = marginbench(installed, place, "reference", "--check").strip().splitlines()[-1]
    proven, _, rest = last.partition(" of ")
    assert int(proven) == int(rest.split()[0]) >= 93


def test_a_solver_is_validated_from_a_wheel(installed, place):
    out = marginbench(installed, place, "validate", "solver=newton_augmented", "budget.seconds=1")
    assert out.strip().splitlines()[-1].startswith("pass: newton_augmented")


def test_other_packages_are_left_alone(installed, place):
    code = "import marginbench, sys; print(marginbench.__version__, sorted({'conf', 'harness'} & set(sys.modules)))"
    empty = place / "empty"
    empty.mkdir()
    done = run(installed, empty, str(installed), "-c", code)
    assert done.stdout.strip() == f"{PROJECT['project']['version']} []", done.stderr
    done = run(
        installed, empty, str(installed), "-c", "import marginbench, datasets; print(datasets.load_dataset('x'))"
    )
    assert done.stdout.strip() == "loaded x", done.stderr
