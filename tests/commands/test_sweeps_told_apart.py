"""Sweeps as a user types them: every problem and every setting has rows, labels and files of its own."""

import csv
import re
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.reporting.figures import MOST_PROBLEMS

ROWS = "y,a,b\n1,1,2\n-1,2,1\n1,{},1\n-1,3,1\n"

SWEEPS = {
    "dataset.positive": ["dataset=digits", "dataset.positive=0,1,2"],
    "problem.weight": ["dataset=rare", "dataset.n=100", "problem.weight=balanced,null"],
    "dataset.path": ["dataset=file", "method=sdca", "dataset.path=a/x.csv,b/x.csv"],
    "solver.batch": ["dataset=overlapping", "dataset.n=40", "method=pegasos", "solver.batch=4,8"],
    "problem.gamma": ["dataset=overlapping", "dataset.n=40", "problem.kernel=gaussian", "problem.gamma=0.1,1"],
    "budget.gap": ["dataset=overlapping", "dataset.n=40", "budget.gap=1e-2,1e-9"],
}

TITLE = r'<details class="card" id="problem-[^>]*>\s*<summary><b>(.*?)</b>'
"""Of a problem, on the page."""


@pytest.fixture(params=SWEEPS)
def sweep(request, tmp_path, monkeypatch, capsys) -> tuple[str, Path, str]:
    """(path of what is varied, folder of the run, what the terminal showed)"""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text(ROWS.format(0 if name == "a" else 5))
    assert main(["run", *SWEEPS[request.param], "budget.seconds=0.1", "out=out", "name=it"]) == 0
    return request.param, tmp_path / "out" / "run" / "it", capsys.readouterr().out


def test_every_value_has_its_row_in_every_table_and_its_label_on_the_terminal_and_in_the_report(sweep):
    path, folder, shown = sweep
    count = SWEEPS[path][-1].count(",") + 1
    with (folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len({row[path] for row in rows}) == len(rows) == count
    assert all(row["method"] and row["problem"] and row["budget.gap"] and row["budget.seconds"] for row in rows)
    lines = (folder / "table.md").read_text().splitlines()
    place = [cell.strip() for cell in lines[0].split("|")].index(path)
    assert len({line.split("|")[place] for line in lines[2:]}) == count
    assert path in (folder / "table.tex").read_text().replace("\\", "")
    table = shown.partition("\nTo 1e-")[0]  # before the answer in words
    assert not re.search(r"(solved|inaccurate) x\d", table)
    assert len(re.findall(r"(solved|inaccurate) ", table)) == count
    page = (folder / "report.html").read_text()
    assert re.search(rf"<th[^>]*>{re.escape(path)}</th>", page)
    titles = re.findall(TITLE, page)
    assert len(set(titles)) == len(titles) == len({row["problem"] for row in rows})
    drawn = [file for file in (folder / "figures").glob("*.svg") if "bias" in file.name]
    assert len(drawn) == len(titles)


def test_the_eighteen_problems_of_novikoff_are_eighteen(tmp_path, capsys):
    small = ["dataset.n=20", "dataset.d=3", "method=perceptron", "budget.seconds=0.2", "table=full"]
    assert main(["run", "experiment=novikoff", *small, f"out={tmp_path}", "name=it"]) == 0
    shown = capsys.readouterr().out
    blocks = [line for line in shown.splitlines() if line.startswith("separable: ")]
    assert len(set(blocks)) == len(blocks) == 18
    assert "margin=0.05 seed=2" in shown
    folder = tmp_path / "novikoff" / "it"
    titles = re.findall(TITLE, (folder / "report.html").read_text())
    assert len(set(titles)) == len(titles) == 18
    assert len(list((folder / "figures").glob("separable-*.svg"))) == MOST_PROBLEMS
