"""Numbers as the page writes them. Its script writes those that it redraws the same way: `assets/dom.js`."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from marginbench.harness.reporting.comparison import number, show_C
from marginbench.harness.reporting.resampling import NOTHING
from marginbench.harness.reporting.tables import short, time_text


def digits(value: Any, most: int = 6) -> str:
    """At most so many digits; a power of ten where that is shorter; yes or no for a truth."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    x = number(value)
    if x is None:
        return ""
    mantissa, exponent = f"{x:.{most - 1}e}".split("e")
    if x != 0.0 and not -5 < int(exponent) < most:
        return f"{float(mantissa):.{most}g}e{int(exponent)}"
    return f"{x:.{most}g}"


def count(value: Any) -> str:
    """Whole where it is large, three digits where it is not: a count, or a ratio."""
    x = number(value)
    return "" if x is None else f"{x:.0f}" if 10.0 <= x < 1e6 else digits(x, 3)


def percent(value: Any) -> str:
    x = number(value)
    return "" if x is None else f"{digits(100.0 * x, 3)} %"


def a_C(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else show_C(value)


def fraction(value: Any) -> str:
    """`7 / 12`"""
    return "" if value is None else f"{value[0]} / {value[1]}"


def interval(value: Any) -> str:
    """`0.98 to 6`; `0 to ∞` where it says nothing."""
    if value is None:
        return ""
    low, high = value
    return "0 to ∞" if high > NOTHING * low else f"{count(low)} to {count(high)}"


def share(value: Any) -> str:
    """A share of 1, in whole per cent."""
    x = number(value)
    return "" if x is None else f"{math.floor(100.0 * x + 0.5)} %"


KINDS: Mapping[str, Callable[[Any], str]] = {
    "text": lambda value: "" if value is None else str(value),
    "time": time_text,
    "gap": short,
    "count": count,
    "ratio": count,
    "number": digits,
    "objective": lambda value: digits(value, 9),
    "C": a_C,
    "fraction": fraction,
    "interval": interval,
    "share": share,
    "p": lambda value: digits(value, 2),
}
"""What a column holds -> how a value of it is written."""


def written(value: Any, kind: str) -> str:
    return value if isinstance(value, str) else KINDS[kind](value)
