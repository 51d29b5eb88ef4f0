"""The page as text: what it says without scripts, what its script is given, and what lies beside it."""

import base64
import hashlib
import html
import json
import math
import re

import numpy as np
import pytest
from sample_records import HOSTILE, a_large_run, a_run, failure, hostile_run, solved
from timed_records import timed

from marginbench.harness.reporting import numbers, page_data, page_studies, page_views, report
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.page import INSIDE


def data_of(text: str):
    """What the script of a page is given."""
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def test_the_first_words_are_the_answer():
    records = [
        solved(m, f"p{k}", s, dataset=f"d{k}", hash=f"{m}{k}") for m, s in (("a", 0.1), ("b", 0.3)) for k in "123"
    ]
    text = report.page(records, "t", "c").text()
    section = analysis(records).studies[0].section(1e-6)
    assert html.escape(section.answer.headline) in text
    assert section.answer.sentences[0].text in html.unescape(text)
    assert section.answer.setting in text
    assert text.index(section.answer.headline) < text.index("Ranking")


@pytest.mark.parametrize("records", [a_run(3), hostile_run()], ids=["run", "hostile"])
def test_no_script_runs_but_those_whose_hashes_the_policy_names(records):
    text = report.page(records, HOSTILE, HOSTILE).text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="(.*?)"', text)[1])
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"'sha256-(.*?)'", policy) == hashes
    assert len(hashes) == 2
    assert "default-src 'none'" in policy


def test_times_of_the_script_are_those_of_the_analysis():
    records = a_large_run(6, 5, 3)
    found = data_of(report.page(records, "t", "c").text())["studies"][0]
    study = analysis(records).studies[0]
    for name, section in found["sections"].items():
        accuracy, clock = name.rsplit(" ", 1)
        t = study.section(None if accuracy == "as asked" else float(accuracy), clock).costs.t
        for p, row in enumerate(section["t"]):
            for s, x in enumerate(row):
                known = t[p, s]
                assert (
                    x == pytest.approx(known, rel=1e-3)
                    if math.isfinite(known)
                    else x == (None if math.isnan(known) else -1)
                )


def test_a_pair_seen_from_the_other_side():
    study = page_studies.studies(analysis(a_large_run(6, 5, 3)), ["#"] * 6)[0]
    section = study["sections"]["1e-6 wall"]
    a, b = study["methods"][:2]
    here = next(row for row in page_studies.pairs_against(study, section, b) if row[0] == a)
    there = next(row for row in page_studies.pairs_against(study, section, a) if row[0] == b)
    assert here[2] * there[2] == pytest.approx(1.0)
    assert here[4] == pytest.approx([1 / there[4][1], 1 / there[4][0]])
    assert here[5] * there[5] == pytest.approx(1.0)
    assert here[7:12] == [there[8], there[7], there[11], there[10], there[9]]
    assert {here[1], there[1]} in ({"faster", "slower"}, {here[1]})


def test_the_map_shows_the_time_over_the_best():
    records = [solved(m, "p", s, hash=m) for m, s in (("fast", 0.1), ("slow", 0.45))]
    study = page_studies.studies(analysis([*records, failure("timeout", "late", "p")]), ["#"])[0]
    found = page_studies.heat_rows(study, study["sections"]["1e-6 wall"])
    cells = {
        study["methods"][s]: c
        for s, c in zip(study["sections"]["1e-6 wall"]["order"], found["groups"][0]["rows"][0]["cells"], strict=True)
    }
    assert (cells["fast"]["text"], cells["slow"]["text"], cells["late"]["text"]) == ("1", "4.5", "never")
    assert (cells["fast"]["shade"], cells["slow"]["shade"]) == ("h0", "h4")
    assert found["reached"] == [1, 1, 0]


def test_many_cells_have_their_details_beside_the_page(tmp_path):
    records = a_large_run(26, 20, entries=6)
    assert len(records) > INSIDE
    beside = tmp_path / "report_files"
    beside.mkdir()
    (beside / "problem-99.html").write_text("of an earlier report")
    (beside / "own.txt").write_text("not ours")
    text = report.write(records, tmp_path, "t", "c", figures="none").read_text()
    assert sorted(p.name for p in beside.iterdir()) == sorted(["own.txt", *(f"problem-{k}.html" for k in range(1, 27))])
    linked = set(re.findall(r'href="(report_files/[^"]+)"', text))
    assert linked == {f"report_files/problem-{k}.html" for k in range(1, 27)}
    assert len(text) < 2_000_000
    one = (beside / "problem-7.html").read_text()
    assert one.count('scope="row"') == 20
    assert 'href="../report.html"' in one
    assert data_of(text)["cells"]["count"] == len(records)


def test_failures_are_one_list_that_the_counts_link_to():
    records = [failure("timeout", f"m{k}", message=f"stopped after {k} s", hash=f"{k}") for k in range(1, 4)]
    text = report.page([*records, solved("good", hash="g")], "t", "c").text()
    assert 'href="#failures-timeout"' in text
    assert text.count('id="failures-timeout"') == 1
    assert text.count("stopped after 1 s") >= 1
    assert len(re.findall(r'<details class="failure"', text)) == 1


