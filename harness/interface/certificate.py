"""A certificate as a reader meets it: the numbers, the problem they belong to, and what they prove in words."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from marginbench.harness.cell import certificate as cell
from marginbench.harness.interface import html
from marginbench.harness.interface.data import SIGNS, Classes
from marginbench.harness.interface.problem import described
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import InputError, Point, Problem


@dataclass(frozen=True, repr=False)
class Certificate(cell.Certificate):
    """P(w, b), a lower bound D of the optimum, the relative gap between them, and each KKT residual.

    dual_source: where D comes from. `own`: from the multipliers that came with the point. `reference`: from a solve of
    marginbench's own, whose multipliers were checked; `reference` then says `stored` (proven and shipped) or
    `computed` (now). Empty: there is no D, and no gap.
    judge: `optimum`, by the gap, or `separation`, by mistakes: all that a perceptron promises.
    problem: the problem that was judged. promise: what the estimator promised to solve. notes: what cannot be seen.
    positive: the label that counts as +1.
    """

    problem: Problem | None = None
    classes: Classes = SIGNS
    judge: Literal["optimum", "separation"] = "optimum"
    reference: str = ""
    promise: str = ""
    notes: tuple[str, ...] = ()

    @property
    def positive(self) -> Any:
        return self.classes.positive

    @property
    def proven(self) -> str:
        """What the numbers prove, in one sentence."""
        if self.judge == "separation":
            return self._separation()
        if self.primal is None:
            return "The point does not separate the data: for a hard margin it has no value."
        if not self.feasible:
            return f"The multipliers or slacks break their constraints by {self.violation:.1e}, beyond repair."
        if self.gap is None:
            return f"P = {self.primal:.10g}. There is no lower bound: the distance to the optimum is not known."
        return (
            f"P = {self.primal:.10g} is above the optimum by at most a relative {self.gap:.1e}: "
            f"D = {self.dual:.10g}, {self._source()}."
        )

    def _separation(self) -> str:
        if self.mistakes:
            return f"The data are not separated: rows on the wrong side: {self.mistakes}."
        return f"Every row is on its side, with a geometric margin of {self.margin:.4g}."

    def _source(self) -> str:
        if self.dual_source == "own":
            return "from its own multipliers"
        return "from a stored reference" if self.reference == "stored" else "from a solve by marginbench itself"

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of all that has one, for text and HTML."""
        found = [("promise", self.promise)] if self.promise else []
        if self.problem is not None:
            found.append(("problem", described(self.problem)))
        found.append(("positive class", repr(self.positive)))
        numbers = [("P", self.primal), ("D", self.dual), ("relative gap", self.gap)]
        if self.judge == "optimum":
            numbers += [
                ("KKT stationarity", self.kkt_stationarity),
                ("KKT dual", self.kkt_dual),
                ("KKT primal", self.kkt_primal),
                ("KKT complementarity", self.kkt_complementarity),
            ]
        numbers.append(("geometric margin", self.margin))
        for name, value in numbers:
            if value is not None:
                found.append((name, f"{value:.10g}" if name in "PD" else f"{value + 0.0:.2g}"))
        found.append(("train accuracy", f"{self.train_accuracy:.4g}"))
        return found

    def __repr__(self) -> str:
        lines = [self.proven, *(f"{name}: {value}" for name, value in self.rows()), *self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html.pairs(self.proven, self.rows(), self.notes)


def certificate(problem: Problem, point: Point, known: Bounds | None = None, **about: Any) -> Certificate:
    """The certificate of a point; `known` bounds the optimum where the point has no multipliers."""
    try:
        found = cell.certify(problem, point, (known or Bounds()).lower)
    except cell.InvalidPoint as error:
        raise InputError(str(error)) from None
    numbers = {field.name: getattr(found, field.name) for field in fields(found)}
    if about.get("judge") == "separation":  # the gap would say nothing of what was promised
        numbers |= {"dual": None, "dual_source": "", "gap": None}
    source = known.source if known is not None and numbers["dual_source"] == "reference" else ""
    return Certificate(**numbers, problem=problem, reference=source, **about)
