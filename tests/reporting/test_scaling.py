"""Exponents: those of data that follow a power law are found, and their intervals hold them."""

import math

import numpy as np
import pytest
from sample_records import failure, solved

from marginbench.harness.reporting import scaling
from marginbench.harness.reporting.comparison import Comparison


def cell(**dataset):
    return {"dataset": {"_target_": "made", **dataset}, "problem": {"C": 1.0}}


def on(n, d, method="auto", seconds=1.0, make=solved, **more):
    about = {"n": n, "d": d, "nnz": n * d, "cell": cell(n=n, d=d), "hash": f"{method}-{n}-{d}-{seconds}"}
    return make(method, f"p-{n}-{d}", **{"seconds": seconds} if make is solved else {}, **about, **more)


def test_an_exact_power_law_has_its_exponent_and_no_width():
    sizes = [1e3, 1e4, 1e5, 1e6]
    power = scaling.fitted(sizes, [3e-6 * size**1.2 for size in sizes])
    assert power.exponent == pytest.approx(1.2)
    assert power.last == pytest.approx(1.2)
    assert (power.low, power.high) == pytest.approx((1.2, 1.2))
    assert power.largest == pytest.approx(3e-6 * 1e6**1.2)


def test_nineteen_in_twenty_intervals_hold_the_exponent():
    rng, sizes, held = np.random.default_rng(0), np.logspace(3, 6, 7), 0
    for _ in range(400):
        power = scaling.fitted(sizes, list(sizes**0.9 * np.exp(0.3 * rng.normal(size=7))))
        held += power.low <= 0.9 <= power.high
    assert 0.92 <= held / 400 <= 0.98


def test_two_sizes_are_no_law():
    assert scaling.fitted([1.0, 10.0], [1.0, 10.0]) is None
    assert scaling.fitted([1.0, 10.0, 100.0], [1.0, None, math.inf]) is None


def test_each_setting_that_alone_varies_is_a_ladder_of_its_own():
    records = [on(n, 5, seconds=1e-5 * n, peak_mb=100.0 + 1e-3 * n) for n in (1000, 10_000, 100_000, 1_000_000)]
    records += [on(1000, d, seconds=1e-4 * d**2) for d in (50, 500)]
    found = {one.axis: one for one in scaling.ladders(Comparison.of(records))}
    assert set(found) == {"n", "d"}
    assert found["d"].sizes == [5, 50, 500]
    by_n = found["n"]
    assert by_n.power("time").exponent == pytest.approx(1.0)
    assert by_n.power("memory").exponent == pytest.approx(1.0)  # beyond what the smallest took
    assert by_n.sizes == [1000, 10_000, 100_000, 1_000_000]


def test_sizes_that_were_not_solved_are_counted_and_not_fitted():
    records = [on(n, 5, seconds=1e-5 * n) for n in (1000, 10_000, 100_000)]
    records.append(on(1_000_000, 5, make=lambda *a, **k: failure("timeout", *a, **k)))
    (found,) = scaling.ladders(Comparison.of(records))
    assert (len(found.solved), len(found.sizes)) == (3, 4)
    assert found.power("time").exponent == pytest.approx(1.0)
    text = scaling.markdown([found])
    assert "3 of 4" in text
    assert "Exponents of n" in text
    assert scaling.frame([found]).set_index("quantity").loc["time", "exponent"] == pytest.approx(1.0)


def test_times_of_several_settings_stand_side_by_side_first():
    records = [on(n, 5, seconds=1e-5 * n) for n in (1000, 10_000, 100_000)]
    one_setting = scaling.markdown(scaling.ladders(Comparison.of(records)))
    assert one_setting.startswith("overlapping")
    records += [on(1000, d, seconds=1e-4 * d**2) for d in (50, 500)]
    records.append(on(1000, 5000, make=lambda *a, **k: failure("timeout", *a, **k)))
    first, *_ = scaling.markdown(scaling.ladders(Comparison.of(records))).split("\n\n", 2)[1:]
    heads, _, row = first.splitlines()
    assert heads.count("|") == row.count("|") == 4
    assert "n = " in heads
    assert "d = " in heads
    assert "1.00" in row
    assert "3 of 4 sizes" in row


def test_methods_with_other_threads_are_other_ladders():
    sizes = (1000, 10_000, 100_000)
    records = [on(n, 5, seconds=1e-5 * n / t, threads=t) for n in sizes for t in (1, 2)]
    assert {one.method for one in scaling.ladders(Comparison.of(records))} == {"auto threads=1", "auto threads=2"}


def test_no_sizes_no_table():
    assert scaling.ladders(Comparison.of([solved(), solved("pegasos")])) == []
    assert scaling.markdown([]) == ""
