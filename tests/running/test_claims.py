"""Claims of a report hold, do not hold, or cannot be tested here, and then the answer says why."""

from collections import Counter
from dataclasses import replace

import pytest

from marginbench.harness.records.record import Record
from marginbench.harness.running.claims import (
    FAILS,
    HOLDS,
    UNTESTED,
    Rerun,
    all_hold,
    claims,
    rankings,
    text,
    value,
    verdict,
)

THEN = Record(status="solved", problem="p", primal=1.0, dual=0.9, primal_error=0.0, dual_error=0.0, solve_seconds=1.0)


def test_the_same_status_holds_and_another_one_does_not():
    assert verdict(Rerun(THEN, THEN)).answer == HOLDS
    changed = verdict(Rerun(THEN, replace(THEN, status="wrong")))
    assert str(changed) == "does not hold: was solved, is wrong"


@pytest.mark.parametrize(
    ("now", "reason", "capped", "said"),
    [
        (None, "there is no solver 'x' in this installation", "", "no solver 'x'"),
        (None, "", "", "interrupted"),
        ({"problem": "q"}, "", "", "data are not the same"),
        ({"status": "not_installed", "message": "osqp is not installed"}, "", "", "osqp is not installed"),
        ({"status": "crashed", "machine": {"signal": "SIGKILL"}}, "", "", "ended from outside"),
        ({"status": "timeout"}, "", "limits.seconds=900 then, at most 60 here", "under lower limits"),
    ],
)
def test_what_cannot_be_tested_says_why(now, reason, capped, said):
    claim = verdict(Rerun(THEN, None if now is None else replace(THEN, **now), reason, capped))
    assert claim.answer == UNTESTED
    assert str(claim).startswith("cannot be tested here, because ")
    assert said in str(claim)


def test_a_timeout_under_the_same_limits_is_a_change():
    assert verdict(Rerun(THEN, replace(THEN, status="timeout"))).answer == FAILS


def test_a_value_holds_while_it_has_a_point_in_common_with_what_is_proven_now():
    one = Rerun(THEN, THEN)
    assert value(one, (0.94, 0.95)).answer == HOLDS
    assert value(one, (0.5, 0.9)).answer == HOLDS
    assert "optimum is at most 0.8" in str(value(one, (0.7, 0.8)))
    assert "optimum is at least 1.1" in str(value(one, (1.1, 1.2)))
    assert value(one, None).answer == UNTESTED
    old = Rerun(replace(THEN, dual_error=None), THEN)  # without a bound of rounding errors
    assert value(old, (1.0 + 1e-10, 2.0)).answer == HOLDS
    assert value(one, (1.0 + 1e-10, 2.0)).answer == FAILS


def test_the_enclosure_is_that_of_all_records_of_the_problem():
    better = replace(THEN, primal=0.85, dual=0.84)
    found = claims([Rerun(THEN, THEN), Rerun(replace(THEN, solver="b", dual=None), better)])
    assert [(one.kind, one.answer) for one in found[:3]] == [("verdict", HOLDS), ("verdict", HOLDS), ("value", FAILS)]


def pair(solver: str, then: float, now: float, repeat: int = 0) -> Rerun:
    record = replace(THEN, solver=solver, solve_seconds=then, repeat=repeat)
    return Rerun(record, replace(record, solve_seconds=now))


def test_a_ranking_is_claimed_and_judged_only_beyond_noise():
    assert [c.answer for c in rankings([pair("a", 1.0, 1.0), pair("b", 3.0, 3.0)])] == [HOLDS]
    (swapped,) = rankings([pair("a", 1.0, 3.0), pair("b", 3.0, 1.0)])
    assert str(swapped) == "does not hold: was 3.0 times faster, is 3.0 times slower"
    assert [c.answer for c in rankings([pair("a", 1.0, 1.0), pair("b", 3.0, 1.2)])] == [UNTESTED]
    assert rankings([pair("a", 1.0, 9.0), pair("b", 1.5, 1.0)]) == []  # nothing was claimed
    assert rankings([pair("a", 0.001, 0.004), pair("b", 0.004, 0.001)]) == []  # milliseconds are noise
    assert rankings([pair("a", 0.0, 0.0), pair("b", 1.0, 1.0)]) == []  # no time, no ratio
    repeats = [pair(s, t + 0.01 * k, t + 0.01 * k, k) for s, t in (("a", 1.0), ("b", 1.2)) for k in range(3)]
    assert [c.answer for c in rankings(repeats)] == [HOLDS]


def test_the_counts_name_what_is_unreadable_and_terminals_are_safe():
    found = [
        verdict(Rerun(THEN, THEN)),
        verdict(Rerun(replace(THEN, dataset="\x1b[2J"), THEN, "no", "")),
        verdict(Rerun(THEN, None, "\x1b")),
    ]
    said = text(found, {"x.json": "cut short"}, Counter({"other code now: solvers/x.py changed": 2}))
    assert "verdicts: 2 of 4 hold, 1 cannot be tested here, 1 unreadable" in said
    assert "other code now: solvers/x.py changed (2 of the cells)" in said
    assert "\x1b" not in said
    assert all_hold(found[:1], {})
    assert not all_hold(found[:1], {"x.json": "cut short"})
    assert not all_hold(found, {})
