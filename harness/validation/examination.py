"""`marginbench validate`: a solver against the reference problems and against what every solver promises.

Each problem is written in the way that is natural for the programs that the solver accepts (`Formulation.route`), run
in a process of its own, and judged by the certificate, with the proven reference as lower bound. The promise: on every
problem that it does not refuse, the relative gap falls to `Solver.accuracy`. Where the formulation has another optimum
(the smoothed hinge) it is the residual of its own program, whose width is what the accuracy allows
(`Formulation.fields_for`), unless the user names the formulation. Where only separation is promised, it is the share of
mistakes.
Speed is not promised: a run that the budget ended while its error was falling is shown as late, and breaks nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from tqdm import tqdm

from marginbench.datasets import cache
from marginbench.harness.cell.spec import (
    Cell,
    Config,
    chosen_kind,
    instantiate,
    judged_problem,
    library_versions,
    make_problem,
    misfit,
    missing,
    routes_of,
)
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import InputError, Point, Problem, problem_key
from marginbench.harness.model.programs import BoxDual, RegularisedRisk
from marginbench.harness.model.solver import Solver
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.references.library import Entry, Library
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.loading import data_key, load
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.optima import known_bounds
from marginbench.harness.validation import memory_contract as footprint
from marginbench.harness.validation.contract_process import check, check_isolated
from marginbench.harness.validation.diagnosis import suspect
from marginbench.harness.validation.scorecard import ACCURACIES, ContractLine, Row, Scorecard
from marginbench.harness.validation.testbed import LOST, Setting, Subject

SUSPECTED = 3
"""Broken promises for which a cause is looked for."""

SETTINGS = 4
"""Pairs of a formulation and a bias on which contracts are checked."""


@dataclass
class Examination:
    """Of one solver; `formulations` are all there are by name, or the one to use, as it is."""

    solver: Config
    name: str
    formulations: Mapping[str, Config]
    library: Library
    reference: Config
    isolation: Isolation
    accuracy: float | None = None
    seconds: float = 5.0
    limits: Config = field(default_factory=lambda: {"seconds": 60.0, "memory_mb": 4096.0})
    seed: int = 0
    folder: Path = field(default_factory=cache.folder)

    def __post_init__(self) -> None:
        self.made: Solver = instantiate(self.solver)
        self.held_to = self.made.accuracy if self.accuracy is None else self.accuracy
        if not isinstance(self.held_to, float) or not 0.0 < self.held_to < 1.0:
            raise InputError(f"accuracy={self.held_to}: needs a number between 0 and 1")
        made = {name: made_formulation(name, config) for name, config in self.formulations.items()}
        self.routes = routes_of(self.made, made) if len(made) > 1 else [list(made)]
        if len(made) > 1:
            fields = {name: formulation.fields_for(self.held_to) for name, formulation in made.items()}
            self.formulations = {name: {**config, **fields[name]} for name, config in self.formulations.items()}
        self.settings: dict[tuple[str, bool], Setting] = {}
        self.suspected = 0

    def scorecard(self, entries: Iterable[Entry], isolated: bool = True) -> Scorecard:
        """isolated: check each contract in a process of its own, which a solver may crash or hang."""
        if absent := missing(self.made):
            return Scorecard(self.name, self.held_to, [Row("", status="not_installed", message=absent)], [])
        rows = list(self.rows(entries))
        lines = [honest_accepts(rows), honest_claims(rows), anytime(rows, self.held_to)]
        settings = tuple(islice(self.settings.values(), SETTINGS))
        if settings:
            subject = Subject(self.solver, settings, self.reference, self.held_to, self.seconds)
            lines += check_isolated(subject, self.isolation) if isolated else check(subject)
            lines.append(self._memory(settings[0]))
        return Scorecard(self.name, self.held_to, rows, lines if settings else [], library_versions(self.made))

    def _memory(self, setting: Setting) -> ContractLine:
        cell = replace(self._cell(setting.problem), formulation=setting.formulation, formulation_name=setting.name)
        if self.made.memory_field:
            cell = replace(cell, solver={**self.solver, self.made.memory_field: 1})
        kind = chosen_kind(instantiate(setting.formulation), self.made)
        return footprint.line(cell, issubclass(kind, BoxDual | RegularisedRisk), self.isolation, self.folder / "data")

    def _cell(self, problem: Config) -> Cell:
        return Cell(
            dataset={},
            problem=problem,
            formulation={},
            solver=self.solver,
            dataset_name="",
            formulation_name="",
            solver_name=self.name,
            budget={"seconds": self.seconds, "gap": min(ACCURACIES), **self._honesty()},
            limits=self.limits,
            seed=self.seed,
        )

    def _honesty(self) -> dict[str, float]:
        """A claim of convergence is false when the promise is broken; that of a rung is about the rung's tolerance."""
        return {} if self.made.restarts else {"wrong_gap": self.held_to}

    # -- problems ------------------------------------------------------------------------------------------------

    def rows(self, entries: Iterable[Entry]) -> Iterator[Row]:
        asked = [replace(self._cell(e.problem), dataset=e.dataset, dataset_name=e.name) for e in entries]
        loaded = load(asked, self.folder / "data", self.isolation)
        for cell in tqdm(asked, desc="problems", unit="problem", disable=None, leave=False):
            data = loaded[data_key(cell)]
            if isinstance(data, Data):
                yield from self._rows(cell, data)
            else:
                yield Row(cell.dataset_name, "", data.status, data.message)

    def _rows(self, asked: Cell, data: Data) -> Iterator[Row]:
        """A row for each route that the solver takes; one with the reason where there is none, its own words first."""
        refused, ran = [Row(asked.dataset_name, "", "skipped", "no formulation gives its programs")], False
        for route in self.routes:
            for name in route:
                cell = replace(asked, formulation=self.formulations[name], formulation_name=name)
                reason = self._misfit(cell, data)
                row = Row(cell.dataset_name, name, "skipped", reason) if reason else self._row(cell, data)
                if row.ran:
                    ran = True
                    yield row
                    break
                refused.insert(-1 if reason else 0, row)
        if not ran:
            yield refused[0]

    def _misfit(self, cell: Cell, data: Data) -> str | None:
        """Why the formulation does not write this problem for this solver."""
        formulation: Formulation = instantiate(cell.formulation)
        asked = make_problem(data.X, data.y, cell.problem)
        judged = judged_problem(formulation, data.X, data.y, cell.problem)
        if problem_key(judged, data.digest) != problem_key(asked, data.digest):
            return f"{cell.formulation_name} answers another problem, that of a hard margin"
        return misfit(formulation, self.made, judged)

    def _row(self, cell: Cell, data: Data) -> Row:
        formulation: Formulation = instantiate(cell.formulation)
        problem = judged_problem(formulation, data.X, data.y, cell.problem)
        known = self._known(cell, problem, data)
        told = Bounds() if known.infeasible else known  # that there is no solution, a solver has to find out by itself
        outcome = self.isolation.run(cell, data.path, data.digest, told, Limits(**cell.limits), None)
        row = row_of(outcome.record, formulation, known, self.held_to, self.seconds, self.made.restarts)
        if row.ran:
            asked = {"C": np.inf if problem.hard else 1.0, "bias": problem.bias, "loss": problem.loss}
            setting = Setting(cell.formulation_name, cell.formulation, asked)
            self.settings.setdefault((setting.name, problem.bias == "free"), setting)
        if row.kept is False and outcome.point is not None and not problem.hard and self.suspected < SUSPECTED:
            self.suspected += 1
            row = replace(row, suspicion=self._suspicion(cell, problem, outcome.point, data))
        return row

    def _suspicion(self, cell: Cell, problem: Problem, point: Point, data: Data) -> str:
        def lower(variant: Problem) -> float:
            asked = {**cell.problem, "C": variant.C, "bias": variant.bias}
            return self._known(replace(cell, problem=asked), variant, data).lower

        return suspect(problem, point, lower)

    def _known(self, cell: Cell, judged: Problem, data: Data) -> Bounds:
        return known_bounds(cell, judged, data, self.library, self.folder, self.reference, self.isolation)


