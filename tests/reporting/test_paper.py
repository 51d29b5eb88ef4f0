"""Tables for papers: the best is bold, failures are marked, no name breaks the table."""

import csv
import io
import math
import re

import pytest
from sample_records import HOSTILE, a_run, failure, solved
from timed_records import timed

from marginbench.harness.reporting import paper
from marginbench.harness.reporting.analysis import analysis


def made(records):
    return {(name, table.kind): table for name, pair in paper.tables(analysis(records)) for table in pair}


def some():
    records = [solved(m, f"p{k}", s * (k + 1), hash=f"{m}{k}") for m, s in (("a", 0.1), ("b", 0.2)) for k in range(3)]
    return [*records, *(failure("timeout", "c", f"p{k}", hash=f"c{k}") for k in range(2))]


def test_the_fastest_is_bold_what_was_not_reached_is_marked_and_what_was_not_asked_is_empty():
    table = made(some())["1_soft-margin_as_asked", "times"]
    assert table.columns == ["a", "b", "c"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["0.1", "0.2", paper.FAILED],
        ["0.2", "0.4", paper.FAILED],
        ["0.3", "0.6", ""],
    ]
    assert [[cell.bold for cell in row] for row in table.rows] == [[True, False, False]] * 3
    assert "not reached within its budget" in table.caption
    assert r"\textbf{0.1} & 0.2 & ---" in paper.latex(table)
    assert "| **0.1** | 0.2 | — |" in paper.markdown(table)
    rows = list(csv.reader(io.StringIO(paper.comma_separated(table))))
    assert [row[1:] for row in rows[1:]] == [
        ["0.1", "0.2", "inf"],
        ["0.2", "0.4", "inf"],
        [str(0.1 * 3), str(0.2 * 3), ""],
    ]


def test_every_accuracy_that_was_asked_for_has_its_tables():
    names = {name for name, _ in made(some())}
    assert names == {f"1_soft-margin_{to}" for to in ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "as_asked")}


def test_the_ranking_says_how_many_were_reached_and_the_ratio():
    table = made(some())["1_soft-margin_as_asked", "ranking"]
    assert table.names[:2] == ["a", "b"]
    ratio = table.rows[1][table.columns.index("ratio")]
    assert ratio.value == pytest.approx(2.0)
    assert table.rows[0][0].bold


def test_a_mean_is_bold_only_where_no_other_method_reached_more_and_what_failures_are_charged_is_printed():
    """Three failures that were given 0.01 s cost less than three answers."""
    records = [timed("sure", f"d{k}", 0.5) for k in range(3)]
    records += [timed("hopeless", f"d{k}", math.inf, budget=0.01) for k in range(3)]
    table = made(records)["1_soft-margin_1e-6", "ranking"]
    mean = table.columns.index("mean")
    assert table.names == ["sure", "hopeless"]
    assert table.rows[0][mean].value > table.rows[1][mean].value
    assert [row[mean].bold for row in table.rows] == [True, False]
    assert "seconds of wall time shifted by 0.01, a failure at the limit of its own cell (here 0.01)." in table.caption
    alone = made([r for r in records if r.dataset == "d0"])["1_soft-margin_1e-6", "times"]
    assert "on 1 problem (soft margin)" in alone.caption


def test_an_interval_that_says_nothing_has_no_digits():
    records = [timed(m, f"d{k}", t) for m, ts in (("x", (0.1, 0.1)), ("y", (0.1, 0.9))) for k, t in enumerate(ts)]
    table = made(records)["1_soft-margin_1e-6", "ranking"]
    assert table.rows[1][table.columns.index("over problems")].text == "0 to ∞"


def test_more_methods_than_fit_continue_below():
    records = [solved(f"m{k}", f"p{p}", 0.1 * (k + 1), hash=f"{k}{p}") for k in range(18) for p in range(2)]
    text = paper.latex(made(records)["1_soft-margin_as_asked", "times"])
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 3
    assert max(line.count(" & ") for line in text.splitlines()) == paper.MOST_COLUMNS


@pytest.mark.parametrize("records", [a_run(), []], ids=["run", "none"])
def test_tables_are_balanced_whatever_the_names(tmp_path, records):
    odd = [solved(f"{HOSTILE}{k}", f"p{p}", 0.1, dataset=HOSTILE, hash=f"{k}{p}") for k in range(2) for p in range(2)]
    for table in made([*records, *odd]).values():
        text = paper.latex(table)
        plain = re.sub(r"\\[{}%#$_&]|\\text\w+\{\}|\\dots\{\}", "", text)
        assert plain.count("{") == plain.count("}")
        assert plain.count("$") % 2 == 0
        for part in text.split(r"\begin{longtable}")[1:]:
            columns = re.match(r"\{l(r+)\}", part)[1]
            rows = [line for line in part.splitlines() if line.endswith(r"\\") and "caption" not in line]
            assert {re.sub(r"\\&", "", row).count("&") for row in rows} == {len(columns)}
        assert "\x1b" not in text
        for line in paper.markdown(table).splitlines()[2:]:
            assert len(re.findall(r"(?<!\\)\|", line)) == len(table.columns) + 2
            assert re.search(r"(?<!\\)<", line) is None
    paper.write(analysis([*records, *odd]), tmp_path)
    assert {path.suffix for path in (tmp_path / "tables").iterdir()} == {".tex", ".md", ".csv"}
