"""What a record may hold: how long its texts, how large its numbers.

What a solver says can be of any size. It is cut where a record is written, with a note, so that every record that is
written can be read, tabulated and drawn. What another hand wrote is measured where it is read.
"""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import numpy as np

from marginbench.harness.records.record import COLUMNS, Record

LARGEST_WHOLE = 2**63 - 1
"""A column of whole numbers has 64 bits."""

LARGEST = 1e100
"""Beyond this, sums and squares of a number overflow, and axes cannot be drawn. C may be larger."""

ORDINARY = 1e15
"""Far below both."""

LONGEST_TEXT = 10_000
"""Characters of one text that a solver says."""

LONGEST_CURVE = 20_000
"""Entries of a curve."""

MOST_SAID = 2**18
"""Characters of all that a solver says of itself."""

PARTS = ("dataset", "preprocess", "problem", "formulation", "solver", "budget", "limits")
"""Of a cell: each is a dictionary."""

HINTS = get_type_hints(Record)
NUMBERS = tuple(name for name in COLUMNS if {int, float} & {HINTS[name], *get_args(HINTS[name])})


def misfit(record: Record) -> str:
    """Why a record cannot be shown; empty where it can."""
    for name in NUMBERS:
        if not _fits(name, getattr(record, name)):
            return f"{name} is {_short(getattr(record, name))}, beyond what a table can hold"
    for entry in record.curve:
        for name, value in entry.items() if not _ordinary(entry.values()) else ():
            if not _fits(name, value):
                return f"{name[:40]} in the curve is {_short(value)}, beyond what a figure can show"
    for name in PARTS:
        if not isinstance(record.cell.get(name, {}), dict):
            return f"{name} of its cell is no dictionary"
    for name in ("cell", "info", "machine"):
        if _has_giant(getattr(record, name)):
            return f"{name} holds a whole number beyond a double"
    return ""


def fitted(record: Record) -> Record:
    """The record, with everything left out or cut that would make it unreadable; `info` says what."""
    notes = []
    changes: dict[str, Any] = {}
    for name in NUMBERS:
        value = getattr(record, name)
        if type(None) in get_args(HINTS[name]) and not _fits(name, value):
            changes[name] = None
            notes.append(f"{name} was {_short(value)}: left out")
    changes["curve"] = [
        {name: value if _fits(name, value) else None for name, value in entry.items()} for entry in record.curve
    ]
    if len(record.curve) > LONGEST_CURVE:
        chosen = np.unique(np.linspace(0, len(record.curve) - 1, LONGEST_CURVE).astype(int))
        changes["curve"] = [changes["curve"][k] for k in chosen]
        notes.append(f"the curve had {len(record.curve)} entries: some are left out")
    changes["info"] = _cut_info(record.info, notes)
    changes |= {f.name: _cut(getattr(record, f.name), f.name, notes) for f in fields(Record) if HINTS[f.name] is str}
    if notes:
        changes["info"]["cut"] = "; ".join(notes[:20])
    return replace(record, **changes)


def _ordinary(values: Iterable[float | None]) -> bool:
    """Whether all numbers are so small that every column and figure has room: most are, and this is seen at once."""
    given = [value for value in values if value is not None]
    return not given or (min(given) > -ORDINARY and max(given) < ORDINARY)


def _fits(name: str, value: Any) -> bool:
    if type(value) in (int, np.int64):
        return abs(value) <= LARGEST_WHOLE
    return not isinstance(value, float) or not LARGEST < abs(value) < np.inf or name == "C"


def _cut_info(info: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    found = {str(key)[:200]: _cut(value, str(key)[:200], notes) for key, value in info.items()}
    if sum(len(repr(value)) for value in found.values()) > MOST_SAID:
        notes.append(f"what the solver said of itself was longer than {MOST_SAID} characters: left out")
        known = ("judge", "restarts", "baseline", "peer")
        return {key: found[key] for key in known if key in found}
    return found


def _has_giant(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_giant, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and value.bit_length() > 1023


def _cut(value: Any, name: str, notes: list[str]) -> Any:
    if _has_giant(value):
        notes.append(f"{name} held a whole number beyond a double: left out")
        return None
    if not isinstance(value, str) or len(value) <= LONGEST_TEXT:
        return value
    notes.append(f"{name} had {len(value)} characters: cut")
    return f"{value[:LONGEST_TEXT]} [cut]"


def _short(value: Any) -> str:
    """A number of any length in a few characters."""
    if isinstance(value, int) and abs(value) > 10**12:
        digits = int(abs(value).bit_length() * 0.30103)
        return f"{'-' if value < 0 else ''}a number of about {digits} digits"
    return f"{value!r}"[:40]
