"""compare: the same cells, isolation, columns and report as on the command line."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import marginbench as mb
from marginbench.datasets.digest import digest
from marginbench.harness.cli import main
from marginbench.harness.interface.data import stored
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.record import COLUMNS

X, y = mb.load("overlapping", n=60)
NAMES = np.where(y > 0, "yes & more", "no")


@pytest.fixture(scope="module")
def found():
    methods = ["auto", ("regularised_sum", "pegasos"), "libsvm"]
    return mb.compare(X, NAMES, methods, C=[0.1, 1.0], bias=["none"], budget={"iterations": 50, "seconds": 2.0})


def test_every_cell_is_a_row_with_the_columns_of_the_table(found):
    assert list(found.frame.columns)[: len(COLUMNS)] == COLUMNS
    assert "problem.C" in found.frame  # it was varied
    rows = set(zip(found.frame["C"], found.frame["solver"], found.frame["status"], strict=True))
    assert rows >= {(C, s, t) for C in (0.1, 1.0) for s, t in (("auto", "solved"), ("libsvm", "skipped"))}
    assert len(found.frame) == 6
    assert set(found.frame["bias"]) == {"none"}
    primal = found.frame[found.frame["solver"] == "pegasos"]
    assert (primal["gap"] > 0.0).all()
    assert (primal["dual_source"] == "reference").all()


def test_the_command_line_finds_the_same_optimum(found, tmp_path, capsys):
    arguments = ["run", "method=auto", "dataset=overlapping", "dataset.n=60", "problem.C=1", "problem.bias=none"]
    assert main([*arguments, f"out={tmp_path}"]) == 0
    capsys.readouterr()
    table = pd.read_csv(next(tmp_path.rglob("table.csv")))
    ours = found.frame[(found.frame["solver"] == "auto") & (found.frame["C"] == 1.0)].iloc[0]
    assert table["primal"].iloc[0] == ours["primal"]


def test_figures_and_report(found, tmp_path):
    assert found.figures
    assert all(isinstance(figure, Figure) for figure in found.figures.values())
    assert found.figures._repr_html_().count("<svg") == len(found.figures)
    page = found.report(tmp_path / "mine.html")
    assert "pegasos" in page.read_text()
    assert found.report().parent == found.folder
    assert (found.folder / "table.csv").exists()
    with pytest.raises(InputError, match=r"ends in \.html"):
        found.report(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        found.report(tmp_path / "none" / "x.html")


def test_what_a_reader_sees(found):
    page = found._repr_html_()
    assert "6 cells: " in page
    assert "yes &amp; more" in page
    assert "LIBSVM has a free bias; the problem has none" in page
    assert "regularised_sum / pegasos" in repr(found)
    assert "positive class: 'yes & more'" in repr(found)


def test_results_are_kept_where_the_user_says_and_found_again(tmp_path):
    first = mb.compare(X, y, "auto", name="mine", out=tmp_path)
    again = mb.compare(X, y, "auto", name="mine", out=tmp_path)
    fresh = mb.compare(X, y, "auto", name="mine", out=tmp_path, fresh=True)
    assert first.folder.parent == tmp_path / "compare"
    assert again.records[0].solve_seconds == first.records[0].solve_seconds
    assert fresh.records[0].solve_seconds != first.records[0].solve_seconds
    assert first.frame["dataset"].tolist() == ["mine"]


def test_a_temporary_folder_goes_with_the_comparison():
    found = mb.compare(X, y, ["auto"], repeats=2)
    folder = found.folder
    assert len(found.frame) == 2
    assert folder.is_dir()
    del found
    assert not folder.exists()


def test_data_given_in_memory_are_named_by_their_content():
    found = mb.compare(X, y, ["auto"])
    dataset = found.records[0].cell["dataset"]
    again, labels = stored(dataset["digest"])
    assert digest(again, labels) == dataset["digest"] == digest(X, y)
    with pytest.raises(InputError, match="no longer kept: call compare again"):
        stored("0" * 64)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"methods": []}, "no cells"),
        ({"methods": ["auto", "magic"]}, "there is no method 'magic'"),
        ({"C": [1.0, -2.0]}, "C must be a number above 0"),
        ({"bias": ["free", "some"]}, "possible are none, free, augmented"),
        ({"repeats": 0}, "repeats=0: needs a whole number, 1 or more"),
    ],
)
def test_bad_input_ends_before_the_first_cell_runs(more, message, tmp_path):
    with pytest.raises(InputError, match=message):
        mb.compare(X, y, out=tmp_path, **more)
    assert not list(tmp_path.iterdir())


def test_a_path_of_C_is_solved_cold_and_warm():
    found = mb.compare(X, y, ["auto"], path=np.array([1, 10]), bias="free")
    assert list(zip(found.frame["C"], found.frame["start"], found.frame["status"], strict=True)) == [
        (1.0, "cold", "solved"),
        (10.0, "cold", "solved"),
        (10.0, "warm", "solved"),
    ]
    with pytest.raises(InputError, match="C beside path"):
        mb.compare(X, y, ["auto"], C=2.0, path=[1, 10])
    with pytest.raises(InputError, match="not above 0"):
        mb.compare(X, y, ["auto"], path=[1, -1])
