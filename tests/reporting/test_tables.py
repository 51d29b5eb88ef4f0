"""Tables say what the records say: nothing vanishes."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sample_records import HOSTILE, METHODS, OPTIMUM, a_run, failure, solved

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import COLUMNS, Record
from marginbench.harness.reporting import report, tables
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.terminal import terminal
from marginbench.harness.reporting.variation import ALWAYS


def the_family(records: list[Record]):
    (family,) = Comparison.of(records).families
    return family


# -- the table -----------------------------------------------------------------------------------------------------


def test_suboptimality_is_relative_to_the_best_proven_bound_of_the_same_problem():
    records = [
        solved("a", dual=39.0, primal=42.0),
        solved("b", dual=39.5, primal=41.0),
        solved("c", dual=40.9, dual_source="reference"),  # borrowed: proves nothing here
        solved("d", "other", dual=40.0, primal=40.0),
        solved("e", "lonely", dual=None, dual_source=""),
    ]
    frame = tables.table(records).set_index("solver")
    assert frame.loc["a", "suboptimality"] == pytest.approx((42.0 - 39.5) / 42.0)
    assert frame.loc["b", "suboptimality"] == pytest.approx((41.0 - 39.5) / 41.0)
    assert frame.loc["d", "suboptimality"] == 0.0
    assert pd.isna(frame.loc["e", "suboptimality"])
    assert frame["reference"].to_dict() == {"a": "run", "b": "run", "c": "run", "d": "run", "e": ""}


def test_a_reference_is_used_where_it_is_better_and_named():
    records = [solved("a", "p", dual=39.0, primal=42.0), solved("a", "q", dual=39.0, primal=42.0)]
    frame = tables.table(records, {"p": Bounds(41.0, 41.1, "stored"), "q": Bounds(38.0, 50.0, "computed")})
    assert frame["reference"].tolist() == ["stored", "run"]
    assert frame["suboptimality"].tolist() == pytest.approx([1.0 / 42.0, 3.0 / 42.0])


def test_a_contradiction_stays_visible():
    """Both ends are rounded outwards: there is no rounding that could make P smaller than D."""
    honest, false = solved("honest", dual=OPTIMUM), solved("false", primal=OPTIMUM * 0.9)
    records = [honest, false]
    frame = tables.table(records).set_index("solver")
    assert frame.loc["false", "suboptimality"] < -0.05
    assert [r.solver for r in Comparison.of(records).contradictions] == ["false"]
    assert "Contradiction" in report.page(records, "t", "c").text()


def test_what_contradicts_a_reference_is_named_and_never_replaces_it():
    known = {"p": Bounds(OPTIMUM, OPTIMUM, "stored")}
    above, below = solved("above", dual=1.1 * OPTIMUM, primal=1.2 * OPTIMUM), solved("below", primal=0.9 * OPTIMUM)
    records = [above, below, solved("honest", primal=OPTIMUM)]
    found = Comparison.of(records, known)
    assert found.bounds["p"] == known["p"]
    assert [r.solver for r in found.contradictions] == ["above", "below"]


def test_a_separating_hyperplane_makes_infeasible_a_contradiction():
    claimed = failure("infeasible", "claims", C=math.inf)
    assert not Comparison.of([claimed]).contradictions
    found = Comparison.of([claimed, solved("separates", C=math.inf)])
    assert [r.solver for r in found.contradictions] == ["claims"]


def test_columns_order_and_sorting_do_not_depend_on_the_order_of_records():
    records = a_run(2)
    frame = tables.table(records)
    assert list(frame.columns) == [*COLUMNS, *tables.IDENTITY, *ALWAYS]
    assert len(frame) == len(records)
    shuffled = [records[k] for k in np.random.default_rng(0).permutation(len(records))]
    assert tables.csv(tables.table(shuffled)) == tables.csv(frame)
    assert frame["dataset"].is_monotonic_increasing


def test_written_tables_read_back(tmp_path):
    frame = tables.table([*a_run(), solved(HOSTILE, dataset=HOSTILE, message=HOSTILE)])
    tables.write(frame, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["table.csv", "table.md", "table.parquet", "table.tex"]
    for back in (
        pd.read_csv(tmp_path / "table.csv", keep_default_na=False),
        pd.read_parquet(tmp_path / "table.parquet"),
    ):
        assert list(back.columns) == list(frame.columns)
        assert back["dataset"].tolist() == frame["dataset"].tolist()
        assert back["message"].tolist() == frame["message"].tolist()
        assert back["C"].astype(float).tolist() == frame["C"].tolist()
    assert (tmp_path / "table.csv").read_text().splitlines()[1].count("nan") == 0
    for name in ("table.csv", "table.md", "table.tex"):
        text = (tmp_path / name).read_text()
        assert "\x1b" not in text
        assert "x1b[31m" in text.replace(r"\[", "[")  # visible, not gone


def test_latex_and_markdown_escape():
    frame = tables.table([solved("s_1", dataset=HOSTILE, message=HOSTILE)])
    row = tables.latex(frame).splitlines()[-2].removesuffix(r" \\")
    fields = row.split(" & ")
    headers = tables.page_headers(frame)
    assert len(fields) == len(headers) - 1
    commands = r"\\text\w+\{\}|\$\\infty\$|\$[\d.]+ \\cdot 10\^\{-?\d+\}\$|\\[%#$_&{}]"
    assert re.search(r"[\\%#$_&{}~^<>|\x00-\x1f]", re.sub(commands, "", "".join(fields))) is None
    line = tables.markdown(frame).splitlines()[-1]
    assert len(re.findall(r"(?<!\\)\|", line)) == len(headers) + 1
    assert re.search(r"(?<!\\)<", line) is None


@pytest.mark.parametrize("width", [100, 110, 120, 200])
def test_terminal_fits_and_loses_no_method_and_no_control_character_passes(width):
    text = terminal([*a_run(3), failure("failed", "x", message=HOSTILE + " long" * 300)], width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    for word in (*METHODS, "solved x3", "not_installed x3", "wrong!", "crashed!", "C = ∞"):
        assert word in text


def test_methods_judged_by_separation_are_not_ranked_with_optimisers():
    perceptron = solved("perceptron", gap=None, dual=None, dual_source="", seconds=1e-5)
    comparison = Comparison.of([solved("honest"), perceptron])
    assert comparison.separators == {"perceptron"}
    assert comparison.families[0].methods == ["honest"]
    assert comparison.methods == ["honest", "perceptron"]


def test_hard_and_soft_margin_have_profiles_of_their_own():
    comparison = Comparison.of(
        [solved("soft", "p"), solved("hard", "q", C=math.inf), solved("sq", "r", loss="squared_hinge")]
    )
    assert {f.name: f.methods for f in comparison.families} == {
        "soft margin": ["soft"],
        "hard margin": ["hard"],
        "squared hinge": ["sq"],
    }


# -- names ---------------------------------------------------------------------------------------------------------


def test_settings_that_differ_on_one_problem_name_the_method():
    deltas = [solved("newton", cell={"formulation": {"delta": d}, "solver": {"seed": 0}}) for d in (0.1, 1e-5)]
    assert Comparison.of(deltas).methods == ["newton delta=1e-05", "newton delta=0.1"]
    per_problem = [replace(r, problem=f"p{k}") for k, r in enumerate(deltas)]
    assert Comparison.of(per_problem).methods == ["newton"]


def test_problems_that_look_alike_are_told_apart():
    twins = [solved(problem=f"key{k}", cell={"dataset": {"margin": m, "n": 3}}) for k, m in enumerate((1, 0.5))]
    assert [t.title for t in Comparison.of(twins).tasks] == [
        "overlapping, C = 1, bias none margin=0.5",
        "overlapping, C = 1, bias none margin=1",
    ]
    same = [solved(problem=f"key{k}") for k in range(2)]
    assert len({t.title for t in Comparison.of(same).tasks}) == 2


def test_a_row_that_never_got_a_problem_key_joins_its_problem():
    comparison = Comparison.of([solved("a"), failure("failed", "b", "")])
    (task,) = comparison.tasks
    assert list(task.runs) == ["a", "b"]
