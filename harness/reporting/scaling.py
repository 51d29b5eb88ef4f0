"""How time, passes and memory grow with the size of the data: exponents of a power law, with intervals.

A *ladder* is a method on problems that differ in one setting of their data set only. Its size is n where d stays, d
where n stays, and the number of non-zeros where both stay. Over the sizes that were solved, the median of each quantity
is fitted by

    log quantity = log a + e log size                    least squares; the interval of e is that of Student's t, 95 %

so that the interval holds what a power law does not explain, too: a fixed cost at small sizes makes e small and its
interval wide. Therefore the exponent of the largest decade stands beside it. Of memory, most is libraries: what is
fitted is peak memory beyond that of the smallest size, against the size beyond the smallest, from 1 MB on.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from marginbench.harness.records.record import Record
from marginbench.harness.reporting import variation
from marginbench.harness.reporting.comparison import Comparison, natural, number, seconds, succeeded
from marginbench.harness.reporting.medians import median
from marginbench.harness.reporting.tables import count, markdown_line

FEWEST = 3
"""Sizes of a ladder; with fewer there is no interval."""
DECADE = 10.0 * (1.0 + 1e-9)
LEAST_MB = 1.0
"""Less than this beyond the smallest size is what processes differ in anyway."""


QUANTITIES: dict[str, Callable[[Record], float | None]] = {
    "time": seconds,
    "passes": lambda r: number(r.passes),
    "memory": lambda r: number(r.peak_mb),
}


@dataclass(frozen=True)
class Power:
    """quantity = a size^exponent; low, high: the interval of the exponent. last: that of the largest decade."""

    exponent: float
    low: float
    high: float
    last: float | None
    largest: float
    """The quantity at the largest size."""

    def text(self) -> str:
        last = "" if self.last is None else f", last decade {self.last:.2f}"
        return f"{self.exponent:.2f} [{self.low:.2f}, {self.high:.2f}]{last}"


@dataclass(frozen=True)
class Ladder:
    """A method on data of growing size: the sizes asked, and those solved with the median of each quantity there."""

    dataset: str
    setting: str
    axis: str
    method: str
    sizes: list[int]
    solved: list[int]
    values: dict[str, list[float | None]]

    def power(self, quantity: str) -> Power | None:
        values = self.values[quantity]
        if quantity != "memory" or not values or values[0] is None:
            return fitted(self.solved, values)
        more = [None if mb is None else mb - values[0] for mb in values]
        beyond = [mb if mb is not None and mb >= LEAST_MB else None for mb in more]
        return fitted([size - self.solved[0] for size in self.solved], beyond)


def fitted(sizes: Sequence[float], values: Sequence[float | None]) -> Power | None:
    """The power law through the values above 0; None with fewer than FEWEST of them."""
    points = [(s, v) for s, v in zip(sizes, values, strict=True) if v is not None and 0.0 < v < math.inf and s > 0]
    if len({s for s, _ in points}) < FEWEST:
        return None
    x, y = np.log(np.array(points, dtype=float)).T
    exponent, error = _slope(x, y)
    reach = float(stdtrit(len(points) - 2, 0.975)) * error
    late = x >= x.max() - math.log(DECADE)
    last = _slope(x[late], y[late])[0] if 2 <= late.sum() < len(points) else None
    return Power(exponent, exponent - reach, exponent + reach, last, points[int(x.argmax())][1])


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Of the least squares line, and its standard error (0 through two points)."""
    dx, dy = x - x.mean(), y - y.mean()
    slope = float(dx @ dy / (dx @ dx))
    rest = dy - slope * dx
    return slope, math.sqrt(float(rest @ rest) / max(1, x.size - 2) / float(dx @ dx))


def ladders(comparison: Comparison) -> list[Ladder]:
    """Every method on every setting of a data set that takes FEWEST sizes or more while all else stays."""
    groups: dict[tuple[str, str, str, str], list[Record]] = defaultdict(list)
    settings = [path for path in comparison.varied if path.startswith("dataset.") and path != "dataset._target_"]
    rows = zip(comparison.records, comparison.configurations, comparison.labels, strict=True)
    for record, config, method in rows:
        for setting in settings:
            if setting in config:
                others = {p: v for p, v in config.items() if p.startswith(variation.OF_PROBLEM) and p != setting}
                groups[record.dataset, setting, method, variation.text(others)].append(record)
    found = [_ladder(dataset, setting, method, some) for (dataset, setting, method, _), some in groups.items()]
    kept = [ladder for ladder in found if ladder is not None]
    return sorted(kept, key=lambda one: (one.dataset, one.setting, natural(one.method)))


