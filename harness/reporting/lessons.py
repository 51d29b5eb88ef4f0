"""From the perceptron to the support vector machine: what a picture of each step teaches, and what came out of it."""

import math

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting.comparison import number, refuted, succeeded

LAST = 1_000_000


def lesson(r: Record) -> tuple[int, str]:
    """(place in the course, sentence) that its formulation declares; last and empty where it declares none."""
    match r.info.get("lesson"):
        case [int(turn), str(words)]:
            return turn, words
    return LAST, ""


def found_sentence(r: Record, known: Bounds, kinds: str) -> str:
    """What came out, with numbers. kinds: a letter for each row that is drawn, as in `planes.KINDS`."""
    if status_of(r.status).no_solution:
        false = "It said that no hyperplane separates these rows; another method found one that does."
        return false if refuted(r, known) else "Proven: no hyperplane separates these rows."
    counts = {letter: kinds.count(letter) for letter in "miw"}
    norm = number(r.info.get("w_norm"))
    if math.inf == r.C:
        if r.margin is None:
            return f"Not separated: {rows(counts['w'])} on the wrong side."
        held = f", held by {rows(counts['m'])}" if r.info.get("judge") != "separation" else ""
        return f"{_updates(r)}Margin {r.margin:.3g}{_largest(known)}{held}."
    gap = number(r.gap)
    inside = f"{rows(counts['m'])} on the margin, {counts['i']} inside, {counts['w']} on the wrong side"
    short = "" if succeeded(r) or gap is None else f"; gap {gap:.1g}, short of what was asked"
    return f"Half width {1.0 / norm:.3g}; {inside}{short}." if norm else f"{inside}{short}."


def rows(k: int) -> str:
    return "1 row" if k == 1 else f"{k} rows"


def _updates(r: Record) -> str:
    made, bound = number(r.updates), number(r.updates_bound)
    if made is None:
        return ""
    return f"{made:.0f} updates{'' if bound is None else f' (at most {bound:.0f} by theory)'}. "


def _largest(known: Bounds) -> str:
    """Of a hard margin, P* = 1 / (2 margin^2)."""
    return f" of at most {known.margin:.3g}" if 0.0 < known.lower < math.inf else ""
