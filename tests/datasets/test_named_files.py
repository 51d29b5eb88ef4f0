"""Data sets that are files in a folder, by name: found whatever their ending, and named where they are missing."""

import lzma
from pathlib import Path

import numpy as np
import pytest
import yaml

from marginbench.datasets import files
from marginbench.harness.cli import main
from marginbench.harness.compose import Composer
from marginbench.harness.compose.cells import cells_of
from marginbench.harness.compose.grid import expand
from marginbench.harness.config_files import CONF

NAMED = {
    path.stem: config
    for path in sorted((CONF / "dataset").glob("*.yaml"))
    if (config := yaml.safe_load(path.read_text()))["_target_"].endswith("datasets.files.file") and path.stem != "file"
}


@pytest.mark.parametrize("name", NAMED)
def test_every_named_data_set_is_found_in_the_folder_that_data_names(name, tmp_path):
    assert list(NAMED[name]) == list(yaml.safe_load((CONF / "dataset" / "file.yaml").read_text()))
    file = tmp_path / f"{Path(NAMED[name]['path']).name}.libsvm.xz"
    file.write_bytes(lzma.compress(b"+1 1:1 2:3\n-1 1:2\n+1 2:5\n"))
    config = Composer("run").config([f"dataset={name}", f"data={tmp_path}"])
    (cell,) = cells_of(config)
    assert cell.dataset_name == name
    X, y = files.file(**{k: v for k, v in config["dataset"].items() if k != "_target_"})
    assert X.shape == (3, 2)
    assert y.tolist() == [1, -1, 1]


def test_a_missing_file_is_named_in_one_line_with_the_way_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_DATA", str(tmp_path / "nowhere"))
    assert main(["run", "dataset=a9a", f"out={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert f"dataset=a9a: its file is not in {tmp_path}/nowhere: `marginbench data fetch a9a" in said
    assert "data=DIR" in said


def test_a_file_is_found_without_its_ending_and_an_exact_name_comes_first(tmp_path):
    (tmp_path / "made.svm").write_text("1 1:1\n-1 1:2\n")
    (tmp_path / "made.csv").write_text("1,5\n-1,6\n1,7\n")
    (tmp_path / "plain").write_text("1 1:1\n-1 1:2\n1 1:3\n-1 1:4\n")
    assert files.file(str(tmp_path / "made"))[0].shape[0] == 2
    assert files.file(str(tmp_path / "made"), format="csv")[0].shape[0] == 3
    assert files.file(str(tmp_path / "plain"), format="libsvm")[0].shape[0] == 4
    (tmp_path / "plain.libsvm").write_text("1 1:1\n-1 1:2\n")
    assert files.file(str(tmp_path / "plain"), format="libsvm")[0].shape[0] == 4


def test_standard_scale_makes_a_file_dense_with_mean_0_and_variance_1(tmp_path):
    path = tmp_path / "made.svm"
    path.write_text("".join(f"{(-1) ** k} {k % 7 + 1}:{k} 9:3\n" for k in range(70)))
    X, _ = files.file(str(path), scale="standard")
    assert isinstance(X, np.ndarray)
    assert X.shape == (70, 9)
    assert X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert X.var(axis=0) == pytest.approx([1.0] * 7 + [0.0] * 2)
    for options in ({"scale": "max"}, {"scale": "standard", "layout": "csr"}):
        with pytest.raises(ValueError, match=r"dataset\.scale=.*possible are none, and standard"):
            files.file(str(path), **options)


@pytest.mark.parametrize("name", ["frontier", "frontier_short"])
def test_the_experiments_compose_and_name_only_what_exists(name):
    sweep = yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text())["hydra"]["sweeper"]["params"]
    composer, chosen = Composer("run"), {key: str(value).split(",") for key, value in sweep.items()}
    assert set(chosen["dataset"]) <= set(composer.names("dataset"))
    assert {"auto", "liblinear", "libsvm", "rehline"} <= set(chosen["method"]) <= set(composer.names("method"))
    assert chosen["problem.C"] == ["0.01", "1", "100"]
    assert chosen["problem.bias"] == ["none", "free"]
    narrowed = [f"{key}={values[0]}" for key, values in chosen.items() if key != "method"]
    cells = expand(composer, [f"experiment={name}", *narrowed]).configs()
    assert [c["choices"]["method"] for c in cells] == chosen["method"]
    assert all(c["budget"]["gap"] == 1e-9 for c in cells)
    if name == "frontier_short":
        assert not set(chosen["dataset"]) & set(NAMED)
