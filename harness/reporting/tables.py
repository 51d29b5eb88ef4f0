"""Records as one flat table, as CSV, Parquet, Markdown and LaTeX. Every value that was varied is a column."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.printable import printable
from marginbench.harness.records.record import ADDED, COLUMNS, Record
from marginbench.harness.reporting import variation
from marginbench.harness.reporting.comparison import NUMBER, Comparison, number, show_C

WHOLE = ("n", "d", "nnz", "seed", "repeat", "threads", "iterations", "updates", "sv_margin", "sv_inside", "sv_wrong")
TEXT = (
    "dataset",
    "bias",
    "loss",
    "formulation",
    "solver",
    "start",
    "status",
    "claim",
    "dual_source",
    "reference",
    "message",
    "hash",
)
PROBLEM = ["dataset", "n", "d", "nnz", "C", "bias", "loss"]
IDENTITY = ["method", "problem"]
"""Columns after COLUMNS. The key in `problem` is the same in two rows exactly when they answer the same question."""


def table(records: Sequence[Record], references: Mapping[str, Bounds] | None = None) -> pd.DataFrame:
    """The table of records: see `frame_of`."""
    return frame_of(Comparison.of(records, references))


def frame_of(comparison: Comparison) -> pd.DataFrame:
    """One row per record: COLUMNS, IDENTITY, the budget, then every configuration value that differs between records,
    under its path. Empty where a value has no meaning.

    `suboptimality` is (P - D) / P with the best proven D of the same problem: of the references, or of
    any record with multipliers of its own. `reference` says which: `stored`, `computed` or `run`.
    The paths that a page needs beside the names of a row are in `attrs["shown"]`.
    """
    rows = []
    for record, key in zip(comparison.records, comparison.keys, strict=True):
        row = {name: getattr(record, name) for name in COLUMNS}
        known = comparison.bounds[record.problem]
        row["suboptimality"] = known.suboptimality(record.primal)
        row["reference"] = "" if row["suboptimality"] is None else known.source
        row |= {name: _whole(row[name]) for name in WHOLE}
        row |= {name: None for since, names in ADDED.items() if since > record.schema for name in names}
        rows.append(row | {"method": record.method, "problem": printable(key if key in comparison.bounds else "")})
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *IDENTITY])
    text = {*TEXT, *IDENTITY}
    kinds = {"Int64": WHOLE, "str": text, "boolean": ("false_claim",)}
    frame = frame.astype(dict.fromkeys(frame.columns, "float64") | {n: kind for kind in kinds for n in kinds[kind]})
    paths = [*variation.ALWAYS, *(path for path in comparison.varied if path not in variation.ALWAYS)]
    asked = {path: _column([config.get(path, ABSENT) for config in comparison.configurations]) for path in paths}
    frame = pd.concat([frame, pd.DataFrame(asked, index=frame.index)], axis=1)
    again = [name for name in ("threads", "start", "seed", "repeat") if frame[name].nunique() > 1]
    frame.attrs["shown"] = [*comparison.untold, *again]
    return frame


ABSENT = object()


def _whole(value: Any) -> int | None:
    """A whole number as far as a table can hold it."""
    return value if isinstance(value, int) and abs(value) < 2**63 else None


def _column(values: Sequence[Any]) -> pd.Series:
    """Numbers where all values are numbers, else the text that one would type; empty where a row has no such value."""
    given = [value for value in values if value is not ABSENT]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in given):
        numbers = [None if value is ABSENT else value for value in values]
        if all(isinstance(value, int) for value in given) and numbers == [_whole(value) for value in numbers]:
            return pd.Series(numbers, dtype="Int64")
        return pd.Series([None if value is None else _float(value) for value in numbers], dtype="float64")
    return pd.Series([None if value is ABSENT else variation.text(value) for value in values], dtype="str")


def _float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def write(frame: pd.DataFrame, folder: Path) -> None:
    """table.csv and table.parquet with all columns; table.md and table.tex with those that a page has room for."""
    write_atomically(folder / "table.csv", csv(frame))
    write_atomically(folder / "table.parquet", frame.to_parquet(index=False))
    write_atomically(folder / "table.md", markdown(frame))
    write_atomically(folder / "table.tex", latex(frame))


def csv(frame: pd.DataFrame) -> str:
    """Text that a spreadsheet would take for a formula begins with an apostrophe there; numbers stay numbers."""
    changed = {}
    for name in map(str, frame.select_dtypes(["str", "object"]).columns):
        safe = frame[name].map(no_formula, na_action="ignore")
        if not safe.equals(frame[name]):  # else no copy of a large table is kept
            changed[name] = safe
    return frame.assign(**changed).to_csv(index=False, lineterminator="\n")


def no_formula(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("=", "+", "-", "@")):
        return value
    return value if re.fullmatch(NUMBER, value) else f"'{value}"


# -- what a page has room for --------------------------------------------------------------------------------------

NAMES = ["dataset", "C", "bias", "formulation", "solver"]
NUMBERS = ["gap", "suboptimality", "seconds", "passes", "iterations"]


def page_headers(frame: pd.DataFrame) -> list[str]:
    """The columns of `page_rows`: names, every path that the names do not tell, status, numbers, message."""
    return [*NAMES, *_shown(frame), "status", *NUMBERS, "message"]


def _shown(frame: pd.DataFrame) -> list[str]:
    return [path for path in frame.attrs.get("shown", []) if path in frame.columns]


def time_text(value: Any) -> str:
    """Seconds with a unit and three digits."""
    seconds = number(value)
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}" if seconds < 1000.0 else f"{seconds:.0f} s"
    return ""


def short(value: Any) -> str:
    """A gap or residual: two digits and a power of ten."""
    x = number(value)
    return "" if x is None else "0" if x == 0.0 else re.sub(r"e([+-])0*(\d)", r"e\1\2", f"{x:.1e}").replace("+", "")


def count(value: Any) -> str:
    """A count, whole where it is large."""
    x = number(value)
    return "" if x is None else f"{x:.0f}" if 10.0 <= x < 1e6 else f"{x:.3g}".replace("e+0", "e")


def page_rows(frame: pd.DataFrame) -> list[list[str]]:
    """`page_headers` of each row, as text."""
    shown, rows = _shown(frame), []
    for r in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        spent = number(r["solve_seconds"])
        spent = None if spent is None else spent + (number(r["build_seconds"]) or 0.0)
        names = [r["dataset"], show_C(r["C"]), r["bias"], r["formulation"], r["solver"]]
        asked = ["" if r[path] is None else variation.text(r[path]) for path in shown]
        numbers = [short(r["gap"]), short(r["suboptimality"]), time_text(spent), count(r["passes"])]
        rows.append([*names, *asked, r["status"], *numbers, count(r["iterations"]), r["message"]])
    return rows


def markdown(frame: pd.DataFrame) -> str:
    """A pipe table. Nothing in a field can end the field, start a tag or open a link."""
    headers = page_headers(frame)
    rules = ["---:" if name in NUMBERS else "---" for name in headers]
    return "".join([markdown_line(headers), f"| {' | '.join(rules)} |\n", *map(markdown_line, page_rows(frame))])


def markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |\n"


def markdown_text(text: str) -> str:
    """One line in which nothing is a mark of Markdown or HTML."""
    return re.sub(r"([\\`*\[\]<>|&])", r"\\\1", printable(text))


LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "∞": r"$\infty$", "µ": r"\textmu{}", "—": "---", "δ": r"$\delta$",
    "…": r"\dots{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    return "".join(LATEX.get(c, c) for c in printable(text))


def latex_number(text: str) -> str:
    """1.2e-9 as a power of ten."""
    return re.sub(r"^(-?[\d.]+)e(-?\d+)$", r"$\1 \\cdot 10^{\2}$", text)


def latex(frame: pd.DataFrame) -> str:
    """A longtable in the style of booktabs; the preamble needs the packages booktabs, longtable and textcomp."""
    headers = page_headers(frame)[:-1]
    lines = [
        rf"\begin{{longtable}}{{{''.join('r' if name in NUMBERS else 'l' for name in headers)}}}",
        r"\toprule",
        " & ".join(map(latex_text, headers)) + r" \\",
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    for row in page_rows(frame):
        cells = [latex_number(latex_text(cell)) for cell in row[-1 - len(NUMBERS) : -1]]
        lines.append(" & ".join([*map(latex_text, row[: -1 - len(NUMBERS)]), *cells]) + r" \\")
    return "\n".join([*lines, r"\end{longtable}", ""])
