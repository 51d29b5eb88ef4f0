"""What every method paid: which runs tell, the noise of cells that ran once, the base of tables, the unit of passes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from timed_records import OWN, traced

from marginbench.harness.records.record import Record
from marginbench.harness.reporting.analysis import Study, analysis
from marginbench.harness.reporting.ratios import BEST, Pair, pairs


def the_study(records: list[Record]) -> Study:
    (found,) = analysis(records).studies
    return found


def seconds(records: list[Record], method: str, accuracy: float = 1e-6) -> list[float]:
    study = the_study(records)
    return study.ledger.costs(accuracy, "wall").t[:, study.question.methods.index(method)].tolist()


def against(records: list[Record], a: str, b: str, accuracy: float = 1e-6) -> Pair:
    (one,) = [p for p in pairs(the_study(records).section(accuracy).contest, b) if p.a == a]
    return one


def test_a_run_that_was_given_more_time_stands_for_those_that_were_given_less():
    """LIBLINEAR stopped after 10 s twice, and there after 300 s: the median of the three would be never."""

    def given(method: str, curve: list[tuple], budget: float, repeat: int, gap: float = 1e-9) -> Record:
        limits = {"budget": {"seconds": budget, "gap": gap}, "limits": {"seconds": budget}}
        status, last = ("solved", curve[-1][1]) if curve else ("timeout", None)
        key = {"hash": f"{method}{budget}-{repeat}", "repeat": repeat}
        return traced(method, curve, cell=OWN | limits, status=status, gap=last, **key)

    short = [given("slow", [], 10.0, 0), given("slow", [], 10.0, 1), given("fast", [(0.1, 1e-10)], 10.0, 0)]
    assert seconds(short, "slow") == [math.inf]
    longer = [*short, given("slow", [(300.0, 1e-10)], 400.0, 0)]
    assert seconds(longer, "slow") == [300.0]
    assert against(longer, "slow", "fast").ratio == pytest.approx(3000.0)
    looser = [*short, given("fast", [(0.2, 1e-6)], 400.0, 0, gap=1e-6)]
    assert (seconds(looser, "fast", 1e-6), seconds(looser, "fast", 1e-9)) == ([0.2], [0.1])  # 1e-9: not asked of it


def test_a_method_that_arrives_in_less_than_half_of_its_runs_has_no_time():
    runs = [traced("auto", [(1.0, 1e-12)], repeat=k, hash=f"{k}") for k in range(5)]
    assert seconds(runs, "auto") == [1.0]
    assert seconds([replace(r, curve=[]) if r.repeat > 1 else r for r in runs], "auto") == [math.inf]


def test_a_cell_without_repeats_has_the_noise_of_those_with_them():
    rng = np.random.default_rng(1)
    cheap = [
        traced(m, [(base * math.exp(rng.normal(0.0, 0.1)), 1e-12)], f"p{p}", repeat=k, hash=f"{m}{p}{k}")
        for m, base in (("auto", 1.0), ("slow", 3.0))
        for p in range(4)
        for k in range(20)
    ]
    dear = [traced(m, [(base, 1e-12)], "dear") for m, base in (("auto", 10.0), ("slow", 30.0))]
    found = against(cheap + dear, "slow", "auto").from_timing
    assert found.low < 3.0 < found.high
    # Medians of 20 runs are good to 0.03, the two of one run to 0.1 each, and the mean is over five problems.
    expected = 2 * 1.96 * math.sqrt(2) * math.hypot(0.1, 2 * 0.03) / 5
    assert 0.5 < math.log(found.high / found.low) / expected < 2.0
    alone = against(dear, "slow", "auto")
    assert (alone.ratio, alone.from_timing) == (pytest.approx(3.0), None)


def test_the_best_peer_has_the_noise_of_the_library_that_is_best():
    rng = np.random.default_rng(0)
    records = [
        traced(m, [(base * rng.uniform(0.95, 1.05), 1e-12)], f"p{p}", peer="lib" in m, repeat=k, hash=f"{m}{p}{k}")
        for m, base in (("auto", 1.0), ("lib", 1.01), ("slow_lib", 2.0))
        for p in range(4)
        for k in range(5)
    ]
    assert against(records, BEST, "auto").from_timing == against(records, "lib", "auto").from_timing


def test_without_a_base_line_the_base_is_the_own_method_that_arrives_most_often():
    records = [traced(m, [(t, gap)]) for m, t, gap in (("fast", 0.1, 1e-4), ("sure", 0.5, 1e-9), ("late", 0.6, 1e-9))]
    records.append(traced("lib", [(0.01, 1e-12)], peer=True))
    assert the_study(records).base == "sure"
    assert the_study([*records, traced("auto", [(9.0, 1e-2)])]).base == "auto"


def test_passes_use_one_unit_for_all_methods_of_a_problem():
    records = [traced(m, [(1.0, 1e-12)], pass_seconds=u) for m, u in (("a", 0.1), ("b", 0.2), ("c", 0.4))]
    assert the_study(records).ledger.costs(1e-6, "passes").t.tolist() == [[5.0, 5.0, 5.0]]
