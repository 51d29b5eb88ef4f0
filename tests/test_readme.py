"""What the README and CONTRIBUTING tell a reader to type works."""

import csv
import re
from pathlib import Path

import pytest

from marginbench.harness.cli import VERBS, main
from marginbench.harness.compose import Composer
from marginbench.harness.compose.grid import expand

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^    marginbench ([^#\n]+)", TEXT, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_one(command):
    verb, *words = command.split()
    assert verb in VERBS
    if verb == "run":
        assert expand(Composer("run"), [word for word in words if "=" in word]).configs()


def test_every_experiment_named_is_there_and_composes():
    named = re.search(r"^Experiments: (.*)$", TEXT, re.MULTILINE)[1]
    composer = Composer("run")
    names = [name.strip("`") for name in re.findall(r"`\w+`", named)]
    assert sorted(names) == composer.names("experiment")
    for name in names:
        if name != "frontier":  # more than a thousand cells
            assert expand(composer, [f"experiment={name}"]).runs[0].cells


def test_the_solver_of_the_readme_runs(tmp_path):
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    (tmp_path / "mine_of_readme.py").write_text(code)  # a name that no other test has imported
    (tmp_path / "conf" / "solver").mkdir(parents=True)
    (tmp_path / "conf" / "solver" / "mine.yaml").write_text("_target_: mine_of_readme.Mine\nseed: ${seed}\n")
    options = ["dataset=text", "dataset.n=100", "solver=mine", "--config-dir", str(tmp_path / "conf")]
    assert main(["run", *options, f"out={tmp_path}/out"]) == 0
    with next((tmp_path / "out").glob("*/*/table.csv")).open() as file:
        (row,) = csv.DictReader(file)
    assert (row["solver"], row["status"]) == ("mine", "solved")


def test_the_picture_and_the_table_of_the_readme_are_there():
    for path in re.findall(r"results/readme/[\w.]+", TEXT):
        assert (ROOT / path).stat().st_size > 0
