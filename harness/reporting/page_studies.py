"""The part of the page that accuracy and clock govern: answer, ranking, pairs, map, as data for template and script.

The template renders the section that is shown first; the script renders any other one the same way, from the same data.
So everything here is plain: names are numbers of lists, times are -1 where the accuracy was not reached and None where
it was not asked.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from marginbench.harness.reporting.accuracy import CHOICES, CLOCK_NAMES, CLOCKS, accuracy_text
from marginbench.harness.reporting.analysis import Analysis, Section, Study
from marginbench.harness.reporting.comparison import Task, number, representative
from marginbench.harness.reporting.heat import FEATURES
from marginbench.harness.reporting.medians import median_ratio
from marginbench.harness.reporting.numbers import count, written
from marginbench.harness.reporting.page_data import all_rounded, kept, rounded
from marginbench.harness.reporting.ranking import SHIFTS, Rank
from marginbench.harness.reporting.ratios import BEST, Pair

Column = tuple[str, str, str]
"""Name, kind of its values, what it means."""

RANKING: list[Column] = [
    ("method", "text", ""),
    ("reached", "fraction", "problems on which it came to the accuracy; its last step may end after the budget"),
    ("fastest", "count", "problems on which no other method was faster"),
    ("mean", "cost", "shifted geometric mean; a failure is charged the limit of its own cell"),
    ("over first", "ratio", "its mean over that of the method in front"),
    ("PAR-2", "cost", "arithmetic mean, a failure charged twice its limit"),
    ("leads", "share", "share of resampled sets of data sets in which it is in front"),
    ("places", "text", "its best and worst place by other shifts, PAR-2 and problems reached"),
]
PAIRS: list[Column] = [
    ("method", "text", ""),
    ("verdict", "text", "faster or slower where neither interval has 1 in it; else why nothing is established"),
    ("time", "ratio", "geometric mean of the ratios on the problems that both reach"),
    ("over problems", "interval", "95 % interval if other data sets had been drawn"),
    ("from timing", "interval", "95 % interval if the same cells ran again"),
    ("median", "ratio", "median ratio; of an even number of problems the geometric mean of the middle two"),
    ("both", "count", "problems that both reach"),
    ("only it", "count", "problems that it alone reaches"),
    ("only other", "count", "problems that the other one alone reaches"),
    ("wins", "count", "problems on which it is faster by more than the noise, or alone arrives"),
    ("ties", "count", "problems on which the two differ by no more than the noise"),
    ("losses", "count", "problems on which the other one is faster by more than the noise, or alone arrives"),
    ("p", "p", "Wilcoxon's signed rank test over data sets, corrected by Holm; of fewer than six never below 0.05"),
]
STEPS = (1.05, 1.5, 2.0, 4.0, 10.0, 30.0, 100.0)
"""Ratios at which the map takes the next shade."""


def studies(analysis: Analysis, links: Sequence[str]) -> list[dict[str, Any]]:
    """links: of each problem of the comparison, where its details are."""
    place = {task.key: link for task, link in zip(analysis.comparison.tasks, links, strict=True)}
    return [_study(study, place) for study in analysis.studies]


def first_accuracy(analysis: Analysis) -> str:
    """The one that is shown first, of all studies."""
    return accuracy_text(analysis.studies[0].accuracy) if analysis.studies else accuracy_text(None)


def offered(analysis: Analysis) -> dict[str, bool]:
    """Every accuracy, and whether any methods can be compared to it."""
    return {accuracy_text(a): any(a in study.accuracies for study in analysis.studies) for a in CHOICES}


def _study(study: Study, place: dict[str, str]) -> dict[str, Any]:
    question = study.question
    chosen = [[representative(cell) if cell else None for cell in row] for row in question.runs]
    sections: dict[str, dict[str, Any]] = {}
    pairs: list[list[Any]] = []
    for accuracy in study.accuracies:
        for clock in CLOCKS:
            section = study.section(accuracy) if clock == "wall" else study.fresh(accuracy, clock)
            if clock == "passes" and study.ledger.one_unit:
                found = sections[f"{accuracy_text(accuracy)} wall"]["pairs"]
            else:
                found = len(pairs)
                pairs.append(_pairs(section))
            sections[f"{accuracy_text(accuracy)} {clock}"] = _section(section) | {"pairs": found}
    return {
        "name": question.name,
        "methods": list(question.methods),
        "rows": _rows(question.tasks),
        "problems": [_problem(task, place[task.key]) for task in question.tasks],
        "peak": [[None if r is None else rounded(number(r.peak_mb)) for r in row] for row in chosen],
        "gap": [[None if r is None else rounded(number(r.gap)) for r in row] for row in chosen],
        "base": study.baseline or "",
        "absent": [[one.name, one.why] for one in question.absent],
        "pairs": pairs,
        "sections": sections,
    }


def _rows(tasks: Sequence[Task]) -> list[int]:
    """The order of the map: data sets, then bias, then C."""
    return sorted(range(len(tasks)), key=lambda p: (*_group(tasks[p]), tasks[p].sample.C, tasks[p].title))


def _group(task: Task) -> tuple[str, str]:
    return task.sample.dataset, task.sample.bias


def _problem(task: Task, link: str) -> dict[str, Any]:
    r = task.sample
    density = r.nnz / (r.n * r.d) if r.n > 0 and r.d > 0 else None
    features = dict(zip(FEATURES, (r.n, r.d, density, r.C if math.isfinite(r.C) else None), strict=True))
    told = task.title[len(r.dataset) + 2 :]
    return {"title": task.title, "dataset": r.dataset, "told": told, "link": link, **_short_values(features)}


def _section(section: Section) -> dict[str, Any]:
    question, answer = section.study.question, section.answer
    t = np.where(np.isposinf(section.costs.t), -1.0, section.costs.t)
    names = [question.methods[s] for s in section.order]
    return {
        "headline": answer.headline,
        "sentences": [[s.verdict, s.text] for s in answer.sentences],
        "setting": answer.setting,
        "warnings": list(answer.warnings),
        "scope": _scope(section),
        "limits": _limits(section),
        "floor": rounded(section.floor),
        "order": section.order,
        "compared": list(section.coverage.problems),
        "others": [[one.name, one.why] for one in section.coverage.other_problems],
        "dropped": [[one.name, one.why] for one in section.coverage.other_methods],
        "ranking": [_rank(rank, len(section.problems)) for rank in section.ranking],
        "effects": _effects(section, names),
        "t": [all_rounded(row) for row in t.tolist()],
    }


def _scope(section: Section) -> str:
    """Accuracy, clock and set of problems, for every part of a section."""
    to = "As asked" if section.accuracy is None else f"To {accuracy_text(section.accuracy)}"
    problems, methods = len(section.problems), len(section.coverage.methods)
    on = f"the {problems} problems" if problems != 1 else "the one problem"
    by = (
        "the one method was" if methods == 1 else "both methods were" if methods == 2 else f"all {methods} methods were"
    )
    return f"{to}, {CLOCK_NAMES[section.clock]}, on {on} that {by} asked."


def _limits(section: Section) -> str:
    """What failures are charged, for the sentence that says so: ` (here 2 s)`, `; here none failed`."""
    if not np.isposinf(section.t).any():
        return "; here none failed"
    if not section.charged:
        return " (not recorded)"
    kind = "count" if section.clock == "passes" else "time"
    ends = dict.fromkeys(written(x, kind) for x in section.charged)
    return f" (here {' to '.join(ends)}{' passes' if kind == 'count' else ''})"


def _rank(rank: Rank, problems: int) -> list[Any]:
    places = sorted(rank.places.values())
    told = f"{places[0]}" if places[0] == places[-1] else f"{places[0]} to {places[-1]}"
    numbers = map(kept, (rank.mean, rank.ratio, rank.par2, rank.first))
    return [rank.method, [rank.reached, problems], rank.fastest, *numbers, told]


def _pairs(section: Section) -> list[list[Any]]:
    number_of = {method: s for s, method in enumerate([*section.study.question.methods, BEST])}
    return [_pair(pair, number_of) for pair in section.pairs]


def _pair(pair: Pair, number_of: dict[str, int]) -> list[Any]:
    """a, b, then PAIRS without the name."""
    over, timing = (
        None if one is None else [kept(one.low), kept(one.high)] for one in (pair.over_problems, pair.from_timing)
    )
    counts = [pair.both, pair.only_a, pair.only_b, pair.wins, pair.ties, pair.losses]
    numbers = [pair.told, kept(pair.ratio), over, timing, kept(pair.median), *counts, kept(pair.p_holm)]
    return [number_of[pair.a], number_of[pair.b], *numbers]


def _effects(section: Section, names: Sequence[str]) -> dict[str, Any]:
    """Of each method Spearman's rank correlation of its ratio to the best with each of FEATURES that has any."""
    found = {(effect.method, effect.feature): effect.rank_correlation for effect in section.effects}
    told = [f for f in FEATURES if any(found.get((name, f)) is not None for name in names)]
    rows = [[name, *(_two(found.get((name, f))) for f in told)] for name in names] if told else []
    return {"columns": [("method", "text", ""), *((f, "p", "") for f in told)], "rows": rows}


