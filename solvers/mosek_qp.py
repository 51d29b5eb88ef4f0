"""MOSEK by its own interface: an interior-point method. Proprietary.

    min 1/2 x'Qx + c'x   subject to   Ax = b,  Ax <= b,  lower <= x <= upper

A ladder: one cold solve per tolerance of the gap and of primal and dual feasibility. It has no free size: without a
licence file every program is refused.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.bounded_qp import BoundedQp, bounded
from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate

UNLICENSED = "MOSEK needs a licence: put it into ~/mosek/mosek.lic, or name its place in MOSEKLM_LICENSE_FILE"


@dataclass(frozen=True)
class MosekQp(Ladder):
    """tolerances: the rungs; 1e-8 is the library's own default."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)

    requires: ClassVar = {"mosek": "commercial"}
    licence = "proprietary"
    accepts = (QuadraticProgram,)
    claims: ClassVar = {
        "optimal": "converged",
        "prim_infeas_cer": "infeasible",
        "dual_infeas_cer": "unbounded",
        "unknown": "inaccurate",
        "prim_feas": "inaccurate",
        "dual_feas": "inaccurate",
        "prim_and_dual_feas": "inaccurate",
    }

    def refuses(self, program: Program) -> str | None:
        return None if licensed() else UNLICENSED

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import mosek

        assert isinstance(program, QuadraticProgram)
        qp, itr = bounded(program), mosek.soltype.itr
        settings = {f"intpnt_qo_tol_{name}": tolerance for name in ("rel_gap", "pfeas", "dfeas")}
        with mosek.Env() as env, env.Task() as task:
            load(task, program, qp)
            for name, value in settings.items():
                task.putdouparam(getattr(mosek.dparam, name), value)
            task.putintparam(mosek.iparam.num_threads, program.threads)
            task.optimize()
            info = {
                "library_seconds": task.getdouinf(mosek.dinfitem.optimizer_time),
                "library_iterations": task.getintinf(mosek.iinfitem.intpnt_iter),
                "settings": settings,
            }
            costs = np.array(task.getslx(itr)) - np.array(task.getsux(itr))
            z = qp.multipliers(np.array(task.gety(itr)), costs)
            return self.answer(word(task.getsolsta(itr)), np.array(task.getxx(itr)), z, info)


def load(task: Any, program: QuadraticProgram, qp: BoundedQp) -> None:
    """Q by its lower triangle."""
    import mosek

    variables, rows = program.q.size, qp.b.size
    A, Q = sp.csc_array(qp.A), sp.coo_array(sp.tril(program.P))
    task.appendvars(variables)
    task.appendcons(rows)
    task.putcslice(0, variables, program.q)
    task.putqobj(*(index.astype(np.int32) for index in Q.coords), Q.data)
    ends = A.indptr.astype(np.int64)
    task.putacolslice(0, variables, ends[:-1], ends[1:], A.indices.astype(np.int32), A.data)
    kinds = [kind(low, high) for low, high in zip(qp.lower, qp.upper, strict=True)]
    task.putvarboundslice(0, variables, kinds, finite(qp.lower), finite(qp.upper))
    senses = [mosek.boundkey.fx] * qp.zero + [mosek.boundkey.up] * (rows - qp.zero)
    task.putconboundslice(0, rows, senses, qp.b, qp.b)


def word(constant: Any) -> str:
    """The library's name of a constant: `optimal` of solsta.optimal."""
    return str(constant).rpartition(".")[2]


def kind(low: float, high: float) -> Any:
    from mosek import boundkey

    if np.isinf(low):
        return boundkey.fr if np.isinf(high) else boundkey.up
    return boundkey.lo if np.isinf(high) else boundkey.fx if low == high else boundkey.ra


def finite(bounds: Array) -> Array:
    """Where there is none, any number will do."""
    return np.where(np.isfinite(bounds), bounds, 0.0)


def licensed() -> bool:
    """Whether there is a licence file, or somebody says where: the library itself tells only when it solves."""
    return "MOSEKLM_LICENSE_FILE" in os.environ or (Path.home() / "mosek" / "mosek.lic").is_file()
