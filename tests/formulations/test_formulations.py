"""Formulations: every one is the canonical problem in other variables, and all of them lead back to one optimum."""

from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.hard_dual_qp import HardDualQP
from marginbench.harness.formulations.hard_primal_qp import HardPrimalQP
from marginbench.harness.formulations.margin_perceptron import MarginPerceptron
from marginbench.harness.formulations.max_margin import MaxMargin
from marginbench.harness.formulations.pegasos import Pegasos
from marginbench.harness.formulations.perceptron import Perceptron
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.formulations.regularised_sum import RegularisedSum
from marginbench.harness.formulations.slack_budget import SlackBudget
from marginbench.harness.formulations.smoothed_hinge import SmoothedHinge
from marginbench.harness.formulations.squared_hinge import SquaredHinge
from marginbench.harness.formulations.tikhonov import Tikhonov
from marginbench.harness.model.problem import InputError, Problem
from marginbench.harness.model.programs import (
    BoxDual,
    ConeProgram,
    Hinge,
    PerceptronLoss,
    QuadraticProgram,
    RegularisedRisk,
)
from marginbench.harness.model.solver import Iterate

CONF = Path(__file__).resolve().parents[2] / "conf" / "formulation"
BIASES = ["none", "free", "augmented"]
SOFT = [DualQP(), PrimalQP(), SlackBudget(), Tikhonov(), RegularisedSum(), Pegasos(), SmoothedHinge(1e-6)]
HARD = [HardPrimalQP(), HardDualQP(), MaxMargin()]
ANY = [*SOFT, *HARD, SquaredHinge(), Perceptron(), MarginPerceptron()]

every_bias = pytest.mark.parametrize("bias", BIASES)
every_layout = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
every_weight = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def name_of(case):
    return type(case).__name__


def make(bias, sparse=False, weighted=False, loss="hinge", C=0.7, n=24, d=3, distance=0.6):
    """Two clouds; at the default distance they overlap, at 3 they do not."""
    rng = np.random.default_rng(7)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = rng.standard_normal((n, d)) + distance * y[:, None] + 0.3
    X[rng.random((n, d)) < 0.2] = 0.0
    weight = rng.uniform(0.2, 3.0, n) if weighted else None
    return Problem(sp.csr_array(X) if sparse else X, y, C, bias, loss, weight, s=1.5)


