"""What a report concludes from its records: one entry, `analysis`; the rest is computed when looked at.

    study = analysis(records, references).studies[0]        # soft margin, or one bias of it
    section = study.section(1e-6, "wall")                    # one accuracy, one clock
    section.answer.text, section.ranking, section.pairs, section.profile, section.heat

Everything in a section is over the same problems: those that all of its methods were asked. Problems that are proven to
have no solution, and methods that are judged by separation, have tables of their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting import profiles
from marginbench.harness.reporting.accuracy import ACCURACIES, AS_ASKED, CHOICES
from marginbench.harness.reporting.answer import Answer, headline, sentences
from marginbench.harness.reporting.comparison import Comparison, Task, number, representative, seconds, succeeded
from marginbench.harness.reporting.conditions import Conditions, conditions, coverage_warnings, setting, warnings
from marginbench.harness.reporting.costs import Costs, Ledger
from marginbench.harness.reporting.coverage import Coverage, Question, coverage, questions, ran
from marginbench.harness.reporting.failures import FailureGroup, failures
from marginbench.harness.reporting.heat import Effect, HeatMap, Point, effects, heat_map, points
from marginbench.harness.reporting.profiles import Steps
from marginbench.harness.reporting.provenance import Provenance, provenance
from marginbench.harness.reporting.ranking import Rank, ranking
from marginbench.harness.reporting.ratios import Contest, Pair, pairs


def analysis(
    records: Sequence[Record],
    references: Mapping[str, Bounds] | None = None,
    about: Iterable[dict[str, Any]] = (),
) -> "Analysis":
    """about: the run.json of each run that the records come from."""
    return Analysis(Comparison.of(records, references, by_budget=False), tuple(about))


@dataclass(frozen=True)
class Analysis:
    comparison: Comparison
    about: tuple[dict[str, Any], ...] = ()

    @cached_property
    def studies(self) -> list["Study"]:
        """One per question: the soft margin first."""
        against = self.comparison.contradictions
        dates = tuple(str(one.get("started", "")) for one in self.about)
        return [Study(question, dates, tuple(against)) for question in questions(self.comparison)]

    @cached_property
    def proofs(self) -> list["Proof"]:
        """Problems that are proven to have no solution, with what each method said of them."""
        return [
            _proof(task.title, label, representative(made))
            for task in self.comparison.tasks
            if task.impossible
            for label, runs in task.runs.items()
            if label not in self.comparison.separators and (made := ran(runs))
        ]

    @cached_property
    def separations(self) -> list["Separation"]:
        """Methods that are right when no row is misclassified."""
        return [
            _separation(task.title, label, representative(made))
            for task in self.comparison.tasks
            for label, runs in task.runs.items()
            if label in self.comparison.separators and (made := ran(runs))
        ]

    @cached_property
    def failures(self) -> list[FailureGroup]:
        return failures(self.comparison)

    @cached_property
    def provenance(self) -> Provenance:
        return provenance(self.comparison.records, self.about)


@dataclass(frozen=True)
class Proof:
    problem: str
    method: str
    status: str
    """`infeasible` or `unbounded` where the method proved it."""
    seconds: float | None
    message: str

    @property
    def proven(self) -> bool:
        return status_of(self.status).no_solution


@dataclass(frozen=True)
class Separation:
    problem: str
    method: str
    separated: bool
    status: str
    seconds: float | None
    updates: int | None
    updates_bound: float | None
    message: str


def _proof(problem: str, method: str, r: Record) -> Proof:
    return Proof(problem, method, r.status, seconds(r), r.message)


def _separation(problem: str, method: str, r: Record) -> Separation:
    bound = number(r.updates_bound)
    return Separation(problem, method, succeeded(r), r.status, seconds(r), r.updates, bound, r.message)


@dataclass(frozen=True)
class Study:
    """One question at every accuracy and clock."""

    question: Question
    dates: tuple[str, ...]
    contradictions: tuple[Record, ...]
    _made: dict[tuple[float | None, str], "Section"] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger.of(self.question)

    @cached_property
    def conditions(self) -> Conditions:
        return conditions(self.question, self.dates)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of at every accuracy."""
        return warnings([r for row in self.question.runs for cell in row for r in cell], self.contradictions)

    @cached_property
    def base(self) -> str:
        """The method that others are compared with in tables: the one whose solver is the base line; else the own one
        that most often arrives, at the chosen accuracy; of several, the fastest."""
        t = self.ledger.costs(self.accuracy, "wall").t

        def place(s: int) -> tuple[bool, bool, int, float]:
            arrived = t[np.isfinite(t[:, s]), s]
            peer = self.question.methods[s] in self.question.peers
            return not self._chosen(s), peer, -arrived.size, float(np.log(np.maximum(arrived, 1e-9)).sum())

        return self.question.methods[min(range(len(self.question.methods)), key=place)]

    @property
    def baseline(self) -> str | None:
        """The base whose solver says that it is the base line; None where no solver does."""
        return self.base if self._chosen(self.question.methods.index(self.base)) else None

    def _chosen(self, s: int) -> bool:
        return any(r.info.get("baseline") for row in self.question.runs for r in row[s])

    @cached_property
    def accuracies(self) -> tuple[float | None, ...]:
        """The CHOICES at which two methods or more were asked the same problem; as asked always."""
        return tuple(a for a in CHOICES if a is AS_ASKED or self._compares(a))

    def _compares(self, accuracy: float | None) -> bool:
        return bool(((self.ledger.costs(accuracy, "wall").count > 0).sum(axis=1) > 1).any())

    @cached_property
    def accuracy(self) -> float | None:
        """The one to show first: the tightest that as many cells were asked for as the loosest; else as asked."""
        asked = {a: int((self.ledger.costs(a, "wall").count > 0).sum()) for a in ACCURACIES}
        most = max(asked.values())
        return min((a for a, k in asked.items() if k == most), default=AS_ASKED) if most else AS_ASKED

    def section(self, accuracy: float | None, clock: str = "wall") -> "Section":
        """The same object every time."""
        key = accuracy, clock
        if key not in self._made:
            self._made[key] = self.fresh(accuracy, clock)
        return self._made[key]

    def fresh(self, accuracy: float | None, clock: str) -> "Section":
        """A section that is not kept: all of them together need much memory."""
        costs = self.ledger.costs(accuracy, clock)
        return Section(self, accuracy, clock, costs, coverage(self.question, costs.count > 0, accuracy))

    def targets(self, clock: str = "wall") -> tuple[tuple[str, ...], list[Steps]]:
        """(methods, staircases): the share of (problem, accuracy) targets met within x, over the methods and problems
        that are compared at the chosen accuracy, and all accuracies that are no tighter than it."""
        block = self.section(self.accuracy, clock).coverage
        chosen = [a for a in ACCURACIES if self.accuracy is None or a >= self.accuracy * 0.999]
        times = [self.ledger.costs(a, clock).t[np.ix_(block.problems, block.methods)] for a in chosen]
        whole = [t for t in times if not np.isnan(t).any()]
        return tuple(self.question.methods[s] for s in block.methods), profiles.target_profile(whole)


