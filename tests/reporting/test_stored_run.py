"""One stored run, three methods on three data sets, three repeats: every statistic again, from its JSON, by loops."""

import json
import math
from collections import defaultdict
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from marginbench.harness.records.store import Store
from marginbench.harness.reporting.analysis import Section, analysis

STORED = Path(__file__).resolve().parents[1] / "data" / "repeated"
ACCURACY = 1e-6


def times_to(accuracy: float) -> dict[str, dict[str, list[float]]]:
    """[data set][method]: seconds of each run until a certified gap that small, or for a peer a point that good."""
    files = [json.loads(path.read_text())["record"] for path in sorted((STORED / "cells").glob("*.json"))]
    assert len(files) == 27
    best = defaultdict(lambda: -math.inf)
    for r in files:
        best[r["problem"]] = max(best[r["problem"]], r["own_dual"] or -math.inf)
    found: dict = defaultdict(lambda: defaultdict(list))
    for r in files:
        times = [math.inf]
        for entry in r["curve"]:
            errors = [entry["gap"]] if entry["gap"] is not None else []
            if r["info"]["peer"] and entry["primal"]:
                errors.append((entry["primal"] - best[r["problem"]]) / entry["primal"])
            if any(0.0 <= error <= accuracy for error in errors):
                times.append(entry["seconds"] + r["build_seconds"])
        found[r["dataset"]][r["method"]].append(min(times))
    return found


@pytest.fixture(scope="module")
def raw() -> dict[str, dict[str, list[float]]]:
    return times_to(ACCURACY)


@pytest.fixture(scope="module")
def section() -> Section:
    (study,) = analysis(Store(STORED).records()).studies
    return study.section(ACCURACY)


