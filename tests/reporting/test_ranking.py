"""Rankings, profiles and maps, each on a case worked by hand."""

import math

import numpy as np
import pytest
from sample_records import failure, solved
from timed_records import timed

from marginbench.harness.records.run_folder import about_run
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.failures import counted, failures, same
from marginbench.harness.reporting.heat import spearman
from marginbench.harness.reporting.medians import median_ratio
from marginbench.harness.reporting.profiles import data_profile, performance_profile, target_profile
from marginbench.harness.reporting.provenance import provenance
from marginbench.harness.reporting.ranking import first_share, par, ranking, shifted_geometric_mean
from marginbench.harness.reporting.ratios import pairs

INF = math.inf
T = np.array([[1.0, 2.0], [4.0, 1.0], [1.0, INF]])
LIMIT = np.array([[9.0, 9.0], [9.0, 9.0], [9.0, 5.0]])


def test_means_by_hand():
    shifted = shifted_geometric_mean(T, LIMIT, 1.0)
    assert shifted == pytest.approx([(2 * 5 * 2) ** (1 / 3) - 1, (3 * 2 * 6) ** (1 / 3) - 1])
    assert par(T, LIMIT) == pytest.approx([2.0, (2 + 1 + 10) / 3])


def test_who_reaches_more_is_before_who_is_faster():
    lazy = np.array([[5.0, 0.001], [5.0, 0.001], [5.0, INF]])
    rows = ranking(["sure", "quick"], lazy, np.full((3, 2), 10.0), np.arange(3), "wall")
    assert [(r.method, r.reached, r.fastest) for r in rows] == [("sure", 3, 1), ("quick", 2, 2)]
    assert rows[0].places == {"shift 0.001": 2, "shift 0.01": 2, "shift 0.1": 2, "PAR-2": 1, "reached": 1}
    assert rows[0].ratio == 1.0


@pytest.mark.parametrize("status", ["wrong", "inaccurate", "timeout", "crashed", "failed", "invalid", "memory"])
@pytest.mark.parametrize("accuracy", [1e-6, None])
def test_a_failure_never_wins_however_fast_it_claims_to_be(status, accuracy):
    records = [timed("honest", f"d{k}", 0.5) for k in range(3)]
    fast = {"solve_seconds": 1e-6, "primal": 1.0, "gap": 0.0, "cell": records[0].cell, "info": {"peer": False}}
    records += [
        failure(status, "liar", r.problem, dataset=r.dataset, hash=f"liar{k}", **fast) for k, r in enumerate(records)
    ]
    (study,) = analysis(records).studies
    section = study.section(accuracy)
    assert [(r.method, r.place, r.reached, r.mean) for r in section.ranking] == [
        ("honest", 1, 3, pytest.approx(0.5)),
        ("liar", 2, 0, pytest.approx(1.0)),  # the budget
    ]
    assert [steps[-1:] for steps in section.profile] == [[(1.0, 1.0)], []]
    (one,) = section.against_first
    assert (one.ratio, one.wins, one.losses, one.verdict) == (None, 0, 3, "not established")


def test_how_often_first_by_hand():
    """Two data sets, each method far ahead on one, `a` by more: it leads in the 3 of 4 draws that have its data set."""
    t = np.array([[1.0, 100.0], [2.0, 1.0]])
    assert first_share(t, np.full((2, 2), 200.0), np.arange(2), 0.01) == pytest.approx([0.75, 0.25], abs=0.03)
    together = first_share(t, np.full((2, 2), 200.0), np.zeros(2, dtype=int), 0.01)
    assert together.tolist() == [1.0, 0.0]  # one data set: nothing to draw
    twins = first_share(np.ones((3, 2)), np.ones((3, 2)), np.arange(3), 0.01)
    assert twins == pytest.approx([0.5, 0.5])


def test_profiles_by_hand():
    a, b = performance_profile(T)
    assert a == [(1.0, 2 / 3), (4.0, 1.0)]
    assert b == [(1.0, 1 / 3), (2.0, 2 / 3)]  # the failure never lifts it
    assert data_profile(T)[1] == [(1.0, 1 / 3), (2.0, 2 / 3)]
    assert target_profile([T, 2 * T])[0] == [(1.0, 2 / 6), (2.0, 4 / 6), (4.0, 5 / 6), (8.0, 1.0)]


def test_the_order_in_a_profile_depends_on_who_takes_part_so_that_pairs_stand_beside_it():
    """Gould and Scott: with c, b is more often within a factor of 2 of the best than a; without c, a is."""
    times = {"a": (1.0, 1.0, 8.0), "b": (3.0, 3.0, 1.0), "c": (9.0, 9.0, 0.4)}
    records = [timed(m, f"d{d}", 0.01 * t) for m, ts in times.items() for d, t in enumerate(ts)]
    (study,) = analysis(records).studies
    found = study.section(1e-6)
    alone = dict(zip(("a", "b"), found.pairwise_profile("a", "b"), strict=True))
    assert alone["b"][0] == (1.0, pytest.approx(1 / 3))
    whole = dict(zip(found.methods, found.profile, strict=True))
    assert whole["b"][0] == (pytest.approx(2.5), pytest.approx(1 / 3))


