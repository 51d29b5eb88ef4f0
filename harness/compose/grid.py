"""From lists to the cells of a sweep.

    problem.C=1,2,3                                  one list; the product of all lists is run
    zip(problem.C=1,2; budget.gap=1e-3,1e-6)         lists that go together: the first values, the second values, ...
    when(method=pegasos; solver.batch=1,4)           lists for the cells of one choice only

In an experiment the same stand under `hydra.sweeper.params`: `problem.C: 1,2,3`, `zip: problem.C=1,2; ...`,
`when: method=pegasos; ...`; more than one under keys that begin so, as `zip_2`. What is given on the command line
replaces the experiment's list of the same option.
"""

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from marginbench.harness.compose.composer import Composed, Composer, plain
from marginbench.harness.compose.data import Resolution, value_at
from marginbench.harness.compose.hydra_launcher import translated
from marginbench.harness.compose.overrides import NoSuchOption, listed, parse
from marginbench.harness.compose.pairing import fitting_formulation, is_pair_of_method
from marginbench.harness.errors import InputError

PARAMS = "hydra.sweeper.params"
FORM = re.compile(r"(zip|when)\((.*)\)\s*", re.DOTALL)
WHOLE_RUN = ("out", "name", "fresh", "fetch", "repeat_below", "reference", "launcher")
"""Options with one value for a whole run."""


class Axis(NamedTuple):
    """Lists that go together: the keys, and for each step one override per key."""

    keys: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def without(self, keys: set[str]) -> "Axis":
        kept = [i for i, key in enumerate(self.keys) if key not in keys]
        return Axis(tuple(self.keys[i] for i in kept), [tuple(row[i] for i in kept) for row in self.rows])


class When(NamedTuple):
    """Lists that hold only in cells with one of these values."""

    text: str
    key: str
    values: list[Any]
    axes: list[Axis]


class Run(NamedTuple):
    """The cells of one experiment (or of none), each as a configuration before interpolation."""

    name: str
    cells: list[Composed]
    first: list[str]
    """The overrides of its first cell."""

    def configs(self) -> list[dict[str, Any]]:
        resolve = Resolution()
        return [plain(cell, resolve) for cell in self.cells]


