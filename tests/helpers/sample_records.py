"""Records as a run leaves them, made without one: for the tests of tables, figures and report."""

import math
from dataclasses import replace
from typing import Any

from marginbench.harness.records.record import Record

HOSTILE = '</script><script>alert("x")</script> & 50% a_b #1 {y} $x$ ~^ \\ | `c` \x1b[31m é ∞ 漢'
METHODS = (
    "coordinate_descent",
    "dual_qp",
    "liblinear",
    "newton_smoothed_hinge",
    "pegasos",
    "piqp",
    "libsvm",
    "tikhonov",
)
PROBLEMS = (
    ("separable", 10.0, "free"),
    ("overlapping", 1.0, "augmented"),
    ("real", 0.1, "none"),
    ("hard", math.inf, "free"),
)
OPTIMUM = 40.0


def solved(method: str = "coordinate_descent", problem: str = "p", seconds: float = 0.1, **changes: Any) -> Record:
    """A run that halves its distance to the optimum in every iteration, down to 2^-30."""
    curve = [
        {
            "iteration": k,
            "seconds": seconds * k / 30,
            "primal": OPTIMUM * (1 + 2.0**-k),
            "dual": OPTIMUM * (1 - 2.0**-k),
            "gap": 2.0 ** (1 - k) / (1 + 2.0**-k),
            "own_residual": 2.0**-k,
        }
        for k in range(1, 31)
    ]
    record = Record(
        dataset="overlapping", n=100, d=5, nnz=500, C=1.0, bias="none", formulation="dual_qp", solver=method,
        status="solved", claim="converged", primal=curve[-1]["primal"], dual=curve[-1]["dual"], dual_source="own",
        gap=curve[-1]["gap"],
        build_seconds=0.0, solve_seconds=seconds, pass_seconds=1e-4, passes=seconds / 1e-4, iterations=30, sv_margin=3,
        sv_inside=2, sv_wrong=1, train_accuracy=0.99, hash=f"{problem}-{method}", problem=problem, method=method,
        curve=curve,
        cell={"budget": {"seconds": 1.0, "gap": 1e-6}, "limits": {"seconds": 2.0}, "formulation": {"_target_": "x"}},
        versions={"numpy": "2"}, machine={"cores": 2},
    )  # fmt: skip
    record = replace(record, **changes)
    return replace(record, own_dual=record.dual if record.dual_source == "own" else None)


def failure(status: str, method: str = "broken", problem: str = "p", **changes: Any) -> Record:
    empty = ("primal", "dual", "own_dual", "gap", "solve_seconds", "passes", "iterations")
    nothing: dict[str, Any] = dict.fromkeys(empty)
    return replace(
        solved(method, problem),
        status=status,
        curve=[],
        dual_source="",
        **({"message": f"{status}!"} | nothing | changes),
    )


def a_run(repeats: int = 1) -> list[Record]:
    """Four problems, eight methods: some fail, some do not fit, one is missing."""
    records = []
    for p, (dataset, C, bias) in enumerate(PROBLEMS):
        where = {"dataset": dataset, "C": C, "bias": bias}
        for m, method in enumerate(METHODS):
            for repeat in range(repeats):
                again = where | {"repeat": repeat, "hash": f"{p}{m}{repeat}"}
                if method == "piqp":
                    records.append(failure("not_installed", method, f"p{p}", **again))
                elif method == "libsvm" and bias != "free":
                    records.append(failure("skipped", method, f"p{p}", **again))
                elif method == "tikhonov":
                    records.append(failure(("timeout", "wrong", "crashed", "infeasible")[p], method, f"p{p}", **again))
                else:
                    records.append(solved(method, f"p{p}", 0.01 * (m + 1) * (1 + 0.05 * repeat), **again))
    return records


