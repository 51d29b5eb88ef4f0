"""The judge is another process: no solver changes what it is judged by, or hides its time."""

from pathlib import Path

import numpy as np
import pytest

from marginbench.harness.cell.measure import Step
from marginbench.harness.cell.spec import Cell
from marginbench.harness.running.isolation import JUDGES, Isolation
from marginbench.harness.running.job import Job, Limits
from marginbench.harness.running.judge import Clock
from marginbench.harness.running.mapped_data import spill

WORK = 0.3
LIMITS = Limits(seconds=20.0, memory_mb=500.0)


@pytest.fixture(scope="module")
def isolation():
    with Isolation() as isolation:
        yield isolation


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Rows so short that every margin stays below 1: alpha = upper is the optimum."""
    X = 0.02 * np.random.default_rng(0).normal(size=(40, 3))
    return spill(X, np.where(X[:, 0] > 0, 1.0, -1.0), "short", tmp_path_factory.mktemp("data"))


@pytest.fixture
def run(isolation, data):
    def record(solver: str, **arguments):
        cell = Cell(
            dataset={},
            problem={"C": 1.0, "bias": "none"},
            formulation={"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
            solver={"_target_": f"escapes.{solver}", **arguments},
            dataset_name="short",
            formulation_name="dual_qp",
            solver_name=solver,
            budget={"seconds": 5.0, "gap": 1e-6},
        )
        return isolation.run(cell, data, "d", None, LIMITS).record

    return record


def test_no_solver_was_ever_loaded_into_the_process_that_judges_are_forked_from(run, isolation):
    assert run("Claims").status == "solved"
    judges, job = isolation._living(JUDGES), Job("escapes.modules", ("",), LIMITS)
    judges.give(job)
    loaded = judges.take(job, 10.0)[0].text["modules"]
    assert "marginbench.harness.running.judge" in loaded
    assert not [name for name in loaded if name.startswith("marginbench.solvers") or name == "faulty"]


def test_who_changes_the_program_is_judged_by_the_problem_that_was_asked(run):
    record = run("Doubled")
    assert record.status == "wrong"
    assert record.kkt_dual == pytest.approx(1.0)


@pytest.mark.parametrize("where", ["call", "patched clock", "after"])
def test_time_that_is_hidden_from_the_clock_is_charged(where, run):
    record = run("Hidden", where=where)
    assert record.solve_seconds >= 0.95 * WORK
    assert record.cpu_seconds >= 0.95 * WORK
    assert record.unaccounted_seconds < 0.5 * WORK


def test_nothing_is_compiled_on_the_clock(run):
    record = run("Compiling")
    assert (record.status, record.info["compiled"]) == ("solved", 0)


def test_every_rung_of_a_ladder_is_climbed_in_a_process_of_its_own(run):
    record = run("Remembering")
    assert record.status == "solved"
    assert record.info["done"] == 1
    assert [entry["iteration"] for entry in record.curve] == [1, 2, 3]


def test_a_claim_outside_the_vocabulary_is_invalid(run):
    record = run("Claims", claim="optimal")
    assert record.status == "invalid"
    assert "'optimal'; possible are converged, " in record.message


@pytest.mark.parametrize(
    ("factor", "claim", "false"), [(0.999, "converged", True), (0.999, "limit", False), (1.0, "converged", False)]
)
def test_a_claim_of_convergence_above_the_gap_asked_is_counted_also_where_it_is_not_plainly_wrong(
    factor, claim, false, run
):
    record = run("Claims", claim=claim, factor=factor)
    assert record.status == ("solved" if factor == 1.0 else "inaccurate")
    assert record.false_claim is false


def test_what_a_solver_says_of_itself_is_cut_with_a_note(run):
    record = run("Claims", info=10**6)
    assert record.status == "solved"
    assert "left out" in record.info["note"]


@pytest.mark.parametrize(
    ("inside", "outside", "cpu", "charged"),
    [
        (1.0, 1.01, 1.01, 1.0),
        (0.001, 0.002, 0.002, 0.001),
        (0.5, 1.0, 1.0, 1.0),  # it worked longer than it says
        (0.0, 0.05, 0.05, 0.05),
        (1.0, 1.2, 1.0, 1.0),  # the judge had to wait for its turn
        (0.5, 1.0, 0.5, 1.0),  # nobody waits that long
        (-5.0, 0.001, 0.001, 0.001),
        (2.0, 1.0, 1.0, 1.0),
    ],
)
def test_the_outside_clock_counts_where_the_inner_one_tells_less_than_handing_over_explains(
    inside, outside, cpu, charged
):
    assert Clock(outside, cpu).charged(Step(1, inside, inside, None))[0] == charged


def test_cpu_time_is_what_is_seen_from_outside_unless_that_is_handing_over():
    step = Step(1, seconds=1.0, cpu_seconds=0.2, iterate=None)
    assert Clock(outside=1.01, cpu=0.9).charged(step) == (1.0, 0.9)  # its own clock lost most of it
    assert Clock(outside=1.01, cpu=1.005).charged(step) == (1.0, 1.0)  # the rest was handing over
    assert Clock(outside=1.01, cpu=1.9).charged(Step(1, 1.0, 1.8, None)) == (1.01, 1.9)  # more than it says


def test_threads_take_as_many_cpu_seconds_each_as_the_wall_and_no_more():
    step = Step(1, seconds=1.0, cpu_seconds=1.9, iterate=None)
    assert Clock(outside=1.01, cpu=1.95, threads=2).charged(step) == (1.0, 1.95)
    assert Clock(outside=1.5, cpu=2.5, threads=2).charged(step) == (1.5, 2.5)  # work that its own clock has not seen
    assert Clock(outside=1.01, cpu=1.95, threads=1).charged(step) == (1.01, 1.95)


def test_time_does_not_run_back_where_a_later_step_excuses_what_an_earlier_one_could_not():
    """Of a busy machine: 0.12 s were charged at one iterate, and 0.0055 s at the next."""
    clock = Clock(outside=10.0, cpu=0.1)
    before = clock.charged(Step(1, 0.1, 0.1, None))
    assert before == (10.0, 0.1)
    clock.outside, clock.allowed = 10.1, 20.0
    assert clock.charged(Step(2, 0.2, 0.1, None)) == before
    assert Clock(outside=10.1, cpu=0.1, allowed=20.0).charged(Step(2, 0.2, 0.1, None))[0] == 0.2
