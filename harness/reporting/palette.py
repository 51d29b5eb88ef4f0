"""One look for each method in every figure of a report: a colour, a dash, a marker.

The colours can be told apart with any colour vision (Okabe and Ito 2008, their yellow and sky blue exchanged for
wine and grey: one is faint on white, the other too near to blue).
Beyond eight methods the dash changes too, and the marker says the same without colour. Methods that differ in one
number alone are ordered by it, from dark to light.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from marginbench.harness.reporting.comparison import NUMBER, Comparison

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#882255", "#767676"]
DASHES: list[tuple[float, ...]] = [(), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2)]
"""Lengths of ink and of nothing, in line widths; none: a full line."""
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "p"]
"""In the words of matplotlib."""

SEQUENCES = [
    ["#440154", "#414487", "#2A788E", "#22A884", "#7AD151"],
    ["#4A0C6B", "#A52C60", "#ED6925", "#F7B32B"],
]
"""Dark to light: viridis and inferno, without their ends that vanish on white."""

NEUTRAL = "#5B6470"
"""Targets, bounds and what belongs to no method."""


@dataclass(frozen=True)
class Look:
    colour: str
    dash: tuple[float, ...]
    marker: str


def looks_of(comparison: Comparison) -> dict[str, Look]:
    """Of all methods of a report, the same in its page and its figures, budgets told apart or not."""
    return looks([*comparison.methods, *comparison.merged.methods], (task.runs for task in comparison.tasks[:1000]))


def looks(labels: Sequence[str], together: Iterable[Iterable[str]] = ()) -> dict[str, Look]:
    """Label -> its look; no two alike up to 32 methods outside of sweeps.

    together: labels that are drawn in one figure. They have different colours as far as there are enough of them.
    """
    found: dict[str, Look] = {}
    for turn, members in enumerate(sweeps(labels)):
        colours = SEQUENCES[turn % len(SEQUENCES)]
        for k, label in enumerate(members):
            colour = mixed(colours, k / (len(members) - 1))
            found[label] = Look(colour, DASHES[turn % len(DASHES)], MARKERS[k % len(MARKERS)])
    groups = {frozenset(group) for group in together}
    taken: dict[str, int] = {}
    for label in dict.fromkeys(labels):
        if label not in found:
            beside = {taken[other] % len(COLOURS) for group in groups if label in group for other in group & set(taken)}
            free = [k for k in range(max(TIERS, len(taken) + 1)) if k not in taken.values()]
            taken[label] = next((k for k in free if k % len(COLOURS) not in beside), free[0])
            found[label] = look(taken[label])
    return {label: found[label] for label in labels}


TIERS = len(COLOURS) * len(DASHES)
"""Pairs of colour and dash."""


def look(k: int) -> Look:
    """Of the k-th of several things that have no order."""
    return Look(COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)], MARKERS[k % len(MARKERS)])


def sweeps(labels: Sequence[str], least: int = 3) -> list[list[str]]:
    """Labels that differ in the number behind one `=` alone, at least so many, in the order of that number."""
    alike: dict[str, list[tuple[list[float], str]]] = defaultdict(list)
    for label in dict.fromkeys(labels):
        numbers = [float(m[2]) for m in VALUE.finditer(label)]
        if numbers:
            alike[VALUE.sub(r"\1#", label)].append((numbers, label))
    found = []
    for members in alike.values():
        varying = [j for j in range(len(members[0][0])) if len({numbers[j] for numbers, _ in members}) > 1]
        if len(members) >= least and len(varying) == 1:
            found.append([label for _, label in sorted(members)])
    return found


VALUE = re.compile(rf"(=)({NUMBER})(?=\s|$)")


def mixed(colours: Sequence[str], share: float) -> str:
    """The colour at `share` of the way through a list of them."""
    place = share * (len(colours) - 1)
    k = min(int(place), len(colours) - 2)
    pair = [[int(colour[j : j + 2], 16) for j in (1, 3, 5)] for colour in colours[k : k + 2]]
    return "#" + "".join(f"{round(a + (place - k) * (b - a)):02X}" for a, b in zip(*pair, strict=True))
