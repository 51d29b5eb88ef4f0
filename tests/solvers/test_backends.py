"""Outside libraries through their adapters: right answers, right signs, honest words. Extras where installed."""

import importlib.util
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from marginbench.harness.commands.pairs import target
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import (
    BoxDual,
    ConeProgram,
    Hinge,
    PerceptronLoss,
    QuadraticProgram,
    RegularisedRisk,
    SmoothedHinge,
    SquaredHinge,
    smallest_qp,
)
from marginbench.harness.model.solver import Iterate
from marginbench.solvers.clarabel_qp import ClarabelQp
from marginbench.solvers.cvxpy_model import CvxpyHighs, CvxpyModel
from marginbench.solvers.liblinear import Liblinear
from marginbench.solvers.libsvm import Libsvm
from marginbench.solvers.osqp_qp import PAUSE, OsqpQp
from marginbench.solvers.scs_qp import ScsQp

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = [
    "osqp",
    "clarabel",
    "scs",
    "cvxpy_clarabel",
    "cvxpy_osqp",
    "cvxpy_scs",
    "cvxpy_highs",
    "cvxpy_piqp",
    "cvxpy_ecos",
    "liblinear",
    "libsvm",
    "piqp",
    "piqp_dense",
    "proxqp",
    "proxqp_dense",
    "qpalm",
    "daqp",
    "highs",
    "qtqp",
    "cvxopt",
    "quadprog",
    "rehline",
    "skglm",
    "snapml",
]

# What a library can reach on these tiny programs: 1e-8 unless there is a reason.
REACH = {
    "highs": 1e-6,  # adds about 1e-7 to the diagonal
    "cvxpy_highs": 1e-6,
    "quadprog": 1e-5,  # adds 1e-8, and multipliers of a dual are of size 1e2
    "cvxpy_ecos": 1e-5,  # solves a cone program whose gap is small, not its complementarity
}


def make(name):
    config = yaml.safe_load((ROOT / "conf" / "solver" / f"{name}.yaml").read_text())
    return target(config)(**{k: 0 if v == "${seed}" else v for k, v in config.items() if k != "_target_"})


def first(name):
    return make(name).accepts[0]


def installed(kind):
    solvers = {name: make(name) for name in BACKENDS}
    return [
        name
        for name, solver in solvers.items()
        if kind in solver.accepts and all(importlib.util.find_spec(module) for module in solver.requires)
    ]


