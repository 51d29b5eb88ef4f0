"""Figures as a journal takes them: 7 or 3.5 inches wide, 8 point text, fonts embedded as Type 42, nothing cut.

Everything is placed in inches, from sizes that are known before anything is drawn: a legend goes below the charts in as
many columns as its longest name allows, and the figure is as high as that makes it. To have matplotlib measure its
texts and lay them out costs several times as much as to draw them.
"""

import io
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from marginbench.harness.files import write_atomically
from marginbench.harness.reporting.palette import Look

WIDE, NARROW = 7.0, 3.5
"""Inches: both columns of a page, and one."""

SIZE, SMALL = 8.0, 7.0
"""Points of text, and of the text of ticks and legends."""

LETTER = 0.6 * SMALL / 72.0
"""Inches of a letter of small text, with some room."""

LINE = 1.45 * SMALL / 72.0
"""Inches from one line of a legend to the next."""

LOOK: dict[Any, Any] = {
    "font.size": SIZE, "axes.titlesize": SIZE, "axes.labelsize": SIZE, "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL, "legend.fontsize": SMALL, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#d9dde3", "grid.linewidth": 0.4, "axes.axisbelow": True,
    "axes.edgecolor": "#5b6470", "axes.linewidth": 0.6, "axes.titlepad": 4.0, "axes.labelpad": 2.5,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "xtick.major.pad": 2.0, "ytick.major.pad": 2.0, "lines.linewidth": 1.2, "lines.markersize": 3.5,
    "legend.frameon": False, "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none",
    "svg.hashsalt": "marginbench", "path.simplify": True, "figure.dpi": 100, "savefig.dpi": 300,
}  # fmt: skip

METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
"""No dates in the files: the same figure has the same bytes."""


def save(figure: Figure, folder: Path, name: str, kinds: Sequence[str]) -> Path:
    """Written in each of the kinds; the path of the first."""
    canvas = FigureCanvasAgg(figure)
    for kind in kinds:
        buffer = io.BytesIO()
        canvas.print_figure(buffer, format=kind, metadata=METADATA[kind])
        write_atomically(folder / f"{name}.{kind}", buffer.getvalue())
    return folder / f"{name}.{kinds[0]}"


# -- text ----------------------------------------------------------------------------------------------------------


@cache
def _known_characters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties())).get_charmap())