def validate(
    solver: Config,
    name: str,
    formulations: Mapping[str, Config],
    library: Library,
    entries: Iterable[Entry],
    reference: Config,
    **more,
) -> Scorecard:
    """The scorecard of a solver on reference problems; `more` are fields of Examination."""
    with Isolation() as isolation:
        return Examination(solver, name, formulations, library, reference, isolation, **more).scorecard(entries)


def made_formulation(name: str, config: Config) -> Formulation:
    """Those of users are among them, and need not be what they say: a line, before any work."""
    try:
        return instantiate(config)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"formulation={name}: {type(error).__name__}: {error}") from None


# -- from a record to a row --------------------------------------------------------------------------------------


def row_of(
    record: Record, formulation: Formulation, known: Bounds, accuracy: float, seconds: float, restarts: bool
) -> Row:
    status = status_of(record.status)
    impossible = known.infeasible and status.ran
    errors = [(entry["seconds"], _error(entry, formulation)) for entry in record.curve]
    unit = record.pass_seconds or np.inf

    def reached(accuracy: float) -> float | None:
        return next((s / unit for s, error in errors if error is not None and error <= accuracy and s <= seconds), None)

    best = min((error for _, error in errors if error is not None), default=None)
    last = {"gap": record.gap, "own_residual": record.own_residual}
    kkt = [record.kkt_primal, record.kkt_dual, record.kkt_stationarity, record.kkt_complementarity]
    wrong_claim = record.status == "wrong" and not (impossible and record.claim != "converged")
    kept: bool | None = reached(accuracy) is not None and not status.bad
    right = best is not None and best <= accuracy
    lower = known.lower if np.isfinite(known.lower) else 0.0
    excess = [(e["seconds"], None if e["primal"] is None else e["primal"] - lower) for e in record.curve]
    moving = falling(errors, seconds, restarts) or falling(excess, seconds)  # far off, the relative gap stays near 1
    late = not kept and status.ran and not status.bad and (right or moving or (restarts and not errors))
    no_optimum = record.status == "inaccurate" and best is None and known.lower == -np.inf  # nothing to hold it to
    if impossible and not wrong_claim:  # a proof, or the right word; nothing is promised but not to claim an optimum
        said = record.status == "infeasible" or record.claim in ("infeasible", "unbounded")
        kept = True if said else False if status.bad else None
    elif not status.ran or late or no_optimum:
        kept = None
    return Row(
        record.dataset,
        record.formulation,
        record.status,
        record.message,
        record.claim,
        wrong_claim,
        _error(last, formulation),
        best,
        max((value for value in kkt if value is not None), default=None),
        {} if impossible or not status.ran else {f"{a:.0e}": reached(a) for a in ACCURACIES},
        kept,
        late and not impossible,
    )