def middle(raw) -> dict[str, dict[str, float]]:
    return {d: {m: sorted(runs)[len(runs) // 2] for m, runs in methods.items()} for d, methods in raw.items()}


@pytest.fixture(scope="module")
def medians(raw) -> dict[str, dict[str, float]]:
    return middle(raw)


def test_times_are_medians_of_the_runs(section, medians):
    for p, task in enumerate(section.problems):
        for s, method in enumerate(section.methods):
            assert section.t[p, s] == pytest.approx(medians[task.sample.dataset][method])


def test_the_ranking(section, medians):
    means = {m: math.exp(np.mean([math.log(medians[d][m] + 0.01) for d in medians])) - 0.01 for m in section.methods}
    assert [r.method for r in section.ranking] == sorted(means, key=lambda m: means[m])
    for r in section.ranking:
        assert r.mean == pytest.approx(means[r.method])
        assert r.par2 == pytest.approx(np.mean([medians[d][r.method] for d in medians]))  # nothing failed
        assert r.fastest == sum(medians[d][r.method] == min(medians[d].values()) for d in medians)


def test_pairs_with_both_intervals(section, raw, medians):
    rng = np.random.default_rng(0)
    for pair in section.pairs:
        if pair.b == "best peer" or pair.a == "best peer":
            continue
        logs = np.array([math.log(medians[d][pair.a] / medians[d][pair.b]) for d in medians])
        assert pair.ratio == pytest.approx(math.exp(logs.mean()))
        assert pair.median == pytest.approx(math.exp(sorted(logs)[1]))
        # Three data sets: Student's t with the deviation of the mean, as in any textbook, is what the bootstrap gives.
        far = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / math.sqrt(3)
        ends = math.log(pair.over_problems.low), math.log(pair.over_problems.high)
        assert ends == pytest.approx((logs.mean() - far, logs.mean() + far), abs=0.08 * far + 1e-9)
        drawn = np.zeros(20_000)
        for d in medians:
            for m, sign in ((pair.a, 1.0), (pair.b, -1.0)):
                runs = np.sort(rng.choice(raw[d][m], (drawn.size, 3)), axis=1)[:, 1]
                drawn += sign * np.log(runs) / 3
        low, high = np.percentile(drawn, [2.5, 97.5])
        got = math.log(pair.from_timing.low), math.log(pair.from_timing.high)
        assert got == pytest.approx((low, high), abs=0.12 * (high - low))
        assert pair.p == pytest.approx(stats.wilcoxon(logs).pvalue)


def test_the_noise_floor_and_what_is_beyond_it(section, raw, medians):
    apart = [abs(math.log(a / b)) for ms in raw.values() for runs in ms.values() for a, b in combinations(runs, 2)]
    assert len(apart) == 27
    floor = math.exp(np.percentile(apart, 95))
    assert section.floor == pytest.approx(floor)
    pair = section.pairs[0]
    ratios = [medians[d][pair.a] / medians[d][pair.b] for d in medians]
    counts = (sum(r < 1 / floor for r in ratios), sum(r > floor for r in ratios))
    assert (pair.wins, pair.losses) == counts
    assert pair.ties == 3 - sum(counts)


def test_the_profile(section, medians):
    for method, steps in zip(section.methods, section.profile, strict=True):
        ratios = sorted(medians[d][method] / min(medians[d].values()) for d in medians)
        assert steps[-1] == (pytest.approx(ratios[-1]), 1.0)
        for x, share in steps:
            assert share == pytest.approx(sum(r <= x * (1 + 1e-12) for r in ratios) / 3)


def test_the_correction_of_p_for_all_pairs(section):
    """Holm: the k-th smallest of m is multiplied by m - k + 1, none is smaller than the one before, none above 1."""
    least = 0.0
    ordered = sorted(section.pairs, key=lambda pair: pair.p)
    for k, pair in enumerate(ordered):
        least = max(least, pair.p * (len(ordered) - k))
        assert pair.p_holm == pytest.approx(min(least, 1.0))


def test_how_often_each_leads(section, medians):
    """Three data sets are drawn in 27 ways, each as likely as the other: who has the smallest mean in how many?"""
    wins = dict.fromkeys(section.methods, 0)
    for drawn in product(medians, repeat=3):
        means = {m: sum(math.log(medians[d][m] + 0.01) for d in drawn) for m in section.methods}
        wins[min(means, key=lambda m: means[m])] += 1
    for r in section.ranking:
        assert r.first == pytest.approx(wins[r.method] / 27, abs=0.03)


def test_the_places_by_other_measures(section, medians):
    for name, measure in {
        "shift 0.001": lambda ts: math.prod(t + 0.001 for t in ts),
        "shift 0.1": lambda ts: math.prod(t + 0.1 for t in ts),
        "PAR-2": sum,
    }.items():
        value = {m: measure([medians[d][m] for d in medians]) for m in section.methods}
        for r in section.ranking:
            assert r.places[name] == 1 + sum(v < value[r.method] * (1 - 1e-12) for v in value.values())


def test_shares_within_a_time_of_problems_and_of_targets(section, medians):
    for method, steps in zip(section.methods, section.data_profile, strict=True):
        for x, share in steps:
            assert share == pytest.approx(sum(medians[d][method] <= x * (1 + 1e-12) for d in medians) / 3)
    study = section.study
    wanted = [10.0**-k for k in range(2, 10) if 10.0**-k >= study.accuracy * 0.999]
    tables = [middle(times_to(a)) for a in wanted]
    assert all(math.isfinite(t) for table in tables for row in table.values() for t in row.values())
    for method, steps in zip(*study.targets(), strict=True):
        targets = [table[d][method] for table in tables for d in table]
        assert steps[-1] == (pytest.approx(max(targets)), 1.0)
        for x, share in steps:
            assert share == pytest.approx(sum(t <= x * (1 + 1e-12) for t in targets) / len(targets))


def test_the_map_and_its_totals(section, medians):
    ratios = {m: sorted(medians[d][m] / min(medians[d].values()) for d in medians) for m in section.methods}
    for s, method in enumerate(section.heat.methods):
        assert section.heat.medians[s] == pytest.approx(ratios[method][1])
        assert sorted(row.ratios[s] for row in section.heat.rows) == pytest.approx(ratios[method])
        assert section.heat.reached[s] == 3


def test_the_best_peer(section, medians):
    peers = section.study.question.peers
    assert peers
    for pair in section.pairs:
        if "best peer" in (pair.a, pair.b):
            own = pair.a if pair.b == "best peer" else pair.b
            logs = [math.log(min(medians[d][m] for m in peers) / medians[d][own]) for d in medians]
            expected = math.exp(sum(logs) / 3)
            assert pair.ratio == pytest.approx(expected if pair.a == "best peer" else 1 / expected)
            assert own not in peers
