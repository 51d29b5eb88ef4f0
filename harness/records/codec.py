"""Records as text, exactly and safely: what the store writes and what a cell's process answers.

Plain JSON, in which floats keep every bit. JSON has no infinity: it is written {"$float": "inf"} (the hard margin has
C = inf). NaN is never written and never read. Reading trusts nothing: duplicate keys, numbers beyond a double, nesting
without end, unknown or missing fields and values of the wrong type are all refused, with `Damaged`.
"""

import json
import math
import re
from dataclasses import MISSING, Field, fields
from pathlib import PurePath
from typing import Any, get_args, get_type_hints

import numpy as np

from marginbench.harness.records.record import ADDED, SCHEMA, Record
from marginbench.harness.records.status import STATUSES

INFINITE = {"inf": math.inf, "-inf": -math.inf}
MARK = "$float"
ESCAPE = "\\u"
HALF = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")
"""An escaped surrogate: `dumps` writes none, and text with one half cannot be written to any other file."""


class Damaged(ValueError):
    """What was read is not what was written."""


# -- values -------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """`value` in the words of JSON: NumPy's numbers as Python's, infinity marked, NaN as None, the unknown as text."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _plain_float(float(value))
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return str(value) if isinstance(value, PurePath) else repr(value)[:200]


def _plain_float(value: float) -> Any:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else {MARK: "inf" if value > 0 else "-inf"}


def dumps(value: Any) -> str:
    """Canonical: one value, one text."""
    return json.dumps(plain(value), allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def loads(data: bytes) -> Any:
    try:
        text = data.decode()
        if ESCAPE in text and HALF.search(text):
            raise Damaged("half a character")
        return json.loads(text, object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"not a record: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Damaged("a key occurs twice")
    if MARK not in found:
        return found
    if len(found) == 1 and isinstance(found[MARK], str) and found[MARK] in INFINITE:
        return INFINITE[found[MARK]]
    raise Damaged(f"{MARK} is neither inf nor -inf")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Damaged(f"{text[:40]} is beyond a double")
    return value


def _constant(text: str) -> Any:
    raise Damaged(f"{text} is not a number")


# -- records ------------------------------------------------------------------------------------------------------

TYPES = get_type_hints(Record)


def _kinds(hint: Any) -> tuple[type, ...]:
    """`float | None` gives (float, NoneType), `dict[str, Any]` gives (dict,)."""
    union = get_args(hint) if type(None) in get_args(hint) else (hint,)
    return tuple(getattr(kind, "__origin__", kind) for kind in union)


KINDS = {name: _kinds(hint) for name, hint in TYPES.items()}
"""The types that each field may have."""

NUMBERS = {int, float, type(None)}
"""Those that an entry of a curve may have."""


def record_to_plain(record: Record) -> dict[str, Any]:
    """The fields of a record; whole numbers where floats belong become floats."""
    data = {}
    for f in fields(Record):
        value = getattr(record, f.name)
        if float in KINDS[f.name] and isinstance(value, int | np.integer) and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, float | np.floating) and math.isnan(value):
            raise Damaged(f"{f.name} is NaN")
        data[f.name] = plain(value)
    return data


def record_from_plain(data: Any, schema: int = SCHEMA) -> Record:
    """The record, every field checked. `schema`: that of the version which wrote it, this one or an earlier."""
    if isinstance(data, dict):
        later = {name for since, names in ADDED.items() if since > schema for name in names}
        data = {f.name: _default(f) for f in fields(Record) if f.name in later} | data
    if not isinstance(data, dict) or data.keys() != TYPES.keys():
        raise Damaged("the fields are not those of a record")
    for name, value in data.items():
        if type(value) not in KINDS[name]:
            raise Damaged(f"{name} is a {type(value).__name__}")
    if data["status"] not in STATUSES:
        raise Damaged(f"status {data['status'][:40]!r} is unknown")
    for name in ("versions", "code"):
        if not all(isinstance(entry, str) for entry in data[name].values()):
            raise Damaged(f"{name} are not all text")
    for entry in data["curve"]:
        if not isinstance(entry, dict) or not NUMBERS.issuperset(map(type, entry.values())):
            raise Damaged("the curve holds something other than numbers")
    return Record(**data)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()