@dataclass(frozen=True)
class Section:
    """One question at one accuracy and on one clock, over the problems that all compared methods were asked."""

    study: Study
    accuracy: float | None
    clock: str
    costs: Costs
    """Of all problems and methods of the question."""
    coverage: Coverage

    @property
    def problems(self) -> list[Task]:
        return [self.study.question.tasks[p] for p in self.coverage.problems]

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """In the order of the ranking."""
        return tuple(rank.method for rank in self.ranking)

    @cached_property
    def order(self) -> list[int]:
        """The numbers of `methods` in the question."""
        return [self.study.question.methods.index(method) for method in self.methods]

    @cached_property
    def t(self) -> np.ndarray:
        """[p, s] of `problems` and `methods`; infinity where it was not reached, never NaN."""
        return self.costs.t[np.ix_(self.coverage.problems, self.order)]

    @cached_property
    def limit(self) -> np.ndarray:
        """[p, s]: what a failure of this very cell is charged."""
        return self.costs.limit[np.ix_(self.coverage.problems, self.order)]

    @cached_property
    def ranking(self) -> list[Rank]:
        block = np.ix_(self.coverage.problems, self.coverage.methods)
        names = [self.study.question.methods[s] for s in self.coverage.methods]
        datasets = self.study.question.datasets[list(self.coverage.problems)]
        return ranking(names, self.costs.t[block], self.costs.limit[block], datasets, self.clock)

    @property
    def charged(self) -> tuple[float, ...]:
        """The least and the greatest that a failure is charged; empty where none failed, or no limit is known."""
        limits = self.limit[np.isposinf(self.t) & np.isfinite(self.limit)]
        return (float(limits.min()), float(limits.max())) if limits.size else ()

    @property
    def floor(self) -> float | None:
        """19 of 20 pairs of repeats of one cell differ by less than this ratio; None without repeats."""
        return self.costs.floor

    @property
    def contest(self) -> Contest:
        """Made anew each time, for it is large."""
        question = self.study.question
        return Contest.of(
            question.methods, self.costs, question.datasets, question.peers, self.coverage.problems, self.order
        )

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two methods once, the best peer among them where there are peers."""
        if self.clock == "passes" and self.study.ledger.one_unit:
            return self.study.section(self.accuracy, "wall").pairs
        return pairs(self.contest)

    @cached_property
    def against_first(self) -> list[Pair]:
        """Every other method against the first of the ranking."""
        if not self.methods:
            return []
        first = self.methods[0]
        return [pair if pair.b == first else pair.inverse() for pair in self.pairs if first in (pair.a, pair.b)]

    @cached_property
    def profile(self) -> list[Steps]:
        """Performance profile of each of `methods`."""
        return profiles.performance_profile(self.t)

    def pairwise_profile(self, a: str, b: str) -> list[Steps]:
        """Of two methods alone."""
        return profiles.performance_profile(self.t[:, [self.methods.index(a), self.methods.index(b)]])

    @cached_property
    def data_profile(self) -> list[Steps]:
        """Share of problems within x on this clock, of each of `methods`."""
        return profiles.data_profile(self.t)

    @cached_property
    def heat(self) -> HeatMap:
        """All problems of the question; those that are not compared say so."""
        return heat_map(self.study.question, self.costs, self.order, self.coverage.problems)

    @cached_property
    def effects(self) -> list[Effect]:
        if self.clock == "passes" and self.study.ledger.one_unit:  # the ratios are those in seconds
            return self.study.section(self.accuracy, "wall").effects
        return effects(self.heat)

    @cached_property
    def points(self) -> list[Point]:
        return points(self.study.question, self.costs, self.coverage.problems, self.order)

    @cached_property
    def answer(self) -> Answer:
        question, block = self.study.question, self.coverage
        why = block.other_problems[0].why if block.other_problems else "no method ran"
        return Answer(
            headline(self.accuracy, self.clock, len(block.problems), self.ranking, why),
            sentences(len(block.problems), self.ranking, self.against_first) if block.problems else (),
            setting(self.accuracy, self.study.conditions),
            (*self.study.warnings, *coverage_warnings(question, block)),
        )
