"""What was asked identifies a row: every value that differs is a column, and nothing but repeats is aggregated."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sample_records import OPTIMUM, failure, solved

from marginbench.harness.records.record import Record
from marginbench.harness.reporting import effects, file_names, frontier_table, report, tables
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.comparison import Comparison, representative
from marginbench.harness.reporting.medians import median
from marginbench.harness.reporting.terminal import terminal

CELL = {
    "dataset": {"_target_": "marginbench.datasets.generators.overlapping", "n": 60, "seed": 0},
    "problem": {"C": 1.0, "bias": "none", "loss": "hinge", "weight": None, "s": 1.0},
    "formulation": {"_target_": "marginbench.harness.formulations.pegasos.Pegasos"},
    "solver": {"_target_": "marginbench.solvers.pegasos.Pegasos", "batch": 1, "seed": 0},
    "budget": {"seconds": 1.0, "gap": 1e-6, "iterations": 100, "wrong_gap": 1e-2},
    "limits": {"seconds": 2.0, "memory_mb": 100},
}


def asked(problem: str = "p", method: str = "pegasos", **paths: object) -> Record:
    """A record of a cell in which some values were set: `solver__batch=4`."""
    cell = {group: dict(config) for group, config in CELL.items()}
    for path, value in paths.items():
        group, _, key = path.partition("__")
        cell[group][key] = value
    key = f"{problem} {method} {sorted(paths.items())}"
    return solved(method, problem, cell=cell, hash=key)


def columns(records: list[Record]) -> list[str]:
    """Those that the records add to the columns that are always there."""
    return [name for name in tables.table(records).columns if name not in tables.table([asked()]).columns]


VARIED = {
    "dataset.positive": [asked(f"k{k}", dataset__positive=k) for k in range(3)],
    "dataset.path": [asked(f"k{k}", dataset__path=f"/data/{k}/x.csv") for k in range(2)],
    "problem.weight": [asked("k0", problem__weight="balanced"), asked("k1")],
    "problem.s": [asked(f"k{s}", problem__s=s) for s in (1.0, 2.0)],
    "formulation.delta": [asked(formulation__delta=delta) for delta in (0.1, 1e-5)],
    "solver.batch": [asked(solver__batch=k) for k in (4, 8)],
    "solver.seed": [asked(solver__seed=k) for k in (0, 1)],
    "budget.gap": [asked(budget__gap=gap) for gap in (1e-3, 1e-6)],
    "limits.memory_mb": [asked(limits__memory_mb=k) for k in (100, 200)],
    "solver._target_": [asked(solver___target_=f"mine_{k}.Mine") for k in (1, 2)],
}


@pytest.mark.parametrize("path", VARIED)
def test_a_value_that_differs_is_a_column_of_every_table_and_tells_the_rows_apart(path):
    records = VARIED[path]
    frame = tables.table(records)
    assert set(columns(records)) | {"budget.gap"} == {path, "budget.gap"}
    assert frame[path].nunique(dropna=False) == len(records)
    assert path in tables.page_headers(frame)
    assert path in tables.markdown(frame).replace("\\", "")
    assert path in tables.latex(frame).replace("\\", "")
    rows = [tuple(row[: row.index("solved")]) for row in tables.page_rows(frame)]
    assert len(set(rows)) == len(records)
    comparison = Comparison.of(records)
    cells = {(task.title, label) for task in comparison.tasks for label in task.runs}
    assert len(cells) == len(records)
    shown = terminal(records)
    assert shown.count("solved") == len(records)
    assert "x2" not in shown
    assert len(set(shown.split("\n\n"))) == len(comparison.tasks)
    assert len(set(shown.splitlines())) > len(records)
    assert re.search(rf"<th[^>]*>{re.escape(path.replace('_', ' '))}</th>", report.page(records, "t", "c").text())


@pytest.mark.parametrize("path", ["dataset.positive", "dataset.path", "problem.weight", "problem.s"])
def test_different_problems_share_no_title_and_no_file_name(path):
    tasks = Comparison.of(VARIED[path]).tasks
    assert len({task.title for task in tasks}) == len({name.lower() for name in file_names.slugs(tasks)}) == len(tasks)
    assert all(path.rpartition(".")[2] + "=" in task.title for task in tasks)


def test_what_every_row_was_asked_is_there_though_nothing_varies():
    row = tables.table([asked()]).iloc[0]
    given = {"method": "pegasos", "problem": "p", **{f"budget.{key}": value for key, value in CELL["budget"].items()}}
    assert row[list(given)].to_dict() == given


def test_a_field_that_only_one_class_has_is_not_varied():
    other = {"_target_": "marginbench.solvers.sdca.SDCA", "smoothing": 3, "seed": 0}
    cell = CELL | {"solver": other, "formulation": {"_target_": "x.Y", "delta": 1}}
    sdca = replace(asked(method="sdca"), cell=cell, formulation="other")
    assert columns([asked(), sdca]) == []
    twice = [asked(), replace(sdca, cell=sdca.cell | {"solver": other | {"smoothing": 4}}), sdca]
    assert columns(twice) == ["solver.smoothing"]
    frame = tables.table(twice)
    assert frame["solver.smoothing"].isna().tolist() == [True, False, False]  # Pegasos has none
    assert frame["solver.smoothing"].dtype == "Int64"


def test_a_seed_that_follows_the_seed_of_the_cell_is_one_column_and_repeats_are_none():
    records = [replace(asked(solver__seed=s), seed=s, repeat=k) for s in (0, 1) for k in (0, 1, 2)]
    assert columns(records) == []
    assert tables.page_headers(tables.table(records))[5:7] == ["seed", "repeat"]
    (task,) = Comparison.of(records).tasks
    assert {label: len(runs) for label, runs in task.runs.items()} == {"pegasos seed=0": 3, "pegasos seed=1": 3}
    assert terminal(records).count("solved x3") == 2


def test_names_that_tell_the_data_keep_the_pages_short_and_the_csv_complete():
    records = [replace(asked(f"k{k}", dataset__path=f"/data/{k}.csv"), dataset=f"file{k}") for k in range(2)]
    assert columns(records) == ["dataset.path"]
    assert "dataset.path" not in tables.page_headers(tables.table(records))
    assert [task.told for task in Comparison.of(records).tasks] == ["", ""]


def test_a_hard_margin_has_no_C_whatever_was_asked():
    hard = [replace(asked("h", "hard", problem__C=C), C=math.inf, hash=f"h{C}") for C in (1.0, 5.0)]
    assert columns([hard[0], asked("p")]) == []
    frame = tables.table([*hard, asked("p"), replace(asked("q", problem__C=2.0), C=2.0)])
    assert frame["problem.C"].isna().tolist() == [False, False, True, True]


def test_titles_have_only_what_tells_them_apart():
    records = [asked(f"k{n}{p}", dataset__n=n, dataset__positive=p) for n in (10, 20) for p in (0, 1)]
    others = [replace(asked("other"), dataset="wine"), replace(asked("C5", problem__C=5.0), C=5.0)]
    found = {task.key: task.told for task in Comparison.of([*records, *others]).tasks}
    assert found == {
        **{f"k{n}{p}": f"n={n} positive={p}" for n in (10, 20) for p in (0, 1)},
        "other": "",
        "C5": "",
    }
    files = [asked(f"k{k}", dataset__path=f"/home/me/data/{k}/x.csv") for k in "ab"]
    assert [task.told for task in Comparison.of(files).tasks] == ["path=a/x.csv", "path=b/x.csv"]


def test_rows_without_a_problem_key_join_only_what_was_asked_the_same_way():
    """Data that could not be loaded have no key: two of them are still two problems."""
    lost = [replace(r, problem="", status="failed", primal=None) for r in VARIED["dataset.positive"][:2]]
    assert len(Comparison.of(lost).tasks) == 2
    found = {task.key: len(task.records) for task in Comparison.of([*lost, VARIED["dataset.positive"][1]]).tasks}
    assert sorted(found.values()) == [1, 2]
    assert found["k1"] == 2
    assert tables.table(lost)["problem"].tolist() == ["", ""]


def test_long_values_are_cut_in_labels_and_stay_different():
    records = [asked(solver__text="x" * 500 + end) for end in "ab"]
    labels = Comparison.of(records).labels
    assert len(set(labels)) == 2
    assert max(map(len, labels)) < 100


@pytest.mark.parametrize("width", [80, 110, 200])
def test_the_terminal_cuts_no_setting_and_no_number(width):
    wide = {"solver__first_long_setting": 1, "solver__second_long_setting": 2, "formulation__third_setting": 3}
    records = [asked(**{**wide, path: value}) for path in wide for value in (11, 12)]
    text = terminal(records, width=width)
    assert max(map(len, text.splitlines())) <= width
    told = text.replace("\n", " ")
    assert all(told.count(str(value)) >= 3 for value in (11, 12))
    assert text.count("1.9e-9") == 12  # gap and suboptimality of each row
    assert "…" not in text.replace("pegasos / p…", "")


def test_names_of_files_stay_different_when_one_looks_like_the_second_of_another():
    tasks = Comparison.of([solved(problem=f"k{k}", dataset=name) for k, name in enumerate(("x", "x!", "x-2"))]).tasks
    doubles = [replace(task, title=title) for task, title in zip(tasks, ("x", "X!", "x-2"), strict=True)]
    assert len({name.lower() for name in file_names.slugs(doubles)}) == 3


def test_charts_join_no_points_of_different_problems_or_settings():
    weights = [replace(r, C=C, problem=f"{r.problem}{C}") for r in VARIED["problem.weight"] for C in (0.1, 1.0, 10.0)]
    found = effects.panels(Comparison.of(weights))["effect_of_C"]
    told = [f"overlapping, bias none weight={weight}" for weight in ("balanced", "null")]
    assert sorted({panel.title for panel in found}) == told
    assert all(len(line.x) == 3 for panel in found for line in panel.lines)
    deltas = [asked(formulation__delta=d, solver__batch=b) for d in (0.1, 0.01) for b in (1, 2)]
    (panel,) = effects.panels(Comparison.of([replace(r, primal=OPTIMUM + 1.0) for r in deltas]))["smoothing"]
    assert [line.label for line in panel.lines[:2]] == ["dual_qp + pegasos batch=1", "dual_qp + pegasos batch=2"]


def test_the_frontier_tells_problems_apart():
    frame = frontier_table.frame(analysis(VARIED["dataset.positive"]).studies)
    assert frame["problem"].nunique() == frame["title"].nunique() == 3


# -- the median ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [[0.3, 0.1], [0.4, 0.1, 0.2, 0.3], [0.5, 0.1, 0.4]])
def test_there_is_one_median(seconds):
    """The upper one: the run that stands for others, the terminal, the page, every accuracy and the answer as asked."""
    middle = sorted(seconds)[len(seconds) // 2]
    runs = [solved(seconds=s, repeat=k, hash=f"{k}") for k, s in enumerate(seconds)]
    assert representative(runs).solve_seconds == median(seconds) == middle
    assert tables.time_text(middle) in terminal(runs)
    assert tables.time_text(middle) in report.page(runs, "t", "c").text()
    (study,) = analysis(runs).studies
    assert study.ledger.costs(None, "wall").t[0, 0] == middle
    assert study.ledger.costs(1e-6, "wall").t[0, 0] == pytest.approx(middle * 20 / 30, rel=1e-6)
    assert median(np.array([seconds, seconds])).tolist() == [middle, middle]


def test_a_failed_run_counts_as_infinite_for_the_run_that_stands_for_all():
    runs = [solved(seconds=s) for s in (0.1, 0.2, 0.3)] + [failure("timeout", solve_seconds=1e-6)] * 2
    assert representative(runs).solve_seconds == 0.3
    assert representative([*runs, failure("failed")]).status == "timeout"


# -- values of every kind ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1, 2], ["1", "2"]),
        ([0.5, 2.0], ["0.5", "2.0"]),
        (["a", None], ["a", "null"]),
        ([True, False], ["true", "false"]),
        ([[1, 2], [1, 3]], ['"[1, 2]"', '"[1, 3]"']),
        ([10**100, 1], ["1e+100", "1.0"]),
        ([10**400, "x"], [str(10**400), "x"]),
        (["=1+1", "-1"], ["'=1+1", "-1"]),
        (["\x1b[31mred", "blue\r\n"], ["\\x1b[31mred", "blue"]),
    ],
)
def test_a_column_of_values_as_one_would_type_them(values, shown):
    records = [replace(asked(solver__value=value), hash=f"{k}") for k, value in enumerate(values)]
    frame = tables.table(records)
    text = tables.csv(frame[["hash", "solver.value"]].sort_values("hash"))
    assert text.splitlines()[1:] == [f"{k},{value}" for k, value in enumerate(shown)]


def test_nested_values_have_paths_of_their_own_and_no_depth_ends_a_report():
    assert columns([asked(solver__kernel={"gamma": g, "kind": "rbf"}) for g in (1, 2)]) == ["solver.kernel.gamma"]
    deep: dict = {}
    for _ in range(900):
        deep = {"x": deep}
    assert len(tables.table([asked(solver__deep=deep), asked(solver__deep=1)])) == 2


def test_a_configuration_that_is_no_dictionary_costs_nothing_but_its_columns():
    odd = replace(asked(), cell={"budget": 3, "limits": None, "solver": [], "dataset": "x"}, hash="odd", problem="q")
    frame = tables.table([odd, asked()])
    assert frame["budget.gap"].isna().sum() == 1
    assert report.page([odd, asked()], "t", "c").text()


def test_numbers_beyond_a_table_are_left_empty():
    frame = tables.table([replace(asked(), updates=10**100, seed=2**63, iterations=5)])
    assert frame[["updates", "seed"]].isna().all(axis=None)
    assert frame["iterations"].tolist() == [5]


def test_text_that_a_spreadsheet_would_compute_begins_with_an_apostrophe():
    bad = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", " =1", "\t=1"]
    records = [solved(problem=f"p{k}", message=text, hash=f"{k}") for k, text in enumerate(bad)]
    read = pd.read_csv(pd.io.common.StringIO(tables.csv(tables.table(records))), keep_default_na=False)
    assert all(message.startswith("'") for message in read["message"])
    plain = pd.DataFrame({"text": ["-1.5e3", "a=b"], "number": [-1.0, 2.0]})
    assert tables.csv(plain) == "text,number\n-1.5e3,-1.0\na=b,2.0\n"
