"""The clock counts all that the solver does, and nothing else."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from problems import random_problem

from marginbench.harness.cell import looks
from marginbench.harness.cell.certificate import Certificate
from marginbench.harness.cell.looks import FIRST, MOST, SHARE
from marginbench.harness.cell.measure import Budget, Step, climb, pass_seconds, schedule, steps
from marginbench.harness.cell.tracing import Evaluation, Snapshot, Trace, trace
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import Point
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Iterate, Solver
from marginbench.harness.model.validity import InvalidPoint


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class Ticking(Solver):
    """Each step takes one second of the clock; so does ending."""

    clock: FakeClock
    steps: int = 5
    claim: str = ""

    look: int = 0

    accepts = (Program,)

    def iterates(self, program):
        for step in range(1, self.steps + 1):
            self.clock.spend(1.0)
            yield Iterate(np.zeros(1), claim=self.claim, look=step == self.look)
        self.clock.spend(1.0)


class SaysThatItRestarts(Ticking):
    restarts = True


@dataclass(frozen=True)
class Climbing(Ladder):
    """Each rung takes one second of the clock more than the one before."""

    clock: FakeClock
    tolerances: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)

    accepts = (Program,)

    def solve(self, program, tolerance):
        self.clock.spend(tolerance)
        return Iterate(np.zeros(1), claim="converged")


def looking(clock: FakeClock, gaps):
    """Evaluation takes an hour; its gaps are given."""
    gaps = iter(gaps)

    def evaluate(iterate: Iterate) -> Evaluation:
        clock.spend(3600.0)
        return Evaluation(Certificate(1.0, 0.0, next(gaps)), Point(np.zeros(1)))

    return evaluate


def run(solver, gaps=None, **budget):
    clock, gaps = solver.clock, gaps or itertools.repeat(1.0)
    limit = Budget(**{"seconds": 100.0, "gap": 1e-6, **budget})
    taken = steps(solver, Program(), limit, wall=clock, cpu=clock)
    return trace(taken, looking(clock, gaps), limit, lambda c: c.gap <= limit.gap)


def test_evaluation_is_not_billed():
    result = run(Ticking(FakeClock()))
    assert [s.seconds for s in result.snapshots] == [1.0, 2.0, 3.0, 4.0, 6.0]  # ending is work too
    assert [s.cpu_seconds for s in result.snapshots] == [1.0, 2.0, 3.0, 4.0, 6.0]


def test_who_only_says_that_it_restarts_is_charged_the_sum():
    assert [s.seconds for s in run(SaysThatItRestarts(FakeClock())).snapshots] == [1.0, 2.0, 3.0, 4.0, 6.0]


class Elsewhere(Ticking):
    """A second of work in each place that is not the step itself."""

    def refuses(self, program):
        self.clock.spend(1.0)

    def iterates(self, program):
        self.clock.spend(1.0)  # a plain method: its work is done when it is called
        return iter([Iterate(np.zeros(1), info=Lazy(self.clock), claim="converged")])


class Lazy(dict):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(a=1)
        self.clock = clock

    def items(self):
        self.clock.spend(1.0)
        return super().items()


def test_work_in_refuses_in_a_plain_method_and_in_a_lazy_info_is_charged():
    result = run(Elsewhere(FakeClock()))
    assert [(s.seconds, s.info) for s in result.snapshots] == [(3.0, {"a": 1})]


def test_a_ladder_is_charged_each_rung_alone_and_judged_by_its_best():
    solver = Climbing(FakeClock())
    taken = climb(solver, Program(), Budget(seconds=100.0), solver.clock, solver.clock)
    gaps, result = [0.5, 0.1, 0.2, 0.4, 0.3], Trace(restarts=True)
    trace(taken, looking(solver.clock, gaps), Budget(seconds=100.0), lambda c: False, result)
    assert [s.seconds for s in result.snapshots] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert result.ended_by == "solver"
    assert result.answer.certificate.gap == 0.1
    assert replace(result, restarts=False).answer.certificate.gap == 0.3


@pytest.mark.parametrize("restarts", [False, True])
def test_only_the_iterate_that_counts_keeps_its_arrays(restarts):
    rng, result = np.random.default_rng(0), Trace(restarts=restarts)
    for k, gap in enumerate([None, 0.5, None, 0.1, 0.1, 0.3, 0.05, 0.2]):
        point = Point(rng.normal(size=3), 0.0, rng.normal(size=5))
        result.add(Snapshot(k, 1.0 * k, 1.0 * k, "", "", {}, Evaluation(Certificate(1.0, 0.5, gap), point, mu=point.w)))
        kept = [s for s in result.snapshots if s.evaluation.point.w.size]
        assert kept == [result.answer]
        assert kept[0].evaluation.mu is not None
        assert kept[0].iteration == ([0, 1, 1, 3, 3, 3, 6, 6][k] if restarts else k)
    assert [s.certificate.gap for s in result.snapshots] == [None, 0.5, None, 0.1, 0.1, 0.3, 0.05, 0.2]


def test_it_stops_at_the_gap_at_the_seconds_and_at_the_iterations():
    by_gap = run(Ticking(FakeClock()), gaps=[1.0, 1e-7, 1.0])
    assert (by_gap.ended_by, len(by_gap.snapshots)) == ("gap", 2)
    by_seconds = run(Ticking(FakeClock()), seconds=2.5)
    assert (by_seconds.ended_by, by_seconds.snapshots[-1].seconds) == ("seconds", 3.0)
    by_iterations = run(Ticking(FakeClock(), steps=1000), iterations=100)
    assert (by_iterations.ended_by, by_iterations.snapshots[-1].iteration) == ("iterations", 100)


def test_ending_without_a_word_claims_convergence_and_a_word_is_kept():
    assert run(Ticking(FakeClock())).snapshots[-1].claim == "converged"
    assert run(Ticking(FakeClock(), steps=30)).snapshots[-1].claim == "converged"
    assert run(Ticking(FakeClock(), claim="limit")).snapshots[-1].claim == "limit"
    assert run(Ticking(FakeClock(), steps=1000), seconds=50.0).snapshots[-1].claim == ""


def test_the_last_iterate_is_always_looked_at():
    for count in (1, 19, 23, 57, 101):
        assert run(Ticking(FakeClock(), steps=count), seconds=1e9).snapshots[-1].iteration == count


def test_a_solver_that_yields_nothing_leaves_no_snapshot():
    assert run(Ticking(FakeClock(), steps=0)).snapshots == []


def test_schedule_is_dense_first_and_geometric_later():
    first = list(itertools.islice(schedule(), 400))
    assert first[:20] == list(range(1, 21))
    assert all(1 <= b - a <= 0.06 * a + 1 for a, b in itertools.pairwise(first))
    assert first[-1] > 10**5


def test_a_solver_may_ask_for_a_look_between_those_of_the_schedule():
    steps, asked = [[s.iteration for s in run(Ticking(FakeClock(), 60, look=k)).snapshots] for k in (0, 51)]
    assert 51 not in steps
    assert asked == sorted({*steps, 51})


def test_a_no_op_solver_costs_less_than_a_millisecond_a_step():
    class NoOp(Solver):
        accepts = (Program,)

        def iterates(self, program):
            for _ in range(50):
                yield Iterate(np.zeros(1))

    seen = Evaluation(Certificate(1.0, 0.0, 1.0), Point(np.zeros(1)))
    result = trace(steps(NoOp(), Program(), Budget()), lambda iterate: seen, Budget(), lambda c: False)
    assert result.snapshots[-1].seconds / 50 < 1e-3


def test_a_pass_is_a_median_of_the_products_with_X():
    problem = random_problem(0)
    assert pass_seconds(problem, least=0.0) > 0.0
    readings = itertools.count(step=2.0)
    assert pass_seconds(problem, wall=lambda: next(readings), least=0.0) == pytest.approx(2.0)


@dataclass
class Expensive:
    """Each look takes `price` seconds of the clock; the gap of iterate k is `gaps(k)`, with k in its x."""

    clock: FakeClock
    price: float
    gaps: Callable[[int], float]

    def trace(self, steps: int, gap: float = 0.0, check=lambda iterate: None) -> Trace:
        limit = Budget(seconds=1e9, gap=gap)

        def handed():
            for k in range(1, steps + 1):
                yield Step(k, float(k), float(k), Iterate(np.array([float(k)])), ended=k == steps)

        def evaluate(iterate):
            self.clock.spend(self.price)
            return Evaluation(Certificate(1.0, 0.0, self.gaps(int(iterate.x[0]))), Point(iterate.x))

        return trace(handed(), evaluate, limit, lambda c: c.gap <= gap, None, check, self.clock)


@pytest.mark.parametrize("price", [0.0, 0.3, 3.0, 30.0])
def test_an_accuracy_is_credited_to_the_same_iterate_whatever_a_look_costs(price):
    """With falling gaps: the first iterate of each accuracy, and the one that ends the run."""

    def gaps(k):
        return 0.93**k

    cheap, found = (Expensive(FakeClock(), p, gaps).trace(500, gap=1e-9) for p in (0.0, price))
    for target in [10.0**-k for k in range(1, 10)]:
        first, same = (next(s for s in run.snapshots if s.certificate.gap <= target) for run in (cheap, found))
        assert (first.iteration, first.seconds) == (same.iteration, same.seconds)
    assert found.ended_by == cheap.ended_by == "gap"
    assert found.answer.iteration == cheap.answer.iteration
    assert found.answer.evaluation.point.w.size == 1
    assert len(cheap.snapshots) == cheap.answer.iteration
    assert [s.iteration for s in found.snapshots] == sorted(s.iteration for s in found.snapshots)


def test_looks_take_a_fifth_of_the_solver_s_time_beyond_the_first_ten_and_the_last():
    for price in (0.5, 3.0, 20.0):
        result = Expensive(FakeClock(), price, lambda k: 0.5).trace(3000)
        assert sum(result.costs[FIRST:-1]) <= SHARE * result.answer.seconds
        assert len(result.costs) == len(result.snapshots) > FIRST
        assert result.answer.iteration == 3000
        assert [s.iteration for s in result.snapshots[:FIRST]] == list(range(1, FIRST + 1))


def test_what_is_kept_for_later_is_bounded_in_number_and_in_bytes(monkeypatch):
    def farthest(result):
        return max(b.iteration - a.iteration for a, b in itertools.pairwise(result.snapshots))

    assert farthest(Expensive(FakeClock(), 1e9, lambda k: 0.5).trace(1000)) == MOST + 1
    monkeypatch.setattr(looks, "MOST_BYTES", 3 * 8)  # of three iterates of one number each
    assert farthest(Expensive(FakeClock(), 1e9, lambda k: 0.5).trace(1000)) == 4


def test_an_iterate_that_is_no_answer_is_refused_though_nobody_looks_at_it_yet():
    def check(iterate):
        if iterate.x[0] == 15.0:
            raise InvalidPoint("no answer")

    with pytest.raises(InvalidPoint):
        Expensive(FakeClock(), 1e9, lambda k: 0.5).trace(100, check=check)


def test_what_is_kept_is_a_copy():
    x, clock = np.zeros(1), FakeClock()

    def handed():
        for k in range(1, 31):
            x[0] = k
            yield Step(k, float(k), float(k), Iterate(x), ended=k == 30)

    def evaluate(iterate):
        clock.spend(1e9)
        return Evaluation(Certificate(1.0, 0.0, 0.7 ** iterate.x[0]), Point(iterate.x.copy()))

    result = trace(handed(), evaluate, Budget(seconds=1e9, gap=0.0), lambda c: False, wall=clock)
    assert [s.certificate.gap for s in result.snapshots] == [0.7**s.iteration for s in result.snapshots]


def test_a_process_that_ends_without_a_word_has_its_last_iterate_looked_at():
    taken = iter([Step(k, float(k), float(k), Iterate(np.array([float(k)]))) for k in range(1, 41)])
    clock = FakeClock()

    def evaluate(iterate):
        clock.spend(1e9)
        return Evaluation(Certificate(1.0, 0.0, 0.5), Point(iterate.x))

    result = trace(taken, evaluate, Budget(seconds=1e9), lambda c: False, wall=clock)
    assert (result.ended_by, result.answer.iteration) == ("process", 40)