def falling(errors: Sequence[tuple[float, float | None]], seconds: float, restarts: bool = False) -> bool:
    """Whether the budget ended a run on its way: its smallest error is by a tenth smaller than in the first tenth.

    A solver with a mistake comes to rest at the optimum of another problem. Of restarts, the finer ones never ran.
    """
    known = [(s, error) for s, error in errors if error is not None]
    if not known or known[-1][0] <= seconds:
        return False
    early = min((error for s, error in known if s <= 0.1 * known[-1][0]), default=known[0][1])
    return restarts or min(error for _, error in known) <= 0.9 * early


def _error(entry: Mapping[str, float | None], formulation: Formulation) -> float | None:
    """What the promise is about, of an entry of a curve; of a separation, the share of mistakes."""
    gap, own = entry["gap"], entry["own_residual"]
    if formulation.judge == "separation":
        return own
    return gap if formulation.exact or gap is None or own is None else min(gap, own)


# -- contracts that the runs on the reference problems show -------------------------------------------------------


def honest_accepts(rows: Iterable[Row]) -> ContractLine:
    bad = [row for row in rows if status_of(row.status).broke]
    if bad:
        worst = f"{bad[0].problem} ({bad[0].formulation}): {bad[0].status}: {bad[0].message}"
        return ContractLine("honest accepts", "fail", f"broke on {len(bad)} programs that it accepts, first on {worst}")
    return ContractLine("honest accepts", "pass", "broke on no program that it accepts")


def honest_claims(rows: Iterable[Row]) -> ContractLine:
    bad = [row for row in rows if row.wrong_claim]
    if bad:
        worst = f"{bad[0].problem} ({bad[0].formulation}): {bad[0].message}"
        return ContractLine("honest claims", "fail", f"{len(bad)} claims were wrong, first {worst}")
    return ContractLine("honest claims", "pass", "no claim was wrong")


def anytime(rows: Iterable[Row], accuracy: float) -> ContractLine:
    """The answer is about as good as the best point it was seen to have, where the budget did not end it on its way."""
    ended = [row for row in rows if not row.late]
    compared = [(row.error, row.best, row.problem) for row in ended if row.error is not None and row.best is not None]
    lost = [(end, best, name) for end, best, name in compared if end > max(accuracy, LOST * best)]
    if not compared:
        return ContractLine("anytime", "not applicable", "no problem gave a curve")
    if lost:
        end, best, name = max(lost, key=lambda entry: entry[0] / entry[1])
        return ContractLine("anytime", "fail", f"ends with an error of {end:.0e} after one of {best:.0e} on {name}")
    return ContractLine(
        "anytime", "pass", f"ends at most {LOST:g} times above its smallest error, or below {accuracy:.0e}"
    )
