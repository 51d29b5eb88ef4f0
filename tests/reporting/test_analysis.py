"""What a report concludes: over the problems that all were asked, one accuracy at a time, as sure as it is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sample_records import a_run, failure, hostile_run, solved
from timed_records import simulated, timed

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.reporting.accuracy import CHOICES, CLOCKS
from marginbench.harness.reporting.analysis import Analysis, Section, Study, analysis
from marginbench.harness.reporting.ratios import BEST, Pair

INF = math.inf


def the_study(records) -> Study:
    (found,) = analysis(records).studies
    return found


def section(records, accuracy: float | None = 1e-6, clock: str = "wall") -> Section:
    return the_study(records).section(accuracy, clock)


def pair(found: Section, a: str, b: str) -> Pair:
    (one,) = [p for p in found.pairs if {p.a, p.b} == {a, b}]
    return one if one.a == a else one.inverse()


# -- who was asked what ----------------------------------------------------------------------------------------------


def test_problems_that_nobody_asked_of_a_method_are_not_its_failures():
    """`auto` solved 12 of 12, and was fifth as 12 of 26 in a report of two runs."""
    others = ["a", "b", "c", "d"]
    records = [timed(m, f"d{k}", 0.2 + 0.1 * s) for s, m in enumerate(others) for k in range(26)]
    records += [timed("auto", f"d{k}", 0.01) for k in range(12)]
    found = section(records)
    assert [(r.method, r.place, r.reached) for r in found.ranking][:2] == [("auto", 1, 12), ("a", 2, 12)]
    assert len(found.problems) == 12
    assert len(found.coverage.other_problems) == 14
    assert {one.why for one in found.coverage.other_problems} == {"auto: not asked"}
    assert found.answer.headline == "To 1e-6 on 12 problems, auto was fastest on all."
    assert "Unequal coverage: 12 of 26 problems were asked of all compared methods." in found.answer.warnings


def test_a_method_that_was_asked_next_to_nothing_does_not_shrink_the_comparison():
    records = [timed(m, f"d{k}", 0.1) for m in ("a", "b") for k in range(9)] + [timed("rare", "d0", 0.1)]
    found = section(records)
    assert (len(found.problems), set(found.methods)) == (9, {"a", "b"})
    assert [(one.name, one.why) for one in found.coverage.other_methods] == [("rare", "asked on 1 of 9 problems")]


def test_a_misfit_and_a_missing_library_are_left_out_with_their_reasons():
    records = [timed(m, f"d{k}", 0.1) for m in ("a", "b") for k in range(3)]
    misfit = failure("skipped", "b", "d9-C1.0-none-hinge", dataset="d9", message="no such bias", cell=records[0].cell)
    records += [timed("a", "d9", 0.1), misfit, replace(misfit, method="gone", status="not_installed", message="")]
    found = section(records)
    assert [(one.name, one.why) for one in found.coverage.other_problems] == [
        ("d9, C = 1, bias none", "b: skipped: no such bias")
    ]
    assert [(one.name, one.why) for one in found.study.question.absent] == [("gone", "not installed")]


def test_a_run_that_was_asked_for_less_says_nothing_of_more():
    records = [timed(m, "d", 0.1, asked=gap) for m, gap in (("loose", 1e-3), ("a", 1e-9), ("b", 1e-9))]
    found = the_study(records)
    assert set(found.section(1e-3).methods) == {"a", "b", "loose"}
    assert set(found.section(1e-9).methods) == {"a", "b"}
    assert found.section(1e-9).answer.headline == "To 1e-9 on 1 problem, no method reached it."
    assert any("Mixed accuracies were asked for: 1e-9 (2), 1e-3 (1)" in w for w in found.section(1e-3).answer.warnings)
    only = the_study([timed(m, "d", 0.1) for m in ("a", "b")])
    assert only.accuracies == (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, None)
    assert only.section(1e-9).answer.headline == "To 1e-9, nothing can be compared: a, b: asked for 1e-6 only."


def test_biases_are_apart_only_where_other_methods_take_them():
    def at(method: str, bias: str):
        return timed(method, "d", 0.1, bias=bias)

    same = [at(m, bias) for m in ("a", "b") for bias in ("none", "free")]
    assert [s.question.name for s in analysis(same).studies] == ["soft margin"]
    found = analysis([*same, at("lib", "free")]).studies
    assert [(s.question.name, s.question.methods) for s in found] == [
        ("soft margin, bias free", ("a", "b", "lib")),
        ("soft margin, bias none", ("a", "b")),
    ]


def test_no_solution_and_separation_have_tables_of_their_own():
    hard = {"C": INF, "dataset": "mixed"}
    records = [failure("infeasible", "proves", "h", solve_seconds=0.2, **hard), failure("timeout", "slow", "h", **hard)]
    records += [solved("perceptron", "s", info={"judge": "separation"}, gap=None, C=INF, updates=7)]
    records += [timed(m, "d", 0.1) for m in ("a", "b")]
    found = analysis(records)
    assert [s.question.name for s in found.studies] == ["soft margin"]
    assert [(p.method, p.proven) for p in found.proofs] == [("proves", True), ("slow", False)]
    assert [(s.method, s.separated, s.updates) for s in found.separations] == [("perceptron", True, 7)]


def false_proof() -> Analysis:
    """`claims` says that there is no hyperplane; a point of `good` is one."""
    hard = {"C": INF, "dataset": "d", "hash": "f", "solve_seconds": 0.01}
    return analysis([timed("good", "d", 0.5, INF), failure("infeasible", "claims", "d-Cinf-none-hinge", **hard)])


def test_a_problem_is_proven_to_have_no_solution_only_where_no_point_speaks_against_it():
    found = false_proof()
    assert found.proofs == []
    (study,) = found.studies
    assert [(rank.method, rank.reached) for rank in study.section(None).ranking] == [("good", 1), ("claims", 0)]
    assert study.warnings[0] == "Contradiction: 1 row against what is proven of the same problem: claims (1)."
    assert found.comparison.tasks[0].good(found.comparison.records) == 1


def test_a_reference_that_proves_no_solution_outweighs_the_point_of_a_row():
    found = analysis(false_proof().comparison.records, {"d-Cinf-none-hinge": Bounds(INF, INF, "stored")})
    assert {(p.method, p.proven) for p in found.proofs} == {("claims", True), ("good", False)}
    assert [r.method for r in found.comparison.contradictions] == ["good"]


# -- times -----------------------------------------------------------------------------------------------------------


def test_times_to_an_accuracy_on_three_clocks_are_those_of_a_plain_loop():
    own = {"info": {"peer": False}, "build_seconds": 0.5, "pass_seconds": 0.1}
    records = [
        solved(m, "p", s, cpu_seconds=0.25 * s, repeat=k, hash=f"{m}{k}", **own)
        for m, times in (("a", (1.0, 3.0, 2.0)), ("b", (4.0, 4.0, 4.0)))
        for k, s in enumerate(times)
    ]
    found = the_study(records)
    for accuracy in (1e-2, 1e-6, None):
        k = 30 if accuracy is None else next(i for i in range(1, 31) if 2.0 ** (1 - i) / (1 + 2.0**-i) <= accuracy)
        for clock, scale, unit in (("wall", 1.0, 1.0), ("cpu", 0.25, 1.0), ("passes", 1.0, 0.1)):
            block = found.section(accuracy, clock)
            expected = [(0.5 + scale * s * k / 30) / unit for s in (2.0, 4.0)]
            assert block.t[0].tolist() == pytest.approx(expected)
            assert block.limit[0] == pytest.approx([3.5 / unit, 4.5 / unit])  # the slowest of the cell's own runs


def test_a_limit_belongs_to_its_cell():
    records = [timed("slow", "d", 9.0, budget=10.0), timed("stopped", "d", INF, budget=2.0)]
    found = section(records)
    by = dict(zip(found.methods, found.limit[0], strict=True))
    assert by == {"slow": 10.0, "stopped": 2.0}
    ranks = {r.method: r for r in found.ranking}
    assert ranks["stopped"].par2 == 4.0
    assert ranks["slow"].place == 1  # a failure is never first, however little time it was given
    assert any(w.startswith("Mixed budgets: 10 s (1), 2 s (1)") for w in found.answer.warnings)


def test_passes_are_counted_on_the_machine_of_the_run():
    machines = [{"processor": name, "cores": 2} for name in ("fast", "slow")]
    records = [
        timed(m, "d", 0.1 * k, machine=machine, pass_seconds=0.01 * k, hash=f"{m}{k}", repeat=k)
        for m in ("a", "b")
        for k, machine in zip((1, 2), machines, strict=True)
    ]
    found = section(records, clock="passes")
    assert found.t.tolist() == [pytest.approx([10.0, 10.0])]
    assert any(w.startswith("Times come from 2 machines") for w in found.answer.warnings)


def test_a_clock_that_was_not_read_compares_nothing():
    records = [timed(m, "d", 0.1, cpu_seconds=None) for m in ("a", "b")]
    found = section(records, clock="cpu")
    assert found.answer.headline == "To 1e-6, nothing can be compared: its clock was not read."
    assert (found.ranking, found.pairs, found.t.size) == ([], [], 0)


# -- how sure --------------------------------------------------------------------------------------------------------


def test_one_solver_under_two_names_is_no_difference():
    verdicts = [section(simulated(seed, 1.0, 4, 0.1)).against_first[0].verdict for seed in range(100)]
    assert verdicts.count("no difference") + verdicts.count("not established") == len(verdicts)
    assert verdicts.count("no difference") >= 95


def test_a_planted_factor_is_found_with_enough_repeats_and_only_then():
    def found(repeats: int, noise: float = 0.2) -> int:
        seen = [section(simulated(seed, 1.3, repeats, noise, spread=0.05)).against_first[0] for seed in range(10)]
        assert not any(p.verdict == "slower" and p.a == "one" for p in seen)
        return sum(p.verdict == "slower" for p in seen)

    assert found(21) >= 9
    assert found(1) == found(2) == 0  # their noise is not known
    assert found(3, 1.0) <= 3
    one = section(simulated(0, 1.3, 21, 0.2, spread=0.05)).against_first[0]
    assert 1.2 < one.ratio < 1.4
    assert one.from_timing.low < 1.3 < one.from_timing.high


def test_a_difference_that_changes_its_sign_between_data_sets_is_not_established():
    ratios = (0.3, 4.0, 5.0, 0.5, 6.0)
    records = [
        timed(m, f"d{d}", 0.1 * scale * (1 + 0.01 * k), repeat=k)
        for d, ratio in enumerate(ratios)
        for m, scale in (("x", 1.0), ("y", ratio))
        for k in range(3)
    ]
    one = pair(section(records), "y", "x")
    assert one.ratio == pytest.approx(math.prod(ratios) ** 0.2)
    assert (one.verdict, one.why) == ("not established", "differs between problems")
    assert one.from_timing.low > 1.0 > one.over_problems.low
    text = section(records).answer.sentences[0].text
    assert text.startswith("y took 1.8 times as long (0.")
    assert text.endswith("from timing): not established.")


def test_single_runs_establish_nothing_and_say_so():
    records = [timed(m, f"d{d}", t * (1 + d)) for m, t in (("x", 0.1), ("y", 0.5)) for d in range(6)]
    found = section(records)
    (one,) = found.against_first
    assert (one.ratio, one.from_timing, one.verdict) == (pytest.approx(5.0), None, "not established")
    assert "single runs): not established." in found.answer.sentences[0].text
    accuracy, rest = "accuracy 1e-6 (certified relative gap)", "budget 1 s, one run per cell, wall over CPU 1.00"
    assert found.answer.setting == f"{accuracy}, {rest}"
    assert found.floor is None


def test_the_noise_floor_is_of_all_pairs_of_repeats():
    """Times 1, 2, 4 differ by 2, 2 and 4; those of a cell that was run once by nothing."""
    records = [timed("x", "d", 0.1 * t, repeat=k) for k, t in enumerate((1, 2, 4))] + [timed("y", "d", 0.1)]
    expected = math.exp(np.percentile(np.log([2, 2, 4]), 95))
    assert section(records).floor == pytest.approx(expected)


def test_wins_ties_and_losses_are_beyond_the_noise():
    """Noise 1.1: 1.05 is a tie, 2 a loss, 0.5 a win, alone there a win; where neither arrives there is no winner."""
    x = (0.1, 0.1, 0.1, 0.1, INF, 0.1)
    y = (0.105, 0.2, 0.05, INF, INF, 0.1)
    records = [
        timed(m, f"d{d}", t * (1.1 if k == 1 else 1.0), repeat=k)
        for m, times in (("x", x), ("y", y))
        for d, t in enumerate(times)
        for k in range(3)
    ]
    one = pair(section(records), "x", "y")
    assert (one.wins, one.ties, one.losses, one.neither) == (2, 2, 1, 1)
    assert (one.both, one.only_a, one.only_b) == (4, 1, 0)
    back = one.inverse()
    assert (back.wins, back.losses, back.only_b) == (1, 2, 1)
    assert (back.least, back.most, back.least_on) == pytest.approx((0.5, 2.0, 2))


def test_the_best_peer_is_one_more_method_of_the_pairs_and_not_of_the_ranking():
    times = {"own": (0.1, 0.1), "lib_a": (0.3, 0.9), "lib_b": (0.6, 0.5)}
    records = [
        timed(m, f"d{d}", t, info={"peer": m.startswith("lib")}) for m, ts in times.items() for d, t in enumerate(ts)
    ]
    found = section(records)
    assert pair(found, BEST, "own").ratio == pytest.approx(math.sqrt(15.0))
    assert BEST not in found.methods
    assert [pair.a for pair in found.pairs if pair.b == BEST] == ["own"]  # a library may be the best peer itself
    assert found.study.base == "own"


# -- everything together ---------------------------------------------------------------------------------------------


def test_contention_wrong_answers_and_contradictions_are_said():
    busy = [timed(m, "d", 0.3, cpu_seconds=0.1) for m in ("a", "b")]
    assert any("wall time was 3.00 times CPU time" in w for w in section(busy).answer.warnings)
    calm = [timed(m, "d", 0.3) for m in ("a", "b")]
    assert section(calm).answer.warnings == ()
    liar = replace(timed("liar", "d", 0.1), status="wrong")
    assert "Wrong: 1 run claimed an optimum that is none: liar (1)." in section([*calm, liar]).answer.warnings
    false = timed("false", "d", 0.2, primal=0.5, dual=0.4, own_dual=0.4)
    assert any(w.startswith("Contradiction: 1 row") for w in section([*calm, false]).answer.warnings)


@pytest.mark.parametrize("records", [[], [failure("failed")], [failure("skipped", "s")], a_run(3), hostile_run()])
def test_whatever_the_records_are_everything_can_be_looked_at(records):
    found = analysis(records)
    for study in found.studies:
        for accuracy in CHOICES:
            for clock in CLOCKS:
                one = study.section(accuracy, clock)
                assert one.answer.text
                assert len(one.profile) == len(one.data_profile) == len(one.ranking) == len(one.heat.methods)
                assert not np.isnan(one.t).any()
                assert len(one.against_first) <= len(one.pairs)
                assert all(math.isfinite(x) for e in one.effects for point in e.points for x in point)
                assert len(one.points) == one.t.size
        assert study.targets()[0]
    assert isinstance(found.failures, list)
    assert found.provenance.machines is not None


def test_the_order_of_records_changes_nothing():
    records = a_run(3)
    texts = [[s.section(1e-6).answer.text for s in analysis(rows).studies] for rows in (records, records[::-1])]
    assert texts[0] == texts[1]


def test_who_is_fastest_most_often_and_who_ranks_first_are_both_named():
    often = {"quick": (0.1, 0.1, INF), "sure": (0.2, 0.2, 0.2)}
    records = [timed(m, f"d{d}", t) for m, times in often.items() for d, t in enumerate(times)]
    assert section(records).answer.headline == (
        "To 1e-6 on 3 problems, quick was fastest on 2 and reached it on 2; sure ranks first: it got there on all."
    )
    uneven = {"quick": (0.1, 0.1, 0.9), "even": (0.11, 0.11, 0.11)}
    records = [timed(m, f"d{d}", t) for m, times in uneven.items() for d, t in enumerate(times)]
    assert section(records).answer.headline == (
        "To 1e-6 on 3 problems, quick was fastest on 2; even ranks first: its mean is the smallest."
    )
    records += [timed(m, "d3", t) for m, t in (("quick", 0.2), ("even", 0.1))]
    assert section(records).answer.headline == "To 1e-6 on 4 problems, even was fastest on 2, as often as quick."


def test_many_problems_tell_what_no_single_cell_can():
    """Sixty data sets, runs of a cell differ by up to 2.2: a factor of 1.5 is a tie on each, and yet established."""
    noise = (0.67, 1.0, 1.5)
    records = [
        timed(m, f"d{d}", 0.1 * scale * t, repeat=k)
        for d in range(60)
        for m, scale in (("x", 1.0), ("y", 1.5))
        for k, t in enumerate(noise)
    ]
    found = section(records)
    (one,) = found.against_first
    assert found.floor > 1.5
    assert (one.wins, one.ties, one.losses) == (0, 60, 0)
    assert one.verdict == "slower"


def test_one_problem_is_told_as_one():
    times = {"a": (0.1, 0.1, 0.1), "b": (0.2, INF, INF)}
    records = [timed(m, f"d{d}", t) for m, ts in times.items() for d, t in enumerate(ts)]
    (sentence,) = section(records).answer.sentences
    assert sentence.text.startswith("b took 2 times as long on the one problem that both reached (")
