"""Time to accuracy as tables: frontier.csv with every time, frontier.md with what follows from them.

Ratios are over the problems that both methods were asked, the time of a method over that of the base. Both intervals
stand beside each: over data sets, and from repeats of the same cells. frontier.csv holds all that frontier.md is made
from: `frontier_csv` reads it back.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from marginbench.harness.printable import printable
from marginbench.harness.reporting.accuracy import ACCURACIES, accuracy_text
from marginbench.harness.reporting.analysis import Study
from marginbench.harness.reporting.comparison import Task
from marginbench.harness.reporting.costs import Costs
from marginbench.harness.reporting.ratios import BEST, Contest, Pair, median_over_problems, pairs
from marginbench.harness.reporting.resampling import Interval, digits
from marginbench.harness.reporting.tables import PROBLEM, markdown_line, markdown_text

COLUMNS = [*PROBLEM, "method", "kind", "accuracy", "seconds", "passes", "problem", "title"]
COLUMNS += ["runs", "base", "question"]
"""runs: seconds of each run, best first; base: the method that others of the question are compared with."""


@dataclass(frozen=True)
class Race:
    """What the tables of one question are made from."""

    name: str
    methods: tuple[str, ...]
    peers: frozenset[str]
    base: str
    titles: tuple[str, ...]
    datasets: np.ndarray
    """Of each problem the number of its data set."""
    costs: Mapping[float, Costs]
    """Of each accuracy, by wall time."""
    alone: str = "single runs"
    """What to say where there is no interval from repeats."""


def races(studies: Sequence[Study]) -> list[Race]:
    return [
        Race(
            study.question.name,
            study.question.methods,
            study.question.peers,
            study.base,
            tuple(task.title for task in study.question.tasks),
            study.question.datasets,
            {accuracy: study.ledger.costs(accuracy, "wall") for accuracy in ACCURACIES},
        )
        for study in studies
    ]


def frame(studies: Sequence[Study]) -> pd.DataFrame:
    """One row per problem, method and accuracy that it was asked for; infinite seconds where it was not reached."""
    rows = []
    for study in studies:
        problems, methods = [_about(task) for task in study.question.tasks], _methods(study)
        for accuracy in ACCURACIES:
            costs = study.ledger.costs(accuracy, "wall")
            wall, passes = (_with_best(study, t) for t in (costs.t, study.ledger.costs(accuracy, "passes").t))
            for p, s in zip(*np.nonzero(~np.isnan(wall)), strict=True):
                runs = "" if s == len(study.question.methods) else " ".join(map(repr, costs.runs(p, s).tolist()))
                *names, problem, title = problems[p]
                told = *names, *methods[s], accuracy, wall[p, s], passes[p, s], problem, title
                rows.append((*told, runs, study.base, study.question.name))
    return pd.DataFrame(rows, columns=COLUMNS)


def _about(task: Task) -> tuple[Any, ...]:
    """PROBLEM, then key and title."""
    return *(getattr(task.sample, name) for name in PROBLEM), printable(task.key), task.title


def _methods(study: Study) -> list[tuple[str, str]]:
    """(name, kind) of each method, the best peer last."""
    peers = {BEST, *study.question.peers}
    return [(method, "peer" if method in peers else "own") for method in (*study.question.methods, BEST)]


def _with_best(study: Study, t: np.ndarray) -> np.ndarray:
    peers = [s for s, method in enumerate(study.question.methods) if method in study.question.peers]
    return np.column_stack([t, np.fmin.reduce(t[:, peers], axis=1)]) if peers else t


# -- as text -------------------------------------------------------------------------------------------------------


def markdown(found: Sequence[Race]) -> str:
    """For each question a line per accuracy, then a line per accuracy and method."""
    return "\n".join(_markdown(race) for race in found if _reached(race))


def _reached(race: Race) -> list[float]:
    """The accuracies that any method reached."""
    asked = [a for a, costs in race.costs.items() if np.isfinite(costs.t).any()]
    return asked if len(race.methods) > 1 else []


def _markdown(race: Race) -> str:
    base = race.base
    others = [m for m in race.methods if m != base] + ([BEST] if race.peers and base not in race.peers else [])
    short = [["accuracy", f"{base} reaches", *others, f"{base} first"]]
    long = [["accuracy", "method", "reached", f"time / {base}", "over data sets", "from repeats"]]
    long[0] += ["median (over data sets)", "least", f"{base}: wins, ties, losses", "p (Holm)", "verdict"]
    short.append(["---"] * len(short[0]))
    long.append(["---"] * len(long[0]))
    for accuracy in _reached(race):
        contest = Contest.of(race.methods, race.costs[accuracy], race.datasets, race.peers)
        found = {pair.a: pair for pair in pairs(contest, base)}
        name = accuracy_text(accuracy)
        cells = [_cell(found[m], contest, race.alone) for m in others]
        short.append([name, _share(contest, base), *cells, _first(contest, base, race.peers)])
        noise = "" if contest.floor is None else f"noise {digits(contest.floor)}"
        long.append([name, base, _share(contest, base), "1", *[""] * 6, noise])
        long += [["", *_line(found[m], contest, race)] for m in others]
    lines = ["".join(map(markdown_line, block)) for block in (short, long)]
    legend = markdown_text(f"{race.name.capitalize()}: {LEGEND.format(base=base)}")
    return f"{legend}\n\n{lines[0]}\n{lines[1]}"


LEGEND = (
    "time over that of {base}, geometric mean over the problems that both reach (95 % interval over data sets; "
    "from repeats), problems that the method reached"
)


NOT_ASKED = "not asked"


def _share(contest: Contest, method: str) -> str:
    t = contest.t[:, contest.methods.index(method)]
    if np.isnan(t).all():
        return NOT_ASKED
    return f"{np.isfinite(t).sum()} of {(~np.isnan(t)).sum()}"


def _cell(pair: Pair, contest: Contest, alone: str) -> str:
    if pair.ratio is None:
        share = _share(contest, pair.a)
        return share if share == NOT_ASKED else f"none, {share}"
    over, timing = _written(pair.over_problems, "one data set"), _written(pair.from_timing, alone)
    return f"{digits(pair.ratio)} ({over}; {timing}), {_share(contest, pair.a)}"


def _written(interval: Interval | None, otherwise: str) -> str:
    return otherwise if interval is None else str(interval)


def _first(contest: Contest, base: str, peers: frozenset[str]) -> str:
    """Problems on which the base is no later than the best peer, or than every other method where there is no peer."""
    k = contest.methods.index(base)
    rivals = [s for s, m in enumerate(contest.methods) if (m == BEST if peers else m != base)]
    best = np.fmin.reduce(contest.t[:, rivals], axis=1) if rivals else np.full(len(contest.t), math.nan)
    own = contest.t[:, k]
    contested = ~np.isnan(own) & ~np.isnan(best) & (np.isfinite(own) | np.isfinite(best))
    return f"{(contested & (own <= best)).sum()} of {contested.sum()}"


def _line(pair: Pair, contest: Contest, race: Race) -> list[str]:
    ratio, middle = ("" if x is None else digits(x) for x in (pair.ratio, pair.median))
    spread = median_over_problems(contest, pair.a, pair.b)
    middle += "" if spread is None else f" ({spread})"
    least = (
        "" if pair.least is None or pair.least_on is None else f"{digits(pair.least)} ({race.titles[pair.least_on]})"
    )
    over, timing = _written(pair.over_problems, ""), _written(pair.from_timing, "")
    counts = f"{pair.losses}, {pair.ties}, {pair.wins}"
    alone = pair.from_timing is None and pair.ratio is not None
    verdict = replace(pair, why=race.alone).told if alone else pair.told
    p = f"{pair.p_holm:.2g}"
    return [pair.a, _share(contest, pair.a), ratio, over, timing, middle, least, counts, p, verdict]
