"""A claim: numbers that others published about a problem, as a file of conf/claim states them.

    source    who printed it, and where
    checked   what of it was read at the source, or in which copy; what could not be found again
    theirs    the problem as they write it down, and how it maps to ours
    data      dataset, its options, preprocess, digest of the content (null where nobody here has seen it), where to get
    problem   `problem.*` of ours. C is a number or one of the rules of `RULES`, which need the data
    says      the numbers: `what` (a quantity of `answers.py`), `printed` as it was printed, and its own options

A number is printed with some digits: it stands for all numbers that round to it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np

from marginbench.harness.errors import InputError
from marginbench.harness.model.problem import Array, Matrix


class Range(NamedTuple):
    """All numbers between two."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.12g}" if self.low == self.high else f"[{self.low:.12g}, {self.high:.12g}]"

    @property
    def width(self) -> float:
        return self.high - self.low

    def meets(self, other: "Range") -> bool:
        return self.low <= other.high and other.low <= self.high


RULES: dict[str, Callable[[Matrix], float]] = {
    "1/n": lambda X: 1.0 / X.shape[0],
    "1/mean(|x|)^2": lambda X: 1.0 / float(np.mean(_norms(X))) ** 2,
}
"""Values of C that follow from the data: of mean losses, and SVM-light's default."""


def _norms(X: Matrix) -> Array:
    return np.sqrt(np.asarray((X * X).sum(axis=1), dtype=float).ravel())


@dataclass(frozen=True)
class Statement:
    """One printed number. `factor`: theirs = factor * ours. `options`: what else the quantity needs."""

    what: str
    printed: str
    factor: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stands_for(self) -> Range:
        """All values of ours that are printed like this."""
        number = Decimal(self.printed)
        half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
        ends = [float(end) / self.factor for end in (number - half, number + half)]
        return Range(min(ends), max(ends))

    def __str__(self) -> str:
        return f"{self.what.replace('_', ' ')} {self.printed}"


@dataclass(frozen=True)
class Claim:
    name: str
    source: str
    checked: str
    theirs: str
    data: Mapping[str, Any]
    problem: Mapping[str, Any]
    says: tuple[Statement, ...]

    @classmethod
    def of(cls, name: str, config: Mapping[str, Any]) -> "Claim":
        """From the content of its file; InputError in one line where it lacks something."""
        needed = ("source", "checked", "theirs", "data", "problem", "says")
        lacking = [key for key in needed if not config.get(key)]
        if lacking or set(config) - set(needed):
            raise InputError(f"claim {name}: needs exactly {', '.join(needed)}; lacks {', '.join(lacking) or 'none'}")
        if "dataset" not in config["data"]:
            raise InputError(f"claim {name}: data names no dataset")
        if isinstance(config["problem"].get("C"), str) and config["problem"]["C"] not in RULES:
            raise InputError(f"claim {name}: C={config['problem']['C']}: possible are a number, {', '.join(RULES)}")
        says = tuple(_statement(name, dict(one)) for one in config["says"])
        return cls(name, **{key: config[key] for key in needed[:-1]}, says=says)

    def C(self, X: Matrix) -> float:
        """The price of slack, in numbers."""
        given = self.problem["C"]
        return RULES[given](X) if isinstance(given, str) else float(given)


def _statement(name: str, given: dict[str, Any]) -> Statement:
    try:
        what, printed, factor = str(given.pop("what")), given.pop("printed"), float(given.pop("factor", 1.0))
        if not isinstance(printed, str) or not Decimal(printed).is_finite() or factor == 0.0:
            raise InputError(
                f"claim {name}: printed: {printed}: needs a number in quotes, with the digits it has there"
            )
    except (KeyError, InvalidOperation) as error:
        raise InputError(f"claim {name}: every statement needs what and printed, a number: {error!r}") from None
    return Statement(what, printed, factor, given)
