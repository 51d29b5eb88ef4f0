"""marginbench compare A B: what changed between two runs of the same cells, or between two versions of a solver."""

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from marginbench.harness.commands.options import split_flags
from marginbench.harness.commands.stored import opened, stored_records
from marginbench.harness.errors import InputError
from marginbench.harness.files import write_atomically
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import LATEST, run_folders
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting.accuracy import ACCURACIES, CLOCK_NAMES, CLOCKS, accuracy_text
from marginbench.harness.reporting.changes import Cell, Change, Changes, MethodChange, changes, value
from marginbench.harness.reporting.conditions import CONTENTION, contention
from marginbench.harness.reporting.ratios import Pair
from marginbench.harness.reporting.resampling import Interval, digits

WIDTH = 80
LISTED = 20
"""Lines of one kind on the terminal; --json has them all."""

FLAGS = {"--fail-if": '"slower 1.2"', "--accuracy": "1e-6", "--clock": "cpu", "--json": "FILE", "--results": "DIR"}
CONDITION = re.compile(r"(?P<kind>(?:cell\s+)?slower)\s+(?P<ratio>\S+)|(?P<word>wrong|unsolved|missing)")


@dataclass(frozen=True)
class Condition:
    """One of those that make the exit code 1."""

    kind: str
    ratio: float = 1.0

    def __str__(self) -> str:
        return f"{self.kind} {self.ratio:g}" if "slower" in self.kind else self.kind


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, FLAGS)
    if len(words) != 2:
        raise InputError("compare: give two runs, A and B, as in `marginbench compare results/comparison/old latest`")
    failing, accuracy = _conditions(flags.get("--fail-if", "")), _accuracy(flags.get("--accuracy", ""))
    clock = flags.get("--clock", "")
    if clock not in ("", *CLOCKS):
        raise InputError(f"--clock {clock}: possible are {', '.join(CLOCKS)}")
    out = Path(flags.get("--results", "results"))
    with ExitStack() as stack:
        named = [_named(word, out) for word in words]
        sides = [stored_records(stack.enter_context(opened(path))).records for path, _ in named]
    for word, (_, method), records in zip(words, named, sides, strict=True):
        _check_method(word, method, records)
    found = changes(sides[0], sides[1], named[0][1], named[1][1], accuracy, clock)
    met = [(condition, line) for condition in failing for line in _met(condition, found)]
    print("\n".join([*_head(found, words, accuracy, sides), *_lines(found, met)]).rstrip())
    if "--json" in flags:
        write_atomically(Path(flags["--json"]), json.dumps(_plain(found, words, met), indent=1, allow_nan=False) + "\n")
    return int(bool(met))


# -- what was given ------------------------------------------------------------------------------------------------


def _named(word: str, out: Path) -> tuple[str, str]:
    """(path, method) of PATH, NAME, `latest`, or one of them with :METHOD behind it."""
    for name, method in ((word, ""), tuple(word.rpartition(":")[::2])):
        if not name:
            continue
        if Path(name).exists():
            return name, method
        if name == LATEST and (out / LATEST).exists():
            return str(out / LATEST), method
        places = [
            run.path for run in run_folders(out) if str(run.path.relative_to(out)) == name or run.path.name == name
        ]
        if len(places) > 1:
            raise InputError(f"compare {word}: {len(places)} runs have this name: {', '.join(map(str, places))}")
        if places:
            return str(places[0]), method
    raise InputError(f"compare {word}: no such folder, bundle or run below {out}; `marginbench runs` lists them")


def _check_method(word: str, method: str, records: Sequence[Record]) -> None:
    names = sorted({r.method or f"{r.formulation} + {r.solver}" for r in records})
    if method and not any(method == name or method.startswith(f"{name} ") for name in names):
        raise InputError(f"compare {word}: there is no method {method}; possible are {', '.join(names)}")


def _conditions(given: str) -> list[Condition]:
    found = []
    for part in [part.strip() for part in re.split(r",|\bor\b", given) if part.strip()]:
        match = CONDITION.fullmatch(part)
        ratio = _number(match["ratio"]) if match and match["ratio"] else 1.0
        if match is None or ratio is None or ratio < 1.0:
            raise InputError(
                f"--fail-if {part}: possible are `slower R`, `cell slower R` with a ratio R of at least 1, `wrong`, "
                "`unsolved` and `missing`, with commas between them"
            )
        found.append(Condition(match["word"] or " ".join(match["kind"].split()), ratio))
    return found


def _accuracy(given: str) -> float | None:
    x = _number(given) if given else None
    chosen = next((a for a in ACCURACIES if x is not None and abs(x - a) < 1e-9 * a), None)
    if given and chosen is None:
        raise InputError(f"--accuracy {given}: possible are {', '.join(map(accuracy_text, ACCURACIES))}")
    return chosen


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


# -- the exit code -------------------------------------------------------------------------------------------------


def _met(condition: Condition, found: Changes) -> list[str]:
    """Sentences on what meets a condition. Slower counts where even the lower end of the interval from timing is above
    the ratio, and the difference is no noise; without repeats there is no interval, and the ratio itself counts."""
    if condition.kind == "slower":
        return [_slower(m) for m in found.methods if _above(m.pair, condition.ratio)]
    if condition.kind == "cell slower":
        return [_line(c) for c in found.cells if c.ratio is not None and (c.floor or c.ratio) > condition.ratio]
    if condition.kind == "wrong":
        new = [f"{c.problem}, {c.method}: {c.status}" for c in found.only_b if status_of(c.status).bad]
        return [*(_line(c) for c in found.cells if c.broke or c.contradiction), *new]
    if condition.kind == "unsolved":
        return [_line(c) for c in found.cells if c.worse]
    return [f"{c.problem}, {c.method}: not in B" for c in found.only_a]


