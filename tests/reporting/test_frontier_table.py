"""frontier.csv and frontier.md: a row for every time, ratios to the base with both intervals, the best peer."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from sample_records import HOSTILE, failure, hostile_run
from timed_records import traced

from marginbench.harness.cli import main
from marginbench.harness.records.store import Store
from marginbench.harness.reporting import frontier_csv, frontier_table, report, tables
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.ratios import BEST

DATA = Path(__file__).resolve().parents[1] / "data"
COLUMNS = "dataset,n,d,nnz,C,bias,loss,method,kind,accuracy,seconds,passes,problem,title,runs,base,question\n"


def times(records) -> dict[tuple[str, str, float], float]:
    frame = frontier_table.frame(analysis(records).studies)
    return {(r.problem, r.method, r.accuracy): r.seconds for r in frame.itertuples()}


@pytest.mark.parametrize("records", [[], [failure("failed")], [failure("skipped", "s"), failure("crashed", "c")]])
def test_nothing_reached_is_no_table_and_no_error(records):
    studies = analysis(records).studies
    assert frontier_table.markdown(frontier_table.races(studies)) == ""
    assert not np.isfinite(frontier_table.frame(studies)["seconds"].astype(float)).any()
    assert tables.csv(frontier_table.frame([])) == COLUMNS


def test_the_table_has_a_row_for_every_problem_method_and_accuracy(tmp_path):
    records = [traced("auto", [(1.0, 1e-7)]), traced("lib", [(2.0, 1e-4)], peer=True)]
    report.write(records, tmp_path, "t", "c", figures="none")
    frame = tables.pd.read_csv(tmp_path / "frontier.csv")
    assert len(frame) == 8 * 3
    by = frame.set_index(["method", "accuracy"])["seconds"]
    assert by["auto", 1e-6] == 1.0
    assert by["lib", 1e-6] == math.inf == by["auto", 1e-9]
    assert set(frame[frame["kind"] == "peer"]["method"]) == {"lib", BEST}
    text = (tmp_path / "frontier.md").read_text()
    alone = "2 (one data set; single runs), 1 of 1"
    assert f"| 1e-3 | 1 of 1 | {alone} | {alone} | 1 of 1 |" in text
    assert "|  | lib | 1 of 1 | 2 |  |  | 2 | 2 (overlapping, C = 1, bias none) | 1, 0, 0 | 1 |" in text
    assert "| 1e-6 | 1 of 1 | none, 0 of 1 |" in text


def test_the_best_peer_is_on_each_problem_the_fastest_library_and_never_an_own_solver():
    given = {"auto": (1.0, 1.0), "other": (0.1, 0.1), "lib_a": (3.0, 9.0), "lib_b": (6.0, 5.0)}
    records = [
        traced(m, [(t, 1e-12)], f"p{k}", peer=m.startswith("lib")) for m, ts in given.items() for k, t in enumerate(ts)
    ]
    found = times(records)
    assert [found[f"p{k}", BEST, 1e-6] for k in range(2)] == [3.0, 5.0]


def test_a_problem_that_a_method_never_ran_on_says_nothing_about_it():
    records = [traced("auto", [(1.0, 1e-12)], f"p{k}") for k in range(3)]
    records += [traced("lib", [(2.0, 1e-12)], "p0", peer=True), traced("lib", [(2.0, 0.5)], "p1", peer=True)]
    records += [failure("skipped", "lib", "p2", versions={}), failure("not_installed", "absent", "p0", versions={})]
    found = times(records)
    assert found["p1", "lib", 1e-6] == math.inf
    assert ("p2", "lib", 1e-6) not in found
    assert "absent" not in {method for _, method, _ in found}
    assert "| 1e-6 | 3 of 3 | 2 (one data set; single runs), 1 of 2 |" in frontier_table.markdown(
        frontier_table.races(analysis(records).studies)
    )


@pytest.mark.parametrize("source", ["repeated", "v0.1"])
def test_the_file_alone_gives_the_same_tables(source, tmp_path):
    """With repeats, several questions and peers: what frontier.md says follows from frontier.csv."""
    report.write(Store(DATA / source).records(), tmp_path, "t", "c", figures="none")
    again = frontier_table.markdown(frontier_csv.read(tmp_path / "frontier.csv"))
    assert again == (tmp_path / "frontier.md").read_text()
    assert again.count("| verdict |") == 1


def test_a_file_without_repeats_says_so_and_what_is_no_such_file_is_named(tmp_path, capsys):
    report.write(Store(DATA / "repeated").records(), tmp_path, "t", "c", figures="none")
    old = tables.pd.read_csv(tmp_path / "frontier.csv").drop(columns=["runs", "base", "question", "problem", "title"])
    old.to_csv(tmp_path / "old.csv", index=False)
    assert main(["report", str(tmp_path / "old.csv")]) == 0
    said = capsys.readouterr().out
    assert "; repeats not stored), 3 of 3" in said
    assert "single runs" not in said
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for name in ("other.csv", "none.csv"):
        assert main(["report", str(tmp_path / name)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_no_name_becomes_code():
    line = frontier_table.markdown(frontier_table.races(analysis(hostile_run()).studies))
    assert HOSTILE.split("|")[0] not in line
    assert "\x1b" not in line


def test_the_tables_of_the_results_are_what_the_command_prints():
    """results/README.md shows some accuracies of each table, and says once which file holds no repeats. No file is kept
    of which nothing is shown, and every table compares with the best peer."""
    root = Path(__file__).resolve().parents[2] / "results"
    kept: dict[str, set[str]] = {}
    for file in sorted((root / "readme").glob("frontier*.csv")):
        printed = frontier_table.markdown(frontier_csv.read(file)).replace("; repeats not stored", "")
        kept[file.name] = {line for line in printed.splitlines() if re.match(r"\| (accuracy|1e-)", line)}
    shown = [line for line in (root / "README.md").read_text().splitlines() if re.match(r"\| (accuracy|1e-)", line)]
    assert set(shown) <= set().union(*kept.values())
    assert all("| best peer | auto first |" in line for line in shown if line.startswith("| accuracy"))
    assert {name for name, lines in kept.items() if lines & {line for line in shown if "1e-6" in line}} == set(kept)
    assert {"frontier.csv", "frontier_repeats.csv"} <= set(kept)