def text(value: str, most: int = 60) -> str:
    """As matplotlib can draw it: no formula is started by a dollar, no character is missing in the font. What is too
    long loses its middle: names of variants differ at their ends."""
    known = _known_characters()
    value = "".join(c if ord(c) in known else "?" for c in " ".join(value.split()))
    if len(value) > most:
        tail = max(1, most // 3)
        value = f"{value[: max(1, most - tail - 1)]}…{value[-tail:]}"
    return value.replace("$", r"\$")


# -- places --------------------------------------------------------------------------------------------------------


def place(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches from the upper left corner."""
    W, H = figure.get_size_inches()
    return figure.add_axes((left / W, 1.0 - (top + height) / H, width / W, height / H))


def legend_size(names: Sequence[str], width: float) -> tuple[int, float]:
    """(columns, height in inches) of a legend of that width."""
    if not names:
        return 1, 0.0
    longest = max(map(len, names)) * LETTER + 0.55
    columns = max(1, min(int((width - 0.1) / longest), len(names)))
    return columns, -(-len(names) // columns) * LINE + 0.12


def grid(
    count: int,
    width: float,
    names: Sequence[str],
    title: str = "",
    columns: int = 3,
    aspect: float = 0.78,
    titled: bool = False,
) -> tuple[Figure, list[Axes]]:
    """`count` axes, at most `columns` to a line where the figure is wide and one where it is narrow, above a legend of
    these names. A single one is narrow. titled: each has a title of its own."""
    width = NARROW if count == 1 else width
    above = 0.24 if titled else 0.06
    across = min(count, columns if width > NARROW else 1)
    lines = -(-count // across)
    cell = width / across
    inner = cell - 0.62
    height = aspect * inner if width > NARROW else min(aspect * inner, 2.2)
    head = 0.25 if title else 0.04
    _, below = legend_size(_legend_names(names, width), width)
    figure = Figure(figsize=(width, head + lines * (height + 0.44 + above) + below))
    if title:
        figure.text(0.05 / width, 1.0 - 0.05 / figure.get_figheight(), title, va="top", weight="bold", size=SIZE)
    tops = [head + above + j * (height + 0.44 + above) for j in range(lines)]
    return figure, [place(figure, 0.52 + cell * (k % across), tops[k // across], inner, height) for k in range(count)]


def _legend_names(names: Sequence[str], width: float) -> list[str]:
    return [text(name, int((width - 0.7) / LETTER)) for name in names]


def legend(figure: Figure, handles: dict[str, Any]) -> None:
    """Along the lower edge, all of it inside."""
    if not handles:
        return
    width = float(figure.get_figwidth())
    names = _legend_names(list(handles), width)
    columns, _ = legend_size(names, width)
    figure.legend(
        list(handles.values()), names, loc="lower center", ncols=columns, bbox_to_anchor=(0.5, 0.0),
        borderaxespad=0.3, borderpad=0.1, labelspacing=0.35, handlelength=2.6, handletextpad=0.6, columnspacing=1.2,
    )  # fmt: skip


# -- lines and axes ------------------------------------------------------------------------------------------------


def drawn_as(look: Look) -> dict[str, Any]:
    """Options of a line."""
    return {"color": look.colour, "dashes": look.dash or (None, None), "marker": look.marker}


def handle(look: Look, **options: Any) -> Line2D:
    """A line for a legend."""
    return Line2D([], [], **(drawn_as(look) | options))


POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decades(axis: Any, values: Sequence[float], most: int = 6, zero: float = 0.0) -> None:
    """A logarithmic axis with a tick at every power of ten, or every few; on a short one in between too.

    zero: where zeros are drawn.
    """
    pad = max((max(values) / min(values)) ** 0.04, 1.05)
    low, high = min(values) / pad, max(values) * pad
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (low, high)})
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside = [k for k in powers if low <= 10.0**k <= high]
    if len(inside) > 2:
        step = -(-len(inside) // most)
        ticks = {10.0**k: power(k) for k in inside if k % step == 0}
    else:
        for steps in ((1, 2, 5), (1, 2, 3, 4, 5, 6, 8), (1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)):
            ticks = {x: short(x) for k in powers for m in steps if low <= (x := m * 10.0**k) <= high}
            if len(ticks) > 2:
                break
    if zero and low <= zero < min(ticks, default=math.inf) * 1.01:
        ticks = {zero: "0", **{x: name for x, name in ticks.items() if x > 2.0 * zero}}
    shown: list[float] = []
    for x in ticks:
        if not shown or math.log(x / shown[-1]) >= _room(axis, ticks[shown[-1]], ticks[x]) * math.log(high / low):
            shown.append(x)
    axis.set_ticks(shown, [ticks[x] for x in shown])
    axis.set_minor_locator(NullLocator())


def _room(axis: Any, a: str, b: str) -> float:
    """The share of an axis that two neighbouring names of ticks take, so that they do not touch."""
    box, figure = axis.axes.get_position(), axis.axes.figure
    if axis.axis_name == "y":
        return 1.3 * SMALL / 72.0 / (box.height * figure.get_figheight())
    return (0.5 * (len(a) + len(b)) * LETTER + 0.06) / (box.width * figure.get_figwidth())


def power(k: int) -> str:
    return f"10{str(k).translate(POWERS)}"


def short(x: float) -> str:
    """A tick between powers of ten."""
    k = math.floor(math.log10(x) + 1e-9)
    return f"{x:.3g}" if -3 <= k <= 3 else f"{x / 10.0**k:.2g}·{power(k)}"


def logarithmic(ax: Axes, x: bool = True, y: bool = True, zero: float = 0.0) -> None:
    """Axes around everything that was drawn. zero: the y at which zeros are."""
    data = [np.asarray(line.get_xydata(), dtype=float) for line in ax.lines if line.get_transform() == ax.transData]
    points = np.concatenate(data) if data else np.empty((0, 2))
    for axis, column, wanted in ((ax.xaxis, points[:, 0], x), (ax.yaxis, points[:, 1], y)):
        positive = column[np.isfinite(column) & (column > 0.0)]
        if wanted and positive.size:
            lowest = zero if axis is ax.yaxis and positive.min() <= zero else 0.0
            decades(axis, [float(positive.min()), float(positive.max())], zero=lowest)