def _two(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _short_values(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, int) else rounded(value) for name, value in values.items()}


# -- what the template shows of the section that comes first -------------------------------------------------------


def shown(study: dict[str, Any], accuracy: str, clock: str) -> dict[str, Any] | None:
    """Tables of one section; None where a study has none to this accuracy."""
    section = study["sections"].get(f"{accuracy} {clock}")
    if section is None:
        return None
    unit = "count" if clock == "passes" else "time"
    base = base_of(study, section)
    pair_rows = pairs_against(study, section, base)
    return section | {
        "base": base,
        "columns": {name: [_told(c, unit) for c in columns] for name, columns in TABLES.items()},
        "pair_rows": pair_rows,
        "peers": any(name == BEST for name, *_ in pair_rows),
        "map": heat_rows(study, section),
        "shift": SHIFTS[clock],
        "unit": unit,
    }


def _told(column: Column, unit: str) -> Column:
    return column[0], unit if column[1] == "cost" else column[1], column[2]


TABLES = {"ranking": RANKING, "pairs": PAIRS}


def base_of(study: dict[str, Any], section: dict[str, Any]) -> str:
    """The method that others are compared with unless the reader chooses: the base line, or the one in front."""
    names = [study["methods"][s] for s in section["order"]]
    return study["base"] if study["base"] in names or not names else names[0]


