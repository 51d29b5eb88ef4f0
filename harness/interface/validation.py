"""validate: a solver against the reference problems and its contracts, as `marginbench validate` does."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import escape

from marginbench.harness.interface.engine import composer, options
from marginbench.harness.interface.methods import SolverName, formulation_config, solver_config
from marginbench.harness.model.problem import InputError
from marginbench.harness.references.library import Library, entries
from marginbench.harness.validation import scorecard
from marginbench.harness.validation.examination import validate as examine


@dataclass(frozen=True, repr=False)
class Scorecard(scorecard.Scorecard):
    """The scorecard of `marginbench validate`, which shows itself as text and in notebooks."""

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def validate(
    solver: SolverName,
    formulation: str | None = None,
    *,
    accuracy: float | None = None,
    seconds: float = 5.0,
    datasets: Sequence[str] | None = None,
    seed: int = 0,
) -> Scorecard:
    """The scorecard of a solver: a row per reference problem, a line per contract; `ok` is its verdict.

    solver: a name of conf/solver, "FILE.py:Class", "package.module.Class", or a class or instance that can be imported.
    formulation: None takes what is natural for the programs that the solver accepts.
    accuracy: the relative error it is held to; None is what the solver itself promises. seconds: for each problem.
    datasets: only the reference problems on these data sets; None is all of them, which takes minutes.

    >>> import marginbench as mb
    >>> card = mb.validate("coordinate_descent", datasets=["separable"], seconds=2.0)
    >>> card.ok, len(card.broken)
    (True, 0)
    >>> print(card.verdict().partition(":")[0])
    pass
    """
    name, config = solver_config(solver, seed)
    defaults = composer("validate").config([])
    chosen = [formulation] if formulation else composer().names("formulation")
    problems = list(entries())
    if datasets is not None:
        known = sorted({entry.name.partition("-")[0] for entry in problems})
        if strange := sorted(set(datasets) - set(known)):
            raise InputError(f"validate: no reference problem on {strange[0]}; possible are {', '.join(known)}")
        problems = [entry for entry in problems if entry.name.partition("-")[0] in datasets]
    options("budget", seconds, seed)
    card = examine(
        config,
        name,
        {each: formulation_config(each) for each in chosen},
        Library(),
        problems,
        defaults["reference"],
        accuracy=accuracy,
        seconds=seconds,
        limits=defaults["limits"],
        seed=seed,
    )
    return Scorecard(**{field.name: getattr(card, field.name) for field in fields(card)})
