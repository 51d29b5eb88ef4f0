"""Smoothed hinges from wide to narrow, for solvers that a narrow one alone leads astray."""

from marginbench.harness.model.programs import Loss, RegularisedRisk, SmoothedHinge
from marginbench.harness.rowops import squared_norms

NARROWER = 0.25
"""Each width beside the one before."""


def wider(program: RegularisedRisk) -> list[Loss]:
    """The losses to minimise one after another, the last of which is the program's. At the first width the curvature of
    the loss is about that of lam/2 ||w||^2. A loss without a width is the only one."""
    loss = program.loss
    if not isinstance(loss, SmoothedHinge):
        return [loss]
    widths, widest = [loss.delta], float(program.weight @ squared_norms(program.rows, program.n)) / program.lam
    while widths[-1] < NARROWER * widest:
        widths.append(widths[-1] / NARROWER)
    return [SmoothedHinge(delta) for delta in reversed(widths)]