def _above(pair: Pair, limit: float) -> bool:
    if pair.ratio is None or pair.verdict == "no difference":
        return False
    return (pair.ratio if pair.from_timing is None else pair.from_timing.low) > limit


def _slower(m: MethodChange) -> str:
    timing = "single runs" if m.pair.from_timing is None else f"{m.pair.from_timing} from timing"
    return f"{m.method}: B took {digits(m.pair.ratio or 1.0)} times as long ({timing})"


# -- in words ------------------------------------------------------------------------------------------------------


def _head(found: Changes, words: Sequence[str], accuracy: float | None, sides: Sequence[Sequence[Record]]) -> list[str]:
    counts = f"{len(found.cells)} cells in both, {len(found.only_a)} only in A, {len(found.only_b)} only in B"
    to = "as asked" if accuracy is None else f"to {accuracy_text(accuracy)}"
    lines = [f"A: {words[0]}", f"B: {words[1]}", counts, f"time of B over time of A, {to}, {CLOCK_NAMES[found.clock]}"]
    ratios = [contention(records) for records in sides]
    busy = [f"{ratio:.1f} in {name}" for name, ratio in zip("AB", ratios, strict=True) if ratio and ratio > CONTENTION]
    lines += [f"wall over CPU time was {' and '.join(busy)}: something else used the cores"] if busy else []
    return [*lines, ""]


def _lines(found: Changes, met: Sequence[tuple[Condition, str]]) -> list[str]:
    lines = [*_table(found.methods), ""] if found.methods else []
    lines += _block("verdicts that changed", [_line(c) for c in found.cells if c.status[0] != c.status[1]])
    lines += _block("values that contradict each other", [_line(c) for c in found.cells if c.contradiction])
    timed = sorted((c for c in found.cells if c.beyond_noise and c.ratio), key=lambda c: -abs((c.ratio or 1.0) - 1.0))
    lines += _block("times that changed by more than the noise", [_line(c) for c in timed])
    lines += _block("only in A", [f"{c.problem}, {c.method}: {c.status}" for c in found.only_a])
    lines += _block("only in B", [f"{c.problem}, {c.method}: {c.status}" for c in found.only_b])
    lines += _block("fails", [f"{condition}: {line}" for condition, line in met])
    return lines


def _table(methods: Sequence[MethodChange]) -> list[str]:
    """A line per method; the longest names take two."""
    head = ("cells", "time", "over problems", "from timing", "verdict")
    rows: list[tuple[str, ...]] = [head]
    for m in methods:
        pair = m.pair
        alone = "single runs" if pair.both else "-"
        intervals = [str(i) if i else none for i, none in ((pair.over_problems, "-"), (pair.from_timing, alone))]
        ratio = "-" if pair.ratio is None else digits(pair.ratio)
        rows.append((str(pair.both), ratio, *intervals, pair.verdict))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    room = max(12, WIDTH - sum(widths) - 10)
    lines = []
    for name, row in zip(("method", *(m.method for m in methods)), rows, strict=True):
        *above, last = wrap(name, room) or [""]
        cells = "  ".join(
            cell.rjust(w) if k < 2 else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines += [*above, f"{last.ljust(room)}  {cells}".rstrip()]
    return lines


def _block(title: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    more = [f"... and {len(entries) - LISTED} more"] if len(entries) > LISTED else []
    shown = [line for entry in [*entries[:LISTED], *more] for line in wrap(entry, WIDTH - 2, subsequent_indent="  ")]
    return [f"{title} ({len(entries)})", *(f"  {line}" for line in shown), ""]


def _line(c: Change) -> str:
    parts = [f"{c.status[0]} -> {c.status[1]}"] if c.status[0] != c.status[1] else []
    parts += [c.contradiction] if c.contradiction else []
    if c.ratio is not None:
        timing = "single runs" if c.interval is None else str(c.interval)
        parts.append(f"{digits(c.ratio)} times as long ({timing})")
    return f"{c.problem}, {c.method}: {', '.join(parts)}"


# -- for other programs --------------------------------------------------------------------------------------------


def _plain(found: Changes, words: Sequence[str], met: Sequence[tuple[Condition, str]]) -> dict[str, Any]:
    def ends(interval: Interval | None) -> list[float] | None:
        return None if interval is None else [interval.low, interval.high]

    def alone(cell: Cell) -> dict[str, Any]:
        return {"problem": cell.problem, "method": cell.method, **value(cell)}

    methods = [
        {
            "method": m.method,
            "cells": m.pair.both,
            "ratio": m.pair.ratio,
            "over_problems": ends(m.pair.over_problems),
            "from_timing": ends(m.pair.from_timing),
            "verdict": m.pair.verdict,
            "why": m.pair.why,
        }
        for m in found.methods
    ]
    cells = [
        {
            "problem": c.problem,
            "method": c.method,
            "a": value(c.a),
            "b": value(c.b),
            "ratio": c.ratio,
            "from_timing": ends(c.interval),
            "contradiction": c.contradiction,
        }
        for c in found.cells
    ]
    return {
        "a": words[0],
        "b": words[1],
        "clock": found.clock,
        "methods": methods,
        "cells": cells,
        "only_a": [alone(cell) for cell in found.only_a],
        "only_b": [alone(cell) for cell in found.only_b],
        "fails": [{"condition": str(condition), "line": line} for condition, line in met],
    }