def test_a_problem_says_each_kind_of_failure_once():
    records = [failure("timeout", "m", message=f"stopped after {k} s", hash=f"{k}", repeat=k) for k in range(1, 4)]
    text = report.page([*records, solved("good", hash="g")], "t", "c").text()
    told = text[text.index('id="problem-1"') : text.index('id="cells-title"')]
    assert told.count("<b>m</b>") == 1
    assert "3 times" in told
    assert "stopped after … s" in told


def test_every_column_of_ranking_and_pairs_is_explained_without_a_mouse():
    text = html.unescape(report.page([solved("a", hash="a"), solved("b", hash="b")], "t", "c").text())
    for name, _, meaning in [*page_studies.RANKING, *page_studies.PAIRS]:
        assert name == "method" or f"<dt>{name}</dt><dd>{meaning}</dd>" in text


def test_a_machine_is_named_once():
    machine = {"processor": "Fast CPU", "cores": 8, "system": "Linux"}
    records = [solved(f"m{k}", hash=f"{k}", machine=machine | {"process_seconds": 0.1 * k}) for k in range(5)]
    text = report.page(records, "t", "c").text()
    assert text[text.index('id="provenance"') : text.index('<script id="data"')].count("Fast CPU") == 1


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (0.0123456, "time", "12.3 ms"), (1234.0, "time", "1234 s"), (3.2e-7, "gap", "3.2e-7"), (12.6, "ratio", "13"),
        (1.0, "ratio", "1"), (0.000012345, "ratio", "1.23e-5"), (12345678.0, "count", "1.23e7"),
        ([3, 4], "fraction", "3 / 4"), ([0.98, 61.2], "interval", "0.98 to 61"), (0.675, "share", "68 %"),
        (None, "time", ""), (math.inf, "C", "∞"),
    ],
)  # fmt: skip
def test_numbers_are_written_with_the_digits_that_mean_something(value, kind, shown):
    assert numbers.written(value, kind) == shown


def test_what_scripts_read_is_written_as_without_them():
    rng = np.random.default_rng(7)
    values = [0.708498, *np.exp(rng.uniform(-9.0, 4.0, size=2000))]
    assert [numbers.written(page_data.kept(x), "time") for x in values] == [numbers.written(x, "time") for x in values]


def test_a_cell_of_which_some_runs_succeeded_shows_how_many_and_no_gap_that_was_good_enough():
    runs = [solved("m", "p", repeat=k, hash=f"m{k}") for k in range(3)]
    runs[2] = solved("m", "p", repeat=2, hash="m2", status="inaccurate", gap=1e-3)
    (line,) = page_views.status_rows(Comparison.of(runs))
    assert [(cell["status"], cell["shown"]) for cell in line["cells"]] == [("inaccurate", "2 of 3")]


def test_a_contradiction_says_what_contradicts_what():
    hard = {"C": math.inf, "dataset": "d"}
    records = [solved("good", "p", **hard), failure("infeasible", "bad", "p", hash="bad", **hard)]
    records += [solved("low", "q", primal=1.0, hash="low"), solved("good", "q", hash="good q")]
    text = html.unescape(report.page(records, "t", "c").text())
    assert "infeasible, though a point with P = 40.0" in text
    assert "P = 1.0 is below the proven lower bound" in text
    assert text.count("one of the two certificates is false") == 1
    assert "proven to have no solution" not in text
    assert "Problems without a solution" not in text
    line, _ = page_views.status_rows(Comparison.of(records))
    assert [cell and cell["shown"] for cell in line["cells"]] == ["contradicted", "100 ms", None]
    assert (line["good"], line["all"]) == (1, 2)


def test_a_proof_that_there_is_no_solution_has_no_support_vectors():
    """Its w may be zero: `0 % right` would be a number without meaning."""
    said = {"C": math.inf, "train_accuracy": 0.125, "sv_wrong": 731}
    records = [failure(status, "m", status, hash=status, **said) for status in ("infeasible", "timeout")]
    made = report.page(records, "t", "c")
    for task in made.comparison.tasks:
        text = made._problem(1, task, "report.html")
        assert ("731" in text, "12.5 %" in text) == (not task.impossible,) * 2


def test_the_page_names_figures_only_where_there_are_some(tmp_path):
    assert "figures/" not in report.write(a_run(), tmp_path, "t", "c", figures="none").read_text()
    made = report.page(a_run(), "t", "c")
    made.figures = True
    assert made.text().count("<code>figures/</code>") == 2


def test_the_ranking_prints_what_a_failure_is_charged():
    records = [timed("a", f"d{k}", 0.1) for k in range(3)]
    records += [timed("b", f"d{k}", math.inf, budget=1.0 + k) for k in range(2)] + [timed("b", "d2", 0.1)]
    assert "charged the limit of its own cell (here 1 s to 2 s)." in _text(records)
    assert "charged the limit of its own cell; here none failed." in _text([*records[:3], timed("b", "d2", 0.1)])


def _text(records) -> str:
    return re.sub(r"</?span[^>]*>", "", report.page(records, "t", "c").text())


def test_pairs_are_against_the_base_line_or_else_against_the_method_in_front():
    def base(flagged: str) -> str:
        records = [
            timed(m, f"d{k}", t, info={"peer": m == "quick", "baseline": m == flagged})
            for m, t in (("slow", 0.3), ("quick", 0.1))
            for k in range(3)
        ]
        study = page_studies.studies(analysis(records), ["#"] * 3)[0]
        return page_studies.base_of(study, study["sections"]["1e-6 wall"])

    assert (base("slow"), base("nobody")) == ("slow", "quick")
