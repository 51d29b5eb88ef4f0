"""The end of a run on a terminal: the answer in words, a ranking, failures grouped, in eighty columns."""

import math

import pytest
from sample_records import HOSTILE, a_run, failure, solved

from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.conclusion import conclusion


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    records = [*a_run(3), failure("failed", "x", message=HOSTILE + " long" * 300)]
    text = conclusion(analysis(records), width)
    assert max(map(len, text.splitlines())) <= width
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_it_says_what_the_report_says():
    found = analysis(a_run(3))
    section = found.studies[0].section(found.studies[0].accuracy)
    text = " ".join(conclusion(found, 1000).split())
    assert " ".join(section.answer.headline.split()) in text
    for rank in section.ranking:
        assert rank.method in text
    assert "mean: geometric, shifted by 10 ms; a failure counts as its cell's limit" in text


def test_failures_of_one_kind_are_one_line():
    records = [failure("failed", f"x{k}", message=f"division by zero in step {k}") for k in range(7)]
    text = conclusion(analysis([*a_run(3), *records]), 1000)
    assert text.count("division by zero") == 1
    assert "failed x7" in text


def test_a_single_cell_needs_no_conclusion():
    assert conclusion(analysis(a_run(1)[:1]), 80) == ""


def test_a_contradiction_is_said_where_nothing_is_compared_too():
    """The perceptron separates, so that it is not ranked; its point is a proof all the same."""
    hard = {"C": math.inf, "dataset": "d"}
    point = solved("perceptron", "p", info={"judge": "separation"}, **hard)
    text = conclusion(analysis([point, failure("infeasible", "claims", "p", hash="f", **hard)]), 1000)
    assert "warning: Contradiction: 1 row against what is proven of the same problem: claims (1)." in text