def data(n=40, d=3, sparse=False, shift=0.4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    X = rng.normal(size=(n, d)) + shift * y[:, None]
    X = sp.csr_array(np.where(rng.random((n, d)) < 0.3, 0.0, X)) if sparse else X
    return X, y, 0.5 + rng.random(n)


def primal_qp(X, y, C):
    """min 1/2 ||w||^2 + C.xi,  y_i (w.x_i + b) + xi_i >= 1,  xi >= 0;  in (w, b, xi)"""
    n, d = X.shape
    rows = sp.hstack([sp.diags_array(y) @ sp.csr_array(X), sp.csr_array(y[:, None]), sp.eye_array(n)])
    A = sp.csc_array(sp.vstack([rows, sp.hstack([sp.csr_array((n, d + 1)), sp.eye_array(n)])]))
    P = sp.csc_array(sp.diags_array(np.concatenate([np.ones(d), np.zeros(1 + n)])))
    l = np.concatenate([np.ones(n), np.zeros(n)])
    return QuadraticProgram(P, np.concatenate([np.zeros(d + 1), C]), A, l, np.full(2 * n, np.inf))


def dual_qp(X, y, C):
    """min 1/2 ||w(a)||^2 - sum a,  0 <= a <= C,  a.y = 0"""
    Z = sp.diags_array(y) @ sp.csr_array(X)
    A = sp.csc_array(sp.vstack([sp.eye_array(y.size), sp.csr_array(y[None])]))
    return QuadraticProgram(sp.csc_array(Z @ Z.T), -np.ones(y.size), A, np.zeros(y.size + 1), np.append(C, 0.0))


def hard_margin_qp(X, y):
    """min 1/2 ||w||^2,  y_i (w.x_i + b) >= 1"""
    A = sp.csc_array(y[:, None] * np.column_stack([X, np.ones(y.size)]))
    P = sp.csc_array(sp.diags_array(np.append(np.ones(X.shape[1]), 0.0)))
    return QuadraticProgram(P, np.zeros(X.shape[1] + 1), A, np.ones(y.size), np.full(y.size, np.inf))


def largest_margin(X, y):
    """max beta,  y_i (w.x_i + b) >= beta,  ||w|| <= 1,  and b fixed by an equality;  in (w, b, beta)"""
    n, d = X.shape
    fixed = np.eye(d + 2)[d : d + 1]
    margins = np.column_stack([-y[:, None] * X, -y, np.ones(n)])
    ball = np.vstack([np.zeros((1, d + 2)), -np.eye(d, d + 2)])
    b = np.concatenate([[0.1], np.zeros(n), [1.0], np.zeros(d)])
    return ConeProgram(-np.eye(d + 2)[-1], sp.csc_array(np.vstack([fixed, margins, ball])), b, 1, n, (d + 1,))


def last(solver, program) -> Iterate:
    assert solver.refuses(program) is None
    return list(solver.iterates(program))[-1]


# -- quadratic and cone programs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("write", [primal_qp, dual_qp])
@pytest.mark.parametrize("name", installed(QuadraticProgram))
def test_quadratic_programs_are_solved_with_multipliers_of_the_right_sign(name, write, sparse):
    """A small residual proves optimality: stationarity with z <= 0 at l, z >= 0 at u, feasibility, complementarity."""
    program = write(*data(sparse=sparse))
    iterate = last(make(name), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < REACH.get(name, 1e-8)


def test_primal_and_dual_program_meet_in_one_value():
    X, y, C = data()
    primal, dual = primal_qp(X, y, C), dual_qp(X, y, C)
    assert primal.objective(last(ClarabelQp(), primal).x) == pytest.approx(-dual.objective(last(ScsQp(), dual).x))


@pytest.mark.parametrize("name", installed(ConeProgram))
def test_cone_programs_are_solved_with_multipliers_of_the_right_sign(name):
    program = largest_margin(*data(n=12, shift=3.0)[:2])
    iterate = last(make(name), program)
    assert program.residual(iterate.x, iterate.dual) < REACH.get(name, 1e-7)
    assert np.linalg.norm(iterate.x[:3]) == pytest.approx(1.0)
    for z in (iterate.dual[1 : 1 + program.nonnegative], iterate.dual[-4:-3] - np.linalg.norm(iterate.dual[-3:])):
        assert z.min() > -1e-6  # the dual cone


PROVES = [n for n in ("osqp", "clarabel", "scs", "qpalm", "qtqp") if n in installed(QuadraticProgram)]


@pytest.mark.parametrize("name", PROVES)
def test_a_hard_margin_that_cannot_be_is_proved(name):
    """mu >= 0 with sum mu_i y_i (x_i, 1) = 0: the two hulls meet."""
    X, y, _ = data()
    program = hard_margin_qp(X, y)
    iterate = last(make(name), program)
    assert iterate.claim == "infeasible"
    assert iterate.x is None
    mu = -iterate.dual / -iterate.dual.sum()
    assert mu.min() > -1e-6
    assert np.abs(program.A.T @ mu).max() < 1e-5


@pytest.mark.parametrize("name", PROVES)
def test_its_dual_is_proved_unbounded(name):
    """A direction a >= 0 with a.y = 0 along which w(a) stays 0 while sum a grows."""
    X, y, _ = data()
    program = dual_qp(X, y, np.full(y.size, np.inf))
    iterate = last(make(name), program)
    assert iterate.claim == "unbounded"
    a = iterate.x / iterate.x.sum()
    assert iterate.x.sum() > 0
    assert a.min() > -1e-6
    assert abs(a @ y) < 1e-5
    assert np.linalg.norm(X.T @ (a * y)) < 1e-3  # its square is what a library makes small


@pytest.mark.parametrize("name", ["cvxpy_clarabel", "cvxpy_osqp", "cvxpy_scs"])
def test_cvxpy_passes_the_words_infeasible_and_unbounded_on(name):
    """With no point; what there is of multipliers is a certificate, in numbers."""
    X, y, _ = data()
    programs = {"infeasible": hard_margin_qp(X, y), "unbounded": dual_qp(X, y, np.full(y.size, np.inf))}
    for word, program in programs.items():
        iterate = last(make(name), program)
        assert iterate.claim == word
        assert iterate.x is None
        assert iterate.dual is None or np.isfinite(iterate.dual).all()


def test_osqp_settles_on_a_penalty_where_C_is_large():
    """With the library's own tolerance the penalty changes for ever, and the residuals with it."""
    X, y, _ = data(n=100, d=10, shift=0.0)
    y = np.where(X @ np.ones(10) > 0.0, 1.0, -1.0)
    program = primal_qp(X, y, np.full(y.size, 1e4))
    iterate = last(OsqpQp(), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < 1e-6


def test_osqp_in_pauses_is_one_long_run_bit_for_bit():
    import osqp

    program = dual_qp(*data(n=60, d=5))
    pauses = 12
    solver = osqp.OSQP()
    settings = {"eps_abs": 1e-9, "eps_rel": 1e-9, "eps_prim_inf": 1e-7, "eps_dual_inf": 1e-7, "verbose": False}
    P, A = sp.csc_matrix(sp.triu(program.P)), sp.csc_matrix(program.A)
    solver.setup(P, program.q, A, program.l, program.u, max_iter=pauses * PAUSE, **settings)
    whole = solver.solve(raise_error=False)
    assert whole.info.rho_updates > 0  # else the test would show nothing
    part = next(islice(OsqpQp(rho_tolerance=5.0).iterates(program), pauses - 1, None))  # the library's own
    assert part.info["library_iterations"] == whole.info.iter == pauses * PAUSE
    np.testing.assert_array_equal(part.x, whole.x)
    np.testing.assert_array_equal(part.dual, whole.y)


def test_one_sided_rows_say_the_same_as_two_sided_ones():
    rng = np.random.default_rng(0)
    A, x, z = sp.csc_array(rng.normal(size=(6, 3))), rng.normal(size=3), np.abs(rng.normal(size=7))
    l = np.array([-np.inf, -1.0, 0.0, 2.0, -np.inf, -3.0])
    u = np.array([1.0, 1.0, np.inf, 2.0, np.inf, 3.0])
    program = QuadraticProgram(sp.csc_array(np.eye(3)), np.ones(3), A, l, u)
    cone, S = program.conic()
    assert (cone.zero, cone.nonnegative) == (1, 6)
    Ax = A @ x
    slack = np.array([2.0 - Ax[3], 1 - Ax[0], 1 - Ax[1], 3 - Ax[5], Ax[1] + 1, Ax[2], Ax[5] + 3])
    np.testing.assert_allclose(cone.b - cone.A @ x, slack)
    np.testing.assert_allclose(A.T @ (S.T @ z), cone.A.T @ z)


# -- risks -------------------------------------------------------------------------------------------------------


def optimal_value(program):
    """Of the hinge, by an interior point method on the quadratic program."""
    qp = primal_qp(program.X, program.y, program.weight / program.lam)
    if not program.intercept:
        bias = sp.csc_array(([1.0], ([0], [program.d])), shape=(1, qp.q.size))
        A = sp.csc_array(sp.vstack([qp.A, bias]))
        qp = QuadraticProgram(qp.P, qp.q, A, np.append(qp.l, 0.0), np.append(qp.u, 0.0))
    return program.lam * qp.objective(last(ClarabelQp(tolerances=(1e-11,)), qp).x)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True], ids=["one-weight", "weights"])
@pytest.mark.parametrize("loss", [Hinge(), SmoothedHinge(0.5), SquaredHinge()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("name", [n for n in installed(RegularisedRisk) if n not in ("cvxpy_highs", "cvxpy_piqp")])
def test_risks_are_minimised(name, loss, weighted, sparse):
    X, y, weight = data(sparse=sparse)
    solver = make(name)
    for intercept in (False, True):
        program = RegularisedRisk(X, y, 0.7, weight if weighted else np.full(y.size, 1.5), loss, intercept)
        if reason := solver.refuses(program):
            assert reason.startswith(("LIBLINEAR", "ReHLine", "skglm", "Snap ML"))
            continue
        iterate = last(solver, program)
        assert iterate.x.shape == (program.d + intercept,)
        if isinstance(loss, Hinge):
            assert program.objective(iterate.x) == pytest.approx(optimal_value(program), rel=1e-6)
        else:
            assert program.residual(iterate.x, None) < 1e-4
        if iterate.dual is not None:
            np.testing.assert_allclose(X.T @ (iterate.dual * y), iterate.x, atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_the_cvxpy_adapter_adds_nothing_to_the_textbook_line(sparse):
    """Right or wrong (cvxpy 1.9 with HiGHS and dense X says `optimal` at w = 0), the answer is cvxpy's own."""
    import cvxpy as cp

    X, y, weight = data(sparse=sparse)
    w, b = cp.Variable(3), cp.Variable(1)
    loss = weight @ cp.pos(1 - cp.multiply(y, X @ w + b))
    with warnings.catch_warnings(action="ignore"):
        cp.Problem(cp.Minimize(0.35 * cp.sum_squares(w) + loss)).solve(solver="HIGHS")
    iterate = last(CvxpyHighs("HIGHS", (), ()), RegularisedRisk(X, y, 0.7, weight, Hinge(), True))
    np.testing.assert_array_equal(iterate.x, np.append(w.value, b.value))
    assert iterate.claim == "converged"
    assert iterate.said.startswith("optimal")


def test_a_solver_error_in_cvxpy_is_a_claim_not_an_exception():
    iterate = last(CvxpyModel("OSQP", ()), largest_margin(*data(n=12, shift=3.0)[:2]))
    assert iterate.claim == "failed"
    assert "OSQP" in iterate.said


def test_liblinear_repeats_itself_and_depends_on_its_seed():
    X, y, weight = data()
    program = RegularisedRisk(X, y, 0.7, weight, Hinge())
    first, again, other = (list(Liblinear(seed=s).iterates(program)) for s in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
    assert any((a.x != b.x).any() for a, b in zip(first, other, strict=False))


def test_liblinear_out_of_iterations_says_limit_and_no_warning_escapes():
    X, y, weight = data()
    rungs = list(Liblinear(max_iter=1).iterates(RegularisedRisk(X, y, 0.7, weight, Hinge())))
    assert len(rungs) == 1
    assert rungs[0].claim == "limit"
    assert "converge" in rungs[0].said


def test_liblinear_in_the_primal():
    X, y, weight = data()
    program = RegularisedRisk(X, y, 0.7, weight, SquaredHinge())
    assert program.residual(last(Liblinear(dual=False), program).x, None) < 1e-6
    assert "primal" in Liblinear(dual=False).refuses(RegularisedRisk(X, y, 0.7, weight, Hinge()))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_libsvm_finds_multipliers_and_bias(sparse):
    X, y, C = data(sparse=sparse)
    program = BoxDual(X, y, C, np.zeros(y.size), equality=True)
    rungs = list(Libsvm().iterates(program))
    residuals = [program.residual(r.x, r.dual) for r in rungs]
    assert residuals[-1] < 2e-6  # its Gram matrix is in single precision
    assert residuals[-1] < residuals[0]
    np.testing.assert_allclose(rungs[-1].dual[:-1], X.T @ (rungs[-1].x * y))


# -- words -------------------------------------------------------------------------------------------------------


def test_refusals_name_the_reason():
    X, y, C = data()
    zero, ones = np.zeros(y.size), np.ones(y.size)
    box = partial(BoxDual, X, y)
    assert Libsvm().refuses(box(C, zero)) == "LIBSVM has a free bias; the problem has none"
    assert "quadratic term" in Libsvm().refuses(box(C, ones, equality=True))
    assert "finite" in Libsvm().refuses(box(C + np.inf, zero, equality=True))
    assert "both classes" in Libsvm().refuses(BoxDual(X, ones, C, zero, equality=True))
    risk = partial(RegularisedRisk, X, y, 1.0, C)
    assert "free" in Liblinear().refuses(risk(Hinge(), True))
    assert "hinge" in Liblinear().refuses(risk(SmoothedHinge(0.5)))
    assert "both classes" in Liblinear().refuses(RegularisedRisk(X, ones, 1.0, C, Hinge()))
    assert "w = 0" in CvxpyModel().refuses(risk(PerceptronLoss()))


@dataclass(frozen=True)
class Told(Ladder):
    """A black box that converges only at tolerances of at least `reach`."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3)
    reach: float = 0.05

    def solve(self, program, tolerance):
        return Iterate(None, claim="converged" if tolerance >= self.reach else "inaccurate")


def test_no_rung_follows_one_that_did_not_converge():
    assert [i.claim for i in Told().iterates(smallest_qp())] == ["converged", "inaccurate"]


@pytest.mark.parametrize("rungs", [[], [1e-3, -1.0], [0.0], ["tight"], "tight", 3])
def test_a_ladder_without_rungs_to_stand_on_is_refused_in_one_line(rungs):
    with pytest.raises(InputError, match=r"tolerances=.*list of numbers above 0, at least one"):
        Told(rungs)
    assert list(CvxpyModel(tolerances=[]).rungs())  # its default remains


@pytest.mark.parametrize("name", BACKENDS)
def test_what_a_backend_requires_is_in_the_extra_it_names(name):
    """The extra without a name is the project itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    for module, extra in make(name).requires.items():
        package = {"sklearn": "scikit-learn"}.get(module, module)
        assert any(line.startswith(f"{package}>=") for line in extras[extra])


def examples():
    """A program of each kind that adapters take."""
    X, y, C = data(sparse=True)
    ones = np.ones(y.size)
    risks = [RegularisedRisk(X, y, 0.7, ones, loss) for loss in (Hinge(), SmoothedHinge(0.5), SquaredHinge())]
    box = BoxDual(X, y, C, np.zeros(y.size), equality=True)
    return [primal_qp(X, y, C), largest_margin(*data(n=12, shift=3.0)[:2]), box, *risks]


@pytest.mark.parametrize(
    "name", [n for kind in (QuadraticProgram, BoxDual, RegularisedRisk) for n in installed(kind) if kind is first(n)]
)
def test_warm_up_solves_the_smallest_program_of_every_kind_that_is_taken(name):
    solver = make(name)
    taken = [p for p in examples() if isinstance(p, solver.accepts) and solver.refuses(p) is None]
    assert taken
    for program in taken:
        small = program.smallest()
        assert type(small) is type(program)
        assert solver.refuses(small) is None
        solver.warm_up(program)


def test_importing_an_adapter_imports_no_library():
    """So that a list of solvers is fast, and complete where nothing is installed."""
    modules = {
        target(yaml.safe_load((ROOT / "conf" / "solver" / f"{n}.yaml").read_text())).__module__ for n in BACKENDS
    }
    libraries = (
        "cvxpy osqp clarabel scs sklearn highspy piqp proxsuite qpalm daqp qtqp cvxopt quadprog rehline skglm snapml"
    )
    code = f"import sys, {', '.join(sorted(modules))}; print(*set('{libraries}'.split()) & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