def pairs_against(study: dict[str, Any], section: dict[str, Any], base: str) -> list[list[Any]]:
    """Every other method against `base`, in the order of the ranking, the best peer last."""
    names = [*study["methods"], BEST]
    found = {}
    for a, b, *values in study["pairs"][section["pairs"]]:
        if names[b] == base:
            found[names[a]] = values
        elif names[a] == base:
            found[names[b]] = turned(values)
    order = [*(study["methods"][s] for s in section["order"]), BEST]
    return [[name, *found[name]] for name in order if name in found]


def turned(values: Sequence[Any]) -> list[Any]:
    """A pair seen from the other side."""
    verdict, ratio, over, timing, median, both, only_a, only_b, wins, ties, losses, p = values
    word = {"faster": "slower", "slower": "faster"}.get(verdict, verdict)
    flipped = [None if x is None else [_inverse(x[1]), _inverse(x[0])] for x in (over, timing)]
    return [word, _inverse(ratio), *flipped, _inverse(median), both, only_b, only_a, losses, ties, wins, p]


def _inverse(x: float | None) -> float | None:
    return 1.0 / x if x else None


def heat_rows(study: dict[str, Any], section: dict[str, Any]) -> dict[str, Any]:
    """Groups of the map, each with its problems: of each method the ratio to the best and its shade."""
    groups: list[dict[str, Any]] = []
    for p in study["rows"]:
        row = [section["t"][p][s] for s in section["order"]]
        best = min((x for x in row if x is not None and x >= 0.0), default=None)
        problem = study["problems"][p]
        if not groups or groups[-1]["name"] != problem["dataset"]:
            groups.append({"name": problem["dataset"], "rows": []})
        cells = [_heat_cell(x, best) for x in row]
        compared = p in section["compared"]
        groups[-1]["rows"].append({"problem": problem, "cells": cells, "best": best, "compared": compared})
    rows = [row for group in groups for row in group["rows"] if row["compared"]]
    columns = list(zip(*(row["cells"] for row in rows), strict=True)) if rows else []
    middle = [median_ratio([math.inf if c["ratio"] is None else c["ratio"] for c in column]) for column in columns]
    return {
        "groups": groups,
        "medians": [_shaded(x) for x in middle],
        "reached": [sum(c["ratio"] is not None for c in column) for column in columns],
    }


def _heat_cell(x: float | None, best: float | None) -> dict[str, Any]:
    if x is None:
        return {"ratio": None, "shade": "not", "text": ""}
    return _shaded(math.inf) if x < 0.0 or best is None else _shaded(max(x, 1e-9) / max(best, 1e-9))


def _shaded(ratio: float) -> dict[str, Any]:
    if not math.isfinite(ratio):
        return {"ratio": None, "shade": "never", "text": "never"}
    return {"ratio": ratio, "shade": f"h{sum(ratio >= step for step in STEPS)}", "text": count(ratio)}
