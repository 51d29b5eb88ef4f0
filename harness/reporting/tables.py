"""Records as one flat table: on the terminal, and as CSV, Parquet, Markdown and LaTeX."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tabulate import tabulate

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import COLUMNS, Record
from marginbench.harness.records.status import named
from marginbench.harness.reporting.comparison import Comparison, number, show_C

WHOLE = ("n", "d", "nnz", "seed", "repeat", "iterations", "updates", "sv_margin", "sv_inside", "sv_wrong")
TEXT = (
    "dataset",
    "bias",
    "loss",
    "formulation",
    "solver",
    "status",
    "claim",
    "dual_source",
    "reference",
    "message",
    "hash",
)
PROBLEM = ["dataset", "n", "d", "nnz", "C", "bias", "loss"]


def table(records: Sequence[Record], references: Mapping[str, Bounds] | None = None) -> pd.DataFrame:
    """One row per record, COLUMNS in order; empty where a number has no meaning.

    `suboptimality` is (P - D) / P with the best proven D of the same problem: of the references, or of
    any record with multipliers of its own. `reference` says which: `stored`, `computed` or `run`.
    The settings that tell rows of one formulation and solver apart are in `attrs["variants"]`.
    """
    comparison = Comparison.of(records, references)
    rows = []
    for record in comparison.records:
        row = {name: getattr(record, name) for name in COLUMNS}
        known = comparison.bounds[record.problem]
        row["suboptimality"] = known.suboptimality(record.primal)
        row["reference"] = "" if row["suboptimality"] is None else known.source
        rows.append(row)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    kinds = {name: "Int64" if name in WHOLE else "str" if name in TEXT else "float64" for name in COLUMNS}
    frame = frame.astype(kinds)
    frame.attrs["variants"] = comparison.variants
    return frame


def write(frame: pd.DataFrame, folder: Path) -> None:
    """table.csv and table.parquet with all columns; table.md and table.tex with those that a page has room for."""
    write_atomically(folder / "table.csv", csv(frame))
    write_atomically(folder / "table.parquet", frame.to_parquet(index=False))
    write_atomically(folder / "table.md", markdown(frame))
    write_atomically(folder / "table.tex", latex(frame))


def csv(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, lineterminator="\n")


# -- what a page has room for --------------------------------------------------------------------------------------

HEADERS = [
    "dataset",
    "C",
    "bias",
    "formulation",
    "solver",
    "status",
    "gap",
    "suboptimality",
    "seconds",
    "passes",
    "iterations",
]


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


def plain(text: str) -> str:
    """One line without control characters: a terminal would obey them, LaTeX stumble over them."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def count(value: Any) -> str:
    """A count, whole where it is large."""
    x = number(value)
    return "" if x is None else f"{x:.0f}" if 10.0 <= x < 1e6 else f"{x:.3g}".replace("e+0", "e")


def page_rows(frame: pd.DataFrame) -> list[list[str]]:
    """HEADERS and the message of each row, as text."""
    rows = []
    lines: Iterator[Any] = frame.astype(object).itertuples(index=False)
    for r, variant in zip(lines, _variants(frame), strict=True):
        spent = number(r.solve_seconds)
        spent = None if spent is None else spent + (number(r.build_seconds) or 0.0)
        again = f"(seed {r.seed}, repeat {r.repeat})" if (r.seed, r.repeat) != (0, 0) else ""
        solver = " ".join(part for part in (r.solver, variant, again) if part)
        cells = [r.dataset, show_C(r.C), r.bias, r.formulation, solver, r.status]
        numbers = [short(r.gap), short(r.suboptimality), time_text(spent), count(r.passes), count(r.iterations)]
        rows.append([*cells, *numbers, r.message])
    return rows


def _variants(frame: pd.DataFrame) -> list[str]:
    return frame.attrs.get("variants", [""] * len(frame))


def markdown(frame: pd.DataFrame) -> str:
    """A pipe table. Nothing in a field can end the field, start a tag or open a link."""
    lines = [[*HEADERS, "message"], ["---"] * 6 + ["---:"] * 5 + ["---"], *page_rows(frame)]
    return "".join(map(markdown_line, lines))


def markdown_line(cells: Sequence[str]) -> str:
    escaped = [re.sub(r"([\\`*\[\]<>|&])", r"\\\1", plain(cell)) for cell in cells]
    return f"| {' | '.join(escaped)} |\n"


LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "∞": r"$\infty$", "µ": r"\textmu{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    return "".join(LATEX.get(c, c) for c in plain(text))


def latex_number(text: str) -> str:
    """1.2e-9 as a power of ten."""
    return re.sub(r"^(-?[\d.]+)e(-?\d+)$", r"$\1 \\cdot 10^{\2}$", text)


def latex(frame: pd.DataFrame) -> str:
    """A longtable in the style of booktabs; the preamble needs the packages booktabs, longtable and textcomp."""
    head = " & ".join(HEADERS) + r" \\"
    lines = [
        r"\begin{longtable}{llllllrrrrr}",
        r"\toprule",
        head,
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    for row in page_rows(frame):
        cells = [latex_text(cell) for cell in row[:6]] + [latex_number(latex_text(cell)) for cell in row[6:11]]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\end{longtable}", ""])


# -- the terminal --------------------------------------------------------------------------------------------------


def terminal(frame: pd.DataFrame, width: int = 110) -> str:
    """One table per problem, at most `width` wide; repetitions of a cell in one line: medians, the worst gap."""
    if frame.empty:
        return "no cells"
    blocks = []
    frame = frame.assign(solver=[f"{s} {v}".strip() for s, v in zip(frame["solver"], _variants(frame), strict=True)])
    for _, rows in frame.groupby(PROBLEM, sort=False, dropna=False):
        first: Any = rows.iloc[0]
        sparse = "" if first.nnz == first.n * first.d else f", {first.nnz} nonzeros"
        more = "" if first.loss == "hinge" else f", {first.loss}"
        title = f"{first.dataset}: {first.n} x {first.d}{sparse}, C = {show_C(first.C)}, bias {first.bias}{more}"
        lines = [_terminal_line(runs) for _, runs in rows.groupby(["formulation", "solver"], sort=False)]
        blocks.append(f"{_cut(plain(title), width)}\n{_fit(lines, width)}")
    return "\n\n".join(blocks)


def _terminal_line(runs: pd.DataFrame) -> list[str]:
    statuses = runs["status"].value_counts(sort=False)
    times = f" x{len(runs)}" if len(runs) > 1 else ""
    status = ", ".join(f"{s} {k}" for s, k in statuses.items()) if len(statuses) > 1 else runs["status"].iloc[0] + times
    fine = runs["status"].isin(named(success=True))
    good = runs[fine] if fine.any() else runs
    spent = (good["build_seconds"].fillna(0.0) + good["solve_seconds"]).median()
    message = next((m for m in [*runs[~fine]["message"], *runs["message"]] if m), "")
    numbers = [short(runs["gap"].max()), short(runs["suboptimality"].max()), time_text(spent)]
    counts = [count(good[name].astype("float64").median()) for name in ("passes", "iterations")]
    name = plain(f"{runs['formulation'].iloc[0]} / {runs['solver'].iloc[0]}")
    return [name, plain(status), *numbers, *counts, plain(message)]


def _fit(lines: list[list[str]], width: int) -> str:
    """The table; a message that its column has no room for goes below its line."""
    headers = ["formulation / solver", "status", "gap", "subopt.", "time", "passes", "iter.", "message"]
    used = [max(len(headers[k]) + 2, *(len(line[k]) for line in lines)) for k in range(7)]  # tabulate pads headers
    used[0] = max(min(used[0], width - sum(used[1:]) - 2 * 6), 16)
    left = width - sum(used) - 2 * 7
    beside = left >= max(len(line[7]) for line in lines) > 0
    shown = [[_cut(line[0], used[0]), *line[1:7], *([line[7]] if beside else [])] for line in lines]
    align = ("left", "left", "right", "right", "right", "right", "right", "left")[: 7 + beside]
    text = tabulate(shown, headers[: 7 + beside], tablefmt="simple", colalign=align, disable_numparse=True)
    head, rule, *rows = text.splitlines()
    out = [head, rule]
    for row, line in zip(rows, lines, strict=True):
        out.append(row)
        if not beside:
            out += textwrap.wrap(
                line[7], width, initial_indent="    ", subsequent_indent="    ", max_lines=3, placeholder=" …"
            )
    return "\n".join(_cut(line.rstrip(), width) for line in out)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