def hostile_run() -> list[Record]:
    cell = {"formulation": {"_target_": "../../etc/passwd", HOSTILE: HOSTILE}, "solver": {"_target_": "solvers..x.Y"}}
    names: dict[str, Any] = {"dataset": HOSTILE, "formulation": HOSTILE, "bias": HOSTILE, "hash": HOSTILE}
    texts: dict[str, Any] = {"message": HOSTILE * 50, "versions": {HOSTILE: HOSTILE}, "machine": {HOSTILE: HOSTILE}}
    return [
        solved(HOSTILE, HOSTILE, **names, **texts, cell=cell),
        failure("failed", "../" + HOSTILE, HOSTILE, **(names | {"message": HOSTILE})),
        failure(HOSTILE, "m", HOSTILE, **names),
    ]


def a_large_run(problems: int, methods: int = 40, repeats: int = 1, entries: int = 40) -> list[Record]:
    """`problems` x `methods` x `repeats` records with curves of `entries` points, as a sweep over data sets, C and
    methods leaves them: some are not accurate enough, some time out, some do not fit."""
    records = []
    for p in range(problems):
        where: dict[str, Any] = {"dataset": f"data-{p // 5:03d}", "C": 10.0 ** (p % 5 - 2), "bias": "none"}
        where |= {"n": 100 * (1 + p % 7), "d": 5 * (1 + p % 3), "nnz": 500 * (1 + p % 7) * (1 + p % 3)}
        for m in range(methods):
            for repeat in range(repeats):
                at = where | {"repeat": repeat, "hash": f"{p:06x}{m:06x}{repeat:04x}"}
                at["cell"] = large_cell(f"method-{m:02d}", at)
                seconds = 0.01 * (1.0 + 0.3 * ((7 * m + 3 * p) % 11)) * (1.0 + 0.03 * ((5 * repeat + m) % 4))
                fits = m % 20 != 7 or p % 5 != 0
                records.append(one_of_many(f"method-{m:02d}", f"{p:016x}", seconds, m + p, fits, entries, at))
    return records


def large_cell(method: str, at: dict[str, Any]) -> dict[str, Any]:
    return {
        "budget": {"seconds": 1.0, "gap": 1e-6, "iterations": 1000, "wrong_gap": 0.01},
        "limits": {"seconds": 2.0, "memory_mb": 4096},
        "dataset": {"_target_": "marginbench.datasets.generators.overlapping", "n": at["n"], "d": at["d"], "seed": 0},
        "problem": {"C": at["C"], "bias": "none", "loss": "hinge", "s": 1.0, "weight": None},
        "formulation": {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        "solver": {"_target_": f"solvers.{method}.Solver", "seed": 0},
    }


def one_of_many(
    method: str, data: str, seconds: float, turn: int, fits: bool, entries: int, at: dict[str, Any]
) -> Record:
    """Of thirteen one times out and one is inaccurate; the others halve their gap in every iteration."""
    problem = f"{data}-C{at['C']}-none-hinge"
    if not fits or turn % 13 == 0:
        status = "timeout" if fits else "skipped"
        return failure(status, method, problem, **at, message=f"{status}: for the reason number {turn % 4}")
    run = solved(method, problem, seconds, **at, cpu_seconds=0.97 * seconds, peak_mb=120.0 + turn % 50)
    last = 15 if turn % 13 == 2 else 30
    steps = [1 + round(k * (last - 1) / (entries - 1)) for k in range(entries)]
    run.curve = [{**run.curve[k - 1], "seconds": seconds * (j + 1) / entries} for j, k in enumerate(steps)]
    if turn % 13 == 2:
        run.status, run.gap, run.message = "inaccurate", run.curve[-1]["gap"], "the budget of 1 s was spent"
    residuals = ("kkt_primal", "kkt_dual", "kkt_stationarity", "kkt_complementarity")
    run.curve = [
        entry | {name: entry["own_residual"] / (2 + j) for j, name in enumerate(residuals)} for entry in run.curve
    ]
    return run