@dataclass
class Grid:
    """Everything that one command line asks for, and what to tell the user about it."""

    composer: Composer
    runs: list[Run] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    found: set[str] = field(default_factory=set)
    lacking: dict[str, NoSuchOption] = field(default_factory=dict)
    lacking_in: dict[str, set[str]] = field(default_factory=dict)

    def configs(self) -> list[dict[str, Any]]:
        """Of all runs, one after another."""
        return [config for run in self.runs for config in run.configs()]

    def expand(self, overrides: Sequence[str]) -> None:
        """Fill in runs and notes."""
        overrides, said = translated(overrides)
        self.notes += said
        words, dropped = _command_line(overrides)
        axes, whens = self._read(words)
        outer = [axis for axis in axes if self._brings_a_sweep(axis)]
        inner = [axis for axis in axes if axis not in outer]
        for chosen in _product(outer):
            first = [*chosen, *(text for axis in inner for text in axis.rows[0])]
            base = self.composer.base(first)
            given, own_whens = self._read(_as_words(base.params, dropped))
            taken = {key for axis in axes for key in axis.keys} | self._chosen_by(inner)
            steps = [axis for a in given if (axis := a.without(taken)).keys]
            jobs = [[*chosen, *job] for job in _product([*steps, *inner])]
            for when in (*own_whens, *whens):
                jobs = self._conditional(jobs, when)
            self.runs.append(self._run(str(base.choices.get("experiment") or "run"), jobs))
        for key, error in self.lacking.items():
            if key not in self.found:
                raise InputError(str(error))
            self.notes.append(f"{key}: not an option of {', '.join(sorted(self.lacking_in[key]))}; left out there")

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self, words: Iterable[str]) -> tuple[list[Axis], list[When]]:
        axes: list[Axis] = []
        whens: list[When] = []
        for word in words:
            form = FORM.fullmatch(word)
            if form is None:
                new = self._axis(word)
            elif form[1] == "zip":
                new = self._zip(word, form[2])
            else:
                whens.append(self._when(word, form[2]))
                continue
            axes = [axis for old in axes if (axis := old.without(set(new.keys))).keys]
            axes.append(new)
        return axes, whens

    def _axis(self, word: str) -> Axis:
        override = parse(word)
        rows = listed(override, self.composer.names(override.key_or_group))
        for row in rows:
            self.composer.check(parse(row))
        return Axis((override.get_key_element(),), [(row,) for row in rows])

    def _zip(self, word: str, inside: str) -> Axis:
        parts = [self._axis(part) for part in _parts(word, inside)]
        if len({len(part.rows) for part in parts}) != 1:
            lengths = ", ".join(f"{part.keys[0]} has {len(part.rows)}" for part in parts)
            raise InputError(f"{word}: lists that go together need the same length; {lengths}")
        rows = [tuple(text for row in step for text in row) for step in zip(*(p.rows for p in parts), strict=True)]
        return Axis(tuple(part.keys[0] for part in parts), rows)

    def _when(self, word: str, inside: str) -> When:
        condition, *rest = _parts(word, inside)
        override = parse(condition)
        rows = listed(override, self.composer.names(override.key_or_group))
        if self.composer.is_choice(override):
            for row in rows:
                self.composer.check(parse(row))
        return When(word, override.key_or_group, [parse(row).value() for row in rows], self._read(rest)[0])

    def _brings_a_sweep(self, axis: Axis) -> bool:
        """An experiment: each has lists and settings of its own, and is a run of its own."""
        return axis.keys[0].lstrip("+") == "experiment"

    def _chosen_by(self, axes: Sequence[Axis]) -> set[str]:
        """Groups that a choice on the command line decides: method=... stands for formulation and solver."""
        overrides = [parse(text) for axis in axes for row in axis.rows for text in row]
        return {group for o in overrides if self.composer.is_choice(o) for group in self.composer.decides(o)}

    # -- composing -----------------------------------------------------------------------------------------------

    def _conditional(self, jobs: list[list[str]], when: When) -> list[list[str]]:
        done, held = [], False
        for job in jobs:
            cell = self.composer.build(job, [])
            there = cell.choices[when.key] if when.key in cell.choices else value_at(cell.config, when.key)
            if there in when.values:
                held = True
                done += [[*job, *more] for more in _product(when.axes)]
            else:
                done.append(job)
        if not held:
            values = ", ".join(str(value) for value in when.values)
            raise InputError(f"{when.text}: no cell of this sweep has {when.key}={values}")
        return done

    def _run(self, name: str, jobs: list[list[str]]) -> Run:
        cells: dict[str, Composed] = {}
        for job in jobs:
            cell = self._cell(job)
            text = json.dumps(cell.config, sort_keys=True, default=str)
            cells.setdefault(text + json.dumps(cell.choices, sort_keys=True, default=str), cell)
        run = Run(name, list(cells.values()), jobs[0])
        for key in WHOLE_RUN:
            values = {json.dumps(cell.config.get(key), sort_keys=True, default=str) for cell in run.cells}
            if len(values) > 1:
                raise InputError(f"{key}: one value for the whole run; this sweep gives it {len(values)}")
        return run

    def _cell(self, job: list[str]) -> Composed:
        absent: list[NoSuchOption] = []
        cell = self.composer.build(job, absent)
        for group in ("dataset", "formulation", "solver"):
            if cell.config.get(group) is None:
                given = next((text for text in job if parse(text).key_or_group == group), group)
                raise InputError(
                    f"{given}: a run needs a {group}; possible are {', '.join(self.composer.names(group))}"
                )
        formulation = fitting_formulation(self.composer, job, cell)
        if formulation is not None:
            default = cell.choices["formulation"]
            absent.clear()
            cell = self.composer.build([*job, f"formulation={formulation}"], absent)
            note = (
                f"solver={cell.choices['solver']}: formulation={formulation} (it does not take the default, {default})"
            )
            if note not in self.notes:
                self.notes.append(note)
        if "problem.C" in {parse(text).key_or_group for text in job} and value_at(cell.config, "problem.path"):
            raise InputError("problem.C beside problem.path: the path gives every C; leave one of the two out")
        missing = {error.key: error for error in absent}
        for key in {parse(text).key_or_group for text in job} - set(missing):
            self.found.add(key)
        for key, error in missing.items():
            self.lacking.setdefault(key, error)
            group = key.partition(".")[0]
            self.lacking_in.setdefault(key, set()).add(f"{group}={cell.choices.get(group)}")
        if not is_pair_of_method(self.composer, cell):
            cell.choices["method"] = None
        return cell


def expand(composer: Composer, overrides: Sequence[str]) -> Grid:
    """All cells that these overrides ask for."""
    grid = Grid(composer)
    grid.expand(overrides)
    return grid


def _product(axes: Sequence[Axis]) -> list[list[str]]:
    return [[text for row in rows for text in row] for rows in itertools.product(*(axis.rows for axis in axes))]


def _command_line(overrides: Sequence[str]) -> tuple[list[str], set[str]]:
    """The words with Hydra's `hydra.sweeper.params.KEY=LIST` as KEY=LIST; and the keys that `~` takes from it."""
    words, dropped = [], set()
    for text in overrides:
        bare = text.lstrip("+~")
        if not bare.startswith(f"{PARAMS}."):
            words.append(text)
        elif text.startswith("~"):
            dropped.add(bare.removeprefix(f"{PARAMS}.").partition("=")[0])
        else:
            key, _, value = bare.removeprefix(f"{PARAMS}.").partition("=")
            words += _as_words({key: value}, set())
    return words, dropped


def _as_words(params: dict[str, str], dropped: set[str]) -> list[str]:
    """An experiment's lists as a user would type them."""
    unknown = dropped - set(params)
    if unknown and params:
        raise InputError(f"~{PARAMS}.{min(unknown)}: the experiment has no such list; it has {', '.join(params)}")
    words = []
    for key, value in params.items():
        form = re.fullmatch(r"(zip|when)(_\w+)?", key)
        if key not in dropped:
            words.append(f"{form[1]}({value})" if form else f"{key}={value}")
    return words


def _parts(word: str, inside: str) -> list[str]:
    """The parts between semicolons; those inside quotes and brackets do not count."""
    parts = [part.strip() for part in re.split(r";(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)", inside)]
    if len(parts) < 2 or not all("=" in part for part in parts):
        raise InputError(f"{word}: needs two options or more with a semicolon between them, as in {EXAMPLE}")
    return parts


EXAMPLE = "zip(problem.C=1,2; budget.gap=1e-3,1e-6)"