def some_plane(problem, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(problem.d), 0.0 if problem.bias == "none" else float(rng.standard_normal())


def variables(problem, w, b, *rest):
    """x = (v, b where free, rest): the forward map of every primal form."""
    return np.concatenate([problem.join(w, b), [b] if problem.bias == "free" else [], *rest])


# -- an independent way to solve each kind of program --------------------------------------------------------------


def solve_cone(P, q, A, b, cones):
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    P, A = sp.csc_matrix(sp.triu(P)), sp.csc_matrix(A)
    found = clarabel.DefaultSolver(P, q, A, b, cones, options).solve()
    return np.array(found.x), np.array(found.z), str(found.status)


def solve_qp(qp):
    """l <= Ax <= u as three blocks of rows: equal, bounded above, bounded below; z = z_equal + z_up - z_low."""
    equal = np.flatnonzero(qp.l == qp.u)
    up = np.flatnonzero(np.isfinite(qp.u) & (qp.l < qp.u))
    low = np.flatnonzero(np.isfinite(qp.l) & (qp.l < qp.u))
    A = sp.csr_array(qp.A)
    rows = sp.vstack([A[equal], A[up], -A[low]])
    bounds = np.concatenate([qp.u[equal], qp.u[up], -qp.l[low]])
    cones = [clarabel.ZeroConeT(equal.size), clarabel.NonnegativeConeT(up.size + low.size)]
    x, z, status = solve_cone(qp.P, qp.q, rows, bounds, cones)
    dual = np.zeros(qp.l.size)
    for block, sign, part in zip(
        (equal, up, low), (1.0, 1.0, -1.0), np.split(z, [equal.size, equal.size + up.size]), strict=True
    ):
        dual[block] += sign * part
    claim = {"PrimalInfeasible": "infeasible", "DualInfeasible": "unbounded"}.get(status, "converged")
    return Iterate(x, dual, claim)


def solve_box(box):
    Z = box.y[:, None] * (box.X.toarray() if sp.issparse(box.X) else box.X)
    rows = [np.eye(box.n)] + ([box.y[None, :]] if box.equality else [])
    extra = [0.0] if box.equality else []
    qp = QuadraticProgram(
        sp.csc_array(Z @ Z.T + np.diag(box.curvature)),
        -np.ones(box.n),
        sp.csc_array(np.vstack(rows)),
        np.append(np.zeros(box.n), extra),
        np.append(box.upper, extra),
    )
    found = solve_qp(qp)
    plane = Z.T @ found.x
    return Iterate(found.x, np.append(plane, found.dual[-1]) if box.equality else plane, found.claim)


def solve_risk(risk):
    """The epigraph form in (w, b, u, v): u costs a square (smooth part), v is linear, margin + u + v >= 1.

    The smoothed hinge is the smallest u^2 / (2 delta) + v with u + v >= z; the others use one of the two.
    """
    X = risk.X.toarray() if sp.issparse(risk.X) else risk.X
    n, d, k = risk.n, risk.d, risk.d + risk.intercept
    square = {"Hinge": np.inf, "SquaredHinge": 2.0}.get(name_of(risk.loss)) or 1.0 / risk.loss.delta
    P = np.zeros(k + 2 * n)
    P[:d] = risk.lam
    P[k : k + n] = 0.0 if np.isinf(square) else square * risk.weight
    q = np.concatenate([np.zeros(k), np.zeros(n), risk.weight])
    margins = risk.y[:, None] * (np.hstack([X, np.ones((n, 1))]) if risk.intercept else X)
    A = sp.vstack([sp.hstack([margins, sp.eye_array(n), sp.eye_array(n)]), sp.eye_array(2 * n, k + 2 * n, k=k)])
    u = np.full(3 * n, np.inf)
    if np.isinf(square):
        u[n : 2 * n] = 0.0
    if name_of(risk.loss) == "SquaredHinge":
        u[2 * n :] = 0.0
    qp = QuadraticProgram(
        sp.csc_array(sp.diags_array(P)), q, sp.csc_array(A), np.append(np.ones(n), np.zeros(2 * n)), u
    )
    return Iterate(solve_qp(qp).x[:k])


def solve(program):
    if isinstance(program, QuadraticProgram):
        return solve_qp(program)
    if isinstance(program, BoxDual):
        return solve_box(program)
    if isinstance(program, RegularisedRisk):
        return solve_risk(program)
    cones = [clarabel.NonnegativeConeT(program.nonnegative), *map(clarabel.SecondOrderConeT, program.cones)]
    d = program.c.size
    return Iterate(*solve_cone(sp.csc_array((d, d)), program.c, program.A, program.b, cones)[:2])


# -- every formulation leads to the same optimum -------------------------------------------------------------------


@every_bias
@every_layout
@every_weight
def test_soft_margin_formulations_agree(bias, sparse, weighted):
    problem = make(bias, sparse, weighted)
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    best = problem.primal(optimum.w, optimum.b)
    assert problem.dual(problem.feasible_dual(optimum.alpha)) == pytest.approx(best, rel=1e-7)
    for formulation in SOFT:
        assert formulation.refuses(problem) is None
        assert formulation.judged(problem) is problem
        formulation = formulation.at(optimum, problem)
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            assert type(program) is kind
            iterate = solve(program)
            point = formulation.point(problem, program, iterate)
            assert problem.primal(point.w, point.b) == pytest.approx(best, rel=1e-6), name_of(formulation)
            if not isinstance(program, RegularisedRisk):  # delta this small blows its gradient up
                assert program.residual(iterate.x, iterate.dual) < 1e-5, name_of(formulation)
            if point.alpha is not None and not isinstance(formulation, SlackBudget | SmoothedHinge):
                assert problem.dual(problem.feasible_dual(point.alpha)) == pytest.approx(best, rel=1e-6)


@every_bias
@every_layout
@every_weight
def test_squared_hinge_formulations_agree(bias, sparse, weighted):
    problem = make(bias, sparse, weighted, loss="squared_hinge")
    values = []
    for formulation in (SquaredHinge(), PrimalQP(), DualQP()):
        assert formulation.refuses(problem) is None
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            iterate = solve(program)
            point = formulation.point(problem, program, iterate)
            values += [problem.primal(point.w, point.b), problem.dual(problem.feasible_dual(point.alpha))]
            own = program.residual(iterate.x, iterate.dual)
            assert own is None or own < 1e-5
    assert values == pytest.approx([values[0]] * len(values), rel=1e-6)


@every_bias
@every_layout
def test_hard_margin_formulations_agree(bias, sparse):
    asked = make(bias, sparse, weighted=True, distance=3.0)
    values = []
    for formulation in HARD:
        problem = formulation.judged(asked)
        assert problem.hard
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            iterate = solve(program)
            point = formulation.point(problem, program, iterate)
            smallest = problem.margins(point.w, point.b).min()
            assert smallest == pytest.approx(1.0, abs=1e-6)
            values += [0.5 * problem.norm2(point.w, point.b), problem.dual(problem.feasible_dual(point.alpha))]
            assert program.residual(iterate.x, iterate.dual) < 1e-5
    assert values == pytest.approx([values[0]] * len(values), rel=1e-6)


@every_bias
@every_layout
def test_inseparable_data_are_proven_so(bias, sparse):
    """Every hard form yields mu >= 0 with sum 1 and sum mu_i y_i x_i = 0: a point that both hulls share."""
    asked = make(bias, sparse, distance=0.0, n=30)
    for formulation in HARD:
        problem = formulation.judged(asked)
        for kind in formulation.gives:
            program = formulation.program(problem, kind)
            iterate = solve(program)
            assert iterate.claim == "" or iterate.claim in ("infeasible", "unbounded")
            mu = formulation.infeasibility(problem, program, iterate)
            assert mu.min() >= 0.0
            assert mu.sum() == pytest.approx(1.0)
            assert np.abs(problem.features.T @ (mu * problem.y)).max() < 1e-6
            assert bias != "free" or abs(mu @ problem.y) < 1e-6


def test_no_certificate_where_the_iterate_has_none():
    problem = make("free", C=np.inf)
    assert HardPrimalQP().infeasibility(problem, None, Iterate(np.zeros(4))) is None
    assert HardPrimalQP().infeasibility(problem, None, Iterate(None, np.ones(24))) is None
    assert HardDualQP().infeasibility(problem, None, Iterate(None)) is None
    assert HardDualQP().infeasibility(problem, None, Iterate(np.full(24, np.nan))) is None
    assert MaxMargin().infeasibility(problem, None, Iterate(np.zeros(5))) is None
    assert PrimalQP().infeasibility(problem, None, Iterate(np.zeros(28))) is None


# -- the maps, at random points ------------------------------------------------------------------------------------


@every_bias
@every_layout
@every_weight
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_primal_qp_is_the_canonical_objective(bias, sparse, weighted, loss):
    problem = make(bias, sparse, weighted, loss)
    w, b = some_plane(problem)
    slack = np.maximum(0.0, 1.0 - problem.margins(w, b))
    program = PrimalQP().program(problem, QuadraticProgram)
    x = variables(problem, w, b, slack)
    assert program.objective(x) == pytest.approx(problem.primal(w, b))
    rows = program.A @ x
    assert (rows >= program.l - 1e-12).all()
    assert np.allclose(rows[: problem.n], problem.margins(w, b) + slack)
    z = -np.arange(float(program.l.size))
    point = PrimalQP().point(problem, program, Iterate(x, z))
    assert np.allclose(point.w, w)
    assert point.b == pytest.approx(b)
    assert np.allclose(point.xi, slack)
    assert np.allclose(point.alpha, np.arange(problem.n))


@every_bias
@every_layout
@every_weight
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dual_qp_is_the_canonical_dual(bias, sparse, weighted, loss):
    problem = make(bias, sparse, weighted, loss)
    alpha = problem.feasible_dual(np.random.default_rng(1).random(problem.n))
    program = DualQP().program(problem, QuadraticProgram)
    assert program.objective(alpha) == pytest.approx(-problem.dual(alpha))
    assert (program.A @ alpha >= program.l - 1e-12).all()
    assert (program.A @ alpha <= program.u + 1e-12).all()
    point = DualQP().point(problem, program, Iterate(alpha, np.zeros(program.l.size)))
    assert np.allclose(point.w, problem.weights(alpha))
    assert point.b == problem.point(alpha).b
    assert np.allclose(point.alpha, alpha)


@every_bias
def test_box_dual_takes_the_plane_that_the_solver_holds(bias):
    problem = make(bias)
    w, b = some_plane(problem)
    program = DualQP().program(problem, BoxDual)
    point = DualQP().point(problem, program, Iterate(np.zeros(problem.n), variables(problem, w, b)))
    assert np.allclose(point.w, w)
    assert point.b == pytest.approx(b)


@every_bias
@every_layout
@every_weight
@pytest.mark.parametrize(
    ("formulation", "factor"),
    [
        (Tikhonov(), lambda p: 1.0 / (p.C * p.n)),
        (RegularisedSum(), lambda p: 1.0 / p.C),
        (Pegasos(), lambda p: 1.0 / (p.C * p.n)),
    ],
    ids=["tikhonov", "regularised_sum", "pegasos"],
)
def test_risks_are_multiples_of_the_canonical_objective(formulation, factor, bias, sparse, weighted):
    problem = make(bias, sparse, weighted)
    w, b = some_plane(problem)
    program = formulation.program(problem, RegularisedRisk)
    assert program.loss == Hinge()
    assert program.objective(variables(problem, w, b)) == pytest.approx(problem.primal(w, b) * factor(problem))
    alpha = np.arange(float(problem.n))
    point = formulation.point(problem, program, Iterate(variables(problem, w, b), alpha))
    assert np.allclose(point.w, w)
    assert point.b == pytest.approx(b)
    assert np.array_equal(point.alpha, alpha)
    assert formulation.point(problem, program, Iterate(variables(problem, w, b))).alpha is None


@every_bias
@every_weight
def test_squared_hinge_is_its_canonical_objective(bias, weighted):
    problem = make(bias, weighted=weighted, loss="squared_hinge")
    w, b = some_plane(problem)
    program = SquaredHinge().program(problem, RegularisedRisk)
    assert program.objective(variables(problem, w, b)) == pytest.approx(problem.primal(w, b))


@every_bias
@every_weight
@pytest.mark.parametrize("delta", [0.5, 1e-2])
def test_smoothed_hinge_costs_at_most_half_a_delta_per_row(bias, weighted, delta):
    problem = make(bias, weighted=weighted)
    formulation = SmoothedHinge(delta)
    allowed = delta / 2.0 * problem.penalty.sum()
    w, b = some_plane(problem)
    risk, box = formulation.program(problem, RegularisedRisk), formulation.program(problem, BoxDual)
    below = problem.primal(w, b) - risk.objective(variables(problem, w, b))
    assert 0.0 <= below <= allowed
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    best = problem.primal(optimum.w, optimum.b)
    for program in (risk, box):
        iterate = solve(program)
        assert program.residual(iterate.x, iterate.dual) < 1e-5
        point = formulation.point(problem, program, iterate)
        assert best * (1.0 - 1e-9) <= problem.primal(point.w, point.b) <= best + allowed
        assert (point.alpha >= -1e-9).all()
        assert (point.alpha <= problem.penalty + 1e-9).all()
        assert np.allclose(problem.weights(point.alpha), point.w, atol=1e-5)
        smooth = risk.objective(variables(problem, point.w, point.b))
        dual = problem.dual(point.alpha) - 0.5 * float(box.curvature @ point.alpha**2)
        assert program is box or smooth == pytest.approx(dual, rel=1e-6)


@every_bias
@every_layout
def test_hard_forms_at_random_points(bias, sparse):
    """1/2 ||w||^2 with rows m; and (v, c, beta) = (w, b, min m) / ||w||, read back as (w, b) / min m."""
    problem = HardPrimalQP().judged(make(bias, sparse, distance=3.0))
    w, b = np.ones(problem.d) + 0.1 * np.arange(problem.d), 0.0 if bias == "none" else 0.2
    m, norm = problem.margins(w, b), np.sqrt(problem.norm2(w, b))
    assert m.min() > 0.0
    qp = HardPrimalQP().program(problem, QuadraticProgram)
    x = variables(problem, w, b)
    assert qp.objective(x) == pytest.approx(0.5 * norm**2)
    assert np.allclose(qp.A @ x, m)
    point = HardPrimalQP().point(problem, qp, Iterate(x, -np.arange(float(problem.n))))
    assert np.allclose(point.alpha, np.arange(problem.n))
    cone = MaxMargin().program(problem, ConeProgram)
    x = np.append(variables(problem, w, b), m.min()) / norm
    assert cone.c @ x == pytest.approx(-m.min() / norm)
    slack = cone.b - cone.A @ x
    assert np.allclose(slack[: problem.n], (m - m.min()) / norm)
    assert np.allclose(slack[problem.n :], np.append(1.0, problem.join(w, b) / norm))
    point = MaxMargin().point(problem, cone, Iterate(x))
    assert np.allclose(point.w, w / m.min())
    assert point.b == pytest.approx(b / m.min())
    assert point.alpha is None


def test_a_plane_that_separates_nothing_has_no_scale():
    problem = make("free", C=np.inf)
    point = MaxMargin().point(problem, None, Iterate(np.array([0.6, 0.8, 0.0, 0.1, -0.3])))
    assert np.allclose(point.w, [0.6, 0.8, 0.0])
    assert point.b == pytest.approx(0.1)


# -- the slack budget ----------------------------------------------------------------------------------------------


@every_bias
@every_weight
def test_price_of_the_slack_budget_is_C(bias, weighted):
    """Many features, so that w moves with C and the multiplier of the budget is unique."""
    problem = make(bias, weighted=weighted, d=20, C=0.02)
    optimum = PrimalQP().point(problem, None, solve(PrimalQP().program(problem, QuadraticProgram)))
    budget = SlackBudget().at(optimum, problem)
    assert budget.t == pytest.approx(float(problem.penalty @ np.maximum(0.0, optimum.xi)) / problem.C, rel=1e-6)
    program = budget.program(problem, QuadraticProgram)
    iterate = solve(program)
    assert iterate.dual[-1] == pytest.approx(problem.C, rel=1e-4)
    point = budget.point(problem, program, iterate)
    assert problem.primal(point.w, point.b) == pytest.approx(problem.primal(optimum.w, optimum.b), rel=1e-6)
    assert problem.dual(problem.feasible_dual(point.alpha)) == pytest.approx(problem.dual(optimum.alpha), rel=1e-4)


def test_slack_budget_with_the_price_of_a_larger_C_has_no_canonical_multipliers():
    problem = make("free")
    large = problem.with_(C=1e3)
    far = PrimalQP().point(large, None, solve(PrimalQP().program(large, QuadraticProgram)))
    budget = SlackBudget().at(far, large)
    program = budget.program(problem, QuadraticProgram)
    iterate = solve(program)
    assert iterate.dual[-1] > problem.C
    assert budget.point(problem, program, iterate).alpha is None


def test_slack_budget_needs_t():
    problem = make("free")
    with pytest.raises(InputError, match="slack budget needs t"):
        SlackBudget().program(problem, QuadraticProgram)
    fixed = SlackBudget(t=2.0)
    assert fixed.at(problem.point(np.zeros(problem.n)), problem) is fixed


# -- perceptrons ---------------------------------------------------------------------------------------------------


def test_perceptrons_are_judged_by_separation_on_the_hard_margin():
    for bias, becomes in (("none", "none"), ("free", "augmented"), ("augmented", "augmented")):
        for formulation, gamma in ((Perceptron(), 0.0), (MarginPerceptron(2.0), 2.0)):
            asked = make(bias, weighted=True, loss="squared_hinge")
            problem = formulation.judged(asked)
            assert formulation.judge == "separation"
            assert (problem.C, problem.bias, problem.loss, problem.weight) == (np.inf, becomes, "hinge", None)
            program = formulation.program(problem, RegularisedRisk)
            assert (program.lam, program.loss, program.intercept) == (0.0, PerceptronLoss(gamma), False)
            w, b = some_plane(problem)
            x = problem.join(w, b)
            assert program.objective(x) == pytest.approx(np.maximum(0.0, gamma - problem.margins(w, b)).sum())
            point = formulation.point(problem, program, Iterate(x))
            assert np.allclose(point.w, w)
            assert point.b == pytest.approx(b)


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", [*SOFT, SquaredHinge()], ids=name_of)
def test_finite_C_forms_refuse_the_hard_margin(formulation):
    sentence = "C = inf is the hard margin: use hard_primal_qp, hard_dual_qp or max_margin"
    assert formulation.refuses(make("free", C=np.inf)) == sentence


@pytest.mark.parametrize("formulation", [f for f in SOFT if not isinstance(f, DualQP | PrimalQP)], ids=name_of)
def test_hinge_only_forms_refuse_the_squared_hinge(formulation):
    assert "has the hinge; the problem has the squared hinge" in formulation.refuses(make("free", loss="squared_hinge"))


def test_squared_hinge_refuses_the_hinge():
    assert "problem.loss=squared_hinge" in SquaredHinge().refuses(make("free"))


@pytest.mark.parametrize("formulation", ANY, ids=name_of)
@pytest.mark.parametrize("bad", [None, np.zeros(3 * 24 + 5), np.zeros((24, 1)), np.array("x"), np.zeros(24, complex)])
def test_an_iterate_that_is_no_point_is_refused_in_words(formulation, bad):
    problem = formulation.judged(make("free", loss="squared_hinge" if formulation == SquaredHinge() else "hinge"))
    fixed = formulation.at(problem.point(np.zeros(problem.n)), problem)
    for kind in fixed.gives:
        program = fixed.program(problem, kind)
        with pytest.raises(ValueError, match="the solver gave"):
            fixed.point(problem, program, Iterate(bad))


@pytest.mark.parametrize("formulation", [f for f in ANY if not isinstance(f, DualQP | HardDualQP)], ids=name_of)
def test_multipliers_of_the_wrong_shape_are_refused(formulation):
    problem = formulation.judged(make("free", loss="squared_hinge" if formulation == SquaredHinge() else "hinge"))
    fixed = formulation.at(problem.point(np.zeros(problem.n)), problem)
    program = fixed.program(problem, fixed.gives[0])
    size = program.A.shape[1] if hasattr(program, "A") else problem.features.shape[1] + program.intercept
    with pytest.raises(ValueError, match="the solver gave"):
        fixed.point(problem, program, Iterate(np.zeros(size), np.zeros(7)))


@pytest.mark.parametrize("formulation", ANY, ids=name_of)
def test_nan_passes_on_to_the_certificate(formulation):
    problem = formulation.judged(make("free", loss="squared_hinge" if formulation == SquaredHinge() else "hinge"))
    fixed = formulation.at(problem.point(np.zeros(problem.n)), problem)
    for kind in fixed.gives:
        program = fixed.program(problem, kind)
        size = {BoxDual: problem.n, RegularisedRisk: problem.features.shape[1] + (problem.bias == "free")}.get(kind)
        size = program.A.shape[1] if size is None else size
        assert np.isnan(fixed.point(problem, program, Iterate(np.full(size, np.nan))).w).all()


@pytest.mark.parametrize(
    ("make_one", "names"),
    [
        (lambda: SmoothedHinge(0.0), "formulation.delta=0.0"),
        (lambda: MarginPerceptron(-1.0), "formulation.gamma=-1.0"),
        (lambda: SlackBudget(-1.0), "formulation.t=-1.0"),
    ],
)
def test_bad_parameters(make_one, names):
    with pytest.raises(InputError, match=names):
        make_one()


# -- configs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ANY, ids=name_of)
def test_each_formulation_has_a_config_with_its_fields(formulation):
    module = type(formulation).__module__
    config = yaml.safe_load((CONF / f"{module.split('.')[-1]}.yaml").read_text())
    target = config.pop("_target_")
    assert target == f"{module}.{name_of(formulation)}"
    made = getattr(import_module(module), name_of(formulation))(**config)
    assert is_dataclass(made)
    assert set(config) == {field.name for field in fields(made)}


def test_each_config_is_tested():
    assert {path.stem for path in CONF.glob("*.yaml")} == {type(f).__module__.split(".")[-1] for f in ANY}