def _ladder(dataset: str, setting: str, method: str, records: list[Record]) -> Ladder | None:
    ns, ds = {r.n for r in records}, {r.d for r in records}
    axis = "n" if len(ds) == 1 < len(ns) else "d" if len(ns) == 1 < len(ds) else "nnz"
    by_size: dict[int, list[Record]] = defaultdict(list)
    for r in records:
        by_size[getattr(r, axis)].append(r)
    if len(by_size) < FEWEST:
        return None
    sizes = sorted(by_size)
    solved = [size for size in sizes if all(map(succeeded, by_size[size]))]
    values = {
        name: [_median([value(r) for r in by_size[size]]) for size in solved] for name, value in QUANTITIES.items()
    }
    return Ladder(dataset, setting.removeprefix("dataset."), axis, method, sizes, solved, values)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def frame(found: Sequence[Ladder]) -> pd.DataFrame:
    """A row for each ladder and quantity."""
    columns = ["dataset", "axis", "method", "smallest", "largest", "sizes", "solved", "quantity"]
    rows = []
    for one in found:
        about = [one.dataset, one.axis, one.method, one.sizes[0], one.sizes[-1], len(one.sizes), len(one.solved)]
        for name in QUANTITIES:
            power = one.power(name)
            numbers = [None] * 5 if power is None else list(vars(power).values())
            rows.append([*about, name, *numbers])
    return pd.DataFrame(rows, columns=[*columns, "exponent", "low", "high", "last_decade", "at_largest"])


def markdown(found: Sequence[Ladder]) -> str:
    """Time of all ladders side by side, where there are several settings, then a table for each data set and setting;
    nothing where there is no ladder."""
    text = _side_by_side(found)
    for dataset, setting in dict.fromkeys((one.dataset, one.setting) for one in found):
        rows = [one for one in found if (one.dataset, one.setting) == (dataset, setting)]
        axis, sizes = rows[0].axis, sorted({size for one in rows for size in one.sizes})
        text += f"{dataset}, {axis} = {count(sizes[0])} to {count(sizes[-1])} in {len(sizes)} sizes. "
        text += f"Exponents of {axis}:\n\n"
        text += markdown_line(["formulation / solver", "solved", *QUANTITIES, "at the largest solved"])
        text += "|---" * (len(QUANTITIES) + 3) + "|\n"
        for one in rows:
            powers = {name: one.power(name) for name in QUANTITIES}
            cells = ["" if power is None else power.text() for power in powers.values()]
            text += markdown_line([one.method, f"{len(one.solved)} of {len(one.sizes)}", *cells, _at_largest(one)])
        text += "\n"
    return text


def _side_by_side(found: Sequence[Ladder]) -> str:
    """Exponents of time: a row for each method, a column for each data set and setting."""
    columns = dict.fromkeys((one.dataset, one.setting) for one in found)
    if len(columns) < 2:
        return ""
    heads = []
    for column in columns:
        rows = [one for one in found if (one.dataset, one.setting) == column]
        sizes = sorted({size for one in rows for size in one.sizes})
        heads.append(f"{rows[0].axis} = {count(sizes[0])} to {count(sizes[-1])} ({column[0]})")
    text = "Exponents of time, in brackets their 95 % interval:\n\n"
    text += markdown_line(["method", *heads]) + "|---" * (len(heads) + 1) + "|\n"
    for method in sorted({one.method for one in found}, key=natural):
        by_column = {(one.dataset, one.setting): one for one in found if one.method == method}
        text += markdown_line([method, *(_time(by_column.get(column)) for column in columns)])
    return text + "\n"


def _time(one: Ladder | None) -> str:
    """`0.69 [0.55, 0.83], last decade 1.03; 6 of 7 sizes`"""
    if one is None:
        return ""
    power, some = one.power("time"), len(one.solved) < len(one.sizes)
    shown = [power.text()] if power is not None else []
    return "; ".join([*shown, *([f"{len(one.solved)} of {len(one.sizes)} sizes"] if some else [])])


def _at_largest(one: Ladder) -> str:
    """`n = 1e6: 0.8 s, 20 passes, 400 MB`"""
    if not one.solved:
        return ""
    units = {"time": "s", "passes": "passes", "memory": "MB"}
    last = {name: values[-1] for name, values in one.values.items()}
    shown = [f"{value:.2g} {units[name]}" for name, value in last.items() if value is not None]
    return f"{one.axis} = {count(one.solved[-1])}: {', '.join(shown)}"