def test_the_map_has_ratios_to_the_best_and_rows_by_data_set_and_C():
    records = [timed(m, d, t, C) for m, f in (("x", 1.0), ("y", 3.0)) for d, C, t in CELLS for t in [f * t]]
    records[-1] = timed("y", "b", INF)
    (study,) = analysis(records).studies
    heat = study.section(1e-6).heat
    assert heat.methods == ("x", "y")
    assert [(row.dataset, row.C) for row in heat.rows] == [("a", 1.0), ("a", 10.0), ("b", 1.0)]
    assert [row.ratios for row in heat.rows] == [pytest.approx((1.0, 3.0))] * 2 + [(1.0, INF)]
    assert heat.rows[0].logs == pytest.approx((0.0, math.log10(3.0)))
    assert (heat.medians, heat.reached) == (pytest.approx((1.0, 3.0)), (3, 2))
    assert {e.feature for e in study.section(1e-6).effects} == {"C"}


def test_one_over_the_median_ratio_is_the_median_of_the_pair_turned_round():
    """Four problems, ratios 1, 2, 8, 16: the middle is 4 = sqrt(2 * 8), and 1/4 from the other side."""
    records = [timed(m, f"d{k}", 0.01 * t) for k, r in enumerate((1, 2, 8, 16)) for m, t in (("x", 1), ("y", r))]
    (study,) = analysis(records).studies
    section = study.section(1e-6)
    (against_x,), (against_y,) = (pairs(section.contest, base) for base in "xy")
    assert (against_x.median, against_y.median) == (pytest.approx(4.0), pytest.approx(0.25))
    assert against_x.inverse().median == pytest.approx(against_y.median)
    assert section.heat.medians == pytest.approx((1.0, against_x.median))
    assert median_ratio([1.0, 2.0, INF, INF]) == INF  # half of the problems are not enough
    assert median_ratio([1.0, 2.0, INF]) == 2.0


CELLS = (("a", 10.0, 0.1), ("a", 1.0, 0.2), ("b", 1.0, 0.1))


def test_spearman_by_hand():
    assert spearman([(1, 10), (2, 20), (3, 30), (4, 5)]) == pytest.approx(1 - 6 * (1 + 1 + 1 + 9) / (4 * 15))
    assert spearman([(1, 2), (2, 3), (3, 4)]) is None


def test_failures_with_the_same_message_but_for_numbers_are_one_group():
    records = [failure("timeout", "m", f"p{k}", message=f"spent {k}.5e-3 s of 2", hash=f"h{k}") for k in range(3)]
    records += [failure("crashed", "x", message="SIGSEGV"), failure("skipped", "s", message="misfit"), solved("ok")]
    groups = failures(Comparison.of(records))
    assert [(g.status, g.message, len(g.cases)) for g in groups] == [
        ("crashed", "SIGSEGV", 1),
        ("timeout", "spent … s of 2", 3),
        ("skipped", "misfit", 1),
    ]
    assert groups[1].methods == ("m",)
    assert [case.hash for case in groups[1].cases] == ["h0", "h1", "h2"]
    assert counted(groups) == {"crashed": 1, "timeout": 3, "skipped": 1}
    assert same("at 0x7f31 after 12 steps") == same("at 0xdead after 7 steps")


def test_a_run_is_told_with_the_commit_of_its_environment(tmp_path):
    (tmp_path / "run.json").write_text('{"command": "c"}')
    assert about_run(tmp_path) == {"command": "c", "commit": ""}
    (tmp_path / "environment.json").write_text('{"commits": {"marginbench": "abc with changes", "./mine": "d"}}')
    (run,) = provenance([], [about_run(tmp_path)]).runs
    assert (run.command, run.commit) == ("c", "abc with changes")


def test_every_machine_and_version_is_told_once():
    where = {"processor": "P", "cores": 2, "system": "S", "threads": {"libscipy_openblas-6c.so": 1}}
    records = [
        solved(problem=f"p{k}", machine=where | {"minor_faults": k}, versions={"numpy": "2", "x.solvers.a": "f"})
        for k in range(5)
    ]
    records.append(solved("other", machine=where | {"cores": 4}, versions={"numpy": "3"}))
    run = {"started": "2026-01-01", "command": "c", "versions": {"marginbench": "0.1"}, "machine": {"python": "3.12"}}
    found = provenance(records, [run, run])
    assert [(m.processor, m.cores, m.threads, m.cells) for m in found.machines] == [
        ("P", "2", "openblas 1", 5),
        ("P", "4", "openblas 1", 1),
    ]
    assert found.libraries == (("numpy", (("2", 5), ("3", 1))),)
    assert found.sources == (("x.solvers.a", (("f", 5),)),)
    assert [(r.started, r.command, r.marginbench, r.python) for r in found.runs] == [("2026-01-01", "c", "0.1", "3.12")]
