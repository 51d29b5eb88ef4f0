"""`import marginbench`: light, complete, and true to its documentation."""

import doctest
import importlib
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

import marginbench as mb
from marginbench.harness.model.problem import InputError

ROOT = Path(__file__).resolve().parents[2]
MODULES = [path.stem for path in sorted((ROOT / "harness" / "interface").glob("[a-z]*.py"))]


def test_import_loads_nothing_until_a_name_is_used():
    code = """if True:
    import sys, marginbench
    assert not {"numpy", "sklearn", "pandas", "numba", "hydra"} & set(sys.modules)
    assert not [name for name in sys.modules if name.startswith("marginbench.")]
    marginbench.Solver
    assert "hydra" not in sys.modules and "sklearn" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_promised_name_is_there():
    promised = "Problem Certificate certify solve compare validate load Solver Iterate estimator __version__"
    assert set(promised.split()) <= set(mb.__all__) <= set(dir(mb))
    assert all(getattr(mb, name) is not None for name in mb.__all__)
    assert mb.__version__ == version("marginbench")
    with pytest.raises(AttributeError, match="has no attribute 'solvr'"):
        mb.solvr  # noqa: B018


def test_the_default_bias_is_written_in_one_place_and_said_in_all():
    default = yaml.safe_load((ROOT / "conf" / "run.yaml").read_text())["problem"]["bias"]
    for text in (mb.__doc__, mb.Problem.__doc__, mb.solve.__doc__, mb.estimator.__doc__):
        assert f"`{default}`" in text


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.long
def test_examples_of_docstrings(name):
    module = importlib.import_module(f"marginbench.harness.interface.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_public_function_has_an_example():
    for name in ("Problem", "certify", "solve", "compare", "validate", "load", "estimator"):
        assert ">>> import marginbench as mb" in getattr(mb, name).__doc__


def test_files_are_loaded_as_on_the_command_line(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sick,age,height\nyes,1,2.5\nno,3,4\nyes,5,6\n")
    with pytest.raises(InputError, match=r"which column holds the labels.*the columns are sick, age, height"):
        mb.load(path)
    X, y = mb.load(path, labels="sick")
    assert X.tolist() == [[1.0, 2.5], [3.0, 4.0], [5.0, 6.0]]
    assert y.tolist() == [1.0, -1.0, 1.0]
    assert mb.load(str(path), labels="sick", positive="no")[1].tolist() == [-1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nowhere", {}, "no such file, and no such data set; possible are .*breast_cancer"),
        ("overlapping", {"size": 3}, "there is no option 'size'; possible are .*n"),
    ],
)
def test_data_that_there_are_not(name, options, message):
    with pytest.raises(InputError, match=message):
        mb.load(name, **options)


def test_reference_problems_that_there_are_not():
    with pytest.raises(InputError, match="no reference problem on nowhere; possible are"):
        mb.validate("auto", datasets=["nowhere"])


def test_the_hydra_of_a_notebook_stays_as_it_was(tmp_path):
    """In a fresh interpreter's order: theirs first, then ours, then theirs goes on."""
    (tmp_path / "theirs.yaml").write_text("a: 1\n")
    with initialize_config_dir(str(tmp_path), version_base=None):
        before = GlobalHydra.instance().hydra
        from marginbench.harness.compose import Composer

        Composer("run").config(["method=pegasos"])
        mb.load("overlapping", n=20)
        assert GlobalHydra.instance().hydra is before
        assert compose("theirs").a == 1
    assert not GlobalHydra.instance().is_initialized()
