"""Every method that takes a kernel, on tiny problems with one: certified to 1e-6, or to the accuracy that it states."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.spec import chosen_kind, instantiate, misfit, missing
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.model.kernel import Gaussian, Polynomial
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import QuadraticProgram
from marginbench.harness.model.solver import Solver
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.polish import polish
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.libsvm import Libsvm
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.projected_gradient import ProjectedGradient
from marginbench.solvers.sdca import SDCA
from marginbench.solvers.smo import SMO

CONF = Path(__file__).resolve().parents[2] / "conf" / "solver"
BIASES = ("none", "free", "augmented")


def data(n: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that no line separates: inside and outside of a circle, with some overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where((X**2).sum(1) + 0.5 * rng.normal(size=n) > 1.4, 1.0, -1.0)


PROBLEMS = {
    "gaussian": Problem(*data(), 1.0, "free", kernel=Gaussian(0.5)),
    "gaussian, none": Problem(*data(), 3.0, "none", kernel=Gaussian(2.0)),
    "gaussian, augmented": Problem(*data(), 1.0, "augmented", s=2.0, kernel=Gaussian(0.5)),
    "polynomial": Problem(*data(), 0.3, "free", kernel=Polynomial(1.0, 1.0, 2)),
    "polynomial, sparse": Problem(sp.csr_array(data()[0]), data()[1], 0.1, "none", kernel=Polynomial(0.5, 1.0, 3)),
    "weights": Problem(*data(), 1.0, "free", weight=np.linspace(0.5, 2.0, 24), kernel=Gaussian(0.5)),
    "squared hinge": Problem(*data(), 1.0, "none", "squared_hinge", kernel=Gaussian(0.5)),
}


def solvers() -> dict[str, Solver]:
    """All that are installed and take a dual with a kernel."""
    made: dict[str, Solver] = {}
    for path in sorted(CONF.glob("*.yaml")):
        config = {k: v for k, v in yaml.safe_load(path.read_text()).items() if not str(v).startswith("${")}
        solver = instantiate(config)
        if misfit(DualQP(), solver, PROBLEMS["gaussian"]) is None and not missing(solver):
            made[path.stem] = solver
    return made


ALL = solvers()


def last(solver: Solver, problem: Problem, steps: int = 20_000):
    """(program, iterate, point) where the solver ends, or after so many steps."""
    program = DualQP().program(problem, chosen_kind(DualQP(), solver, problem))
    if solver.refuses(program):
        return program, None, None
    *_, iterate = islice(solver.iterates(program), steps)
    return program, iterate, DualQP().point(problem, program, iterate)


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_dual_method_solves_every_tiny_problem(name):
    solver, solved = ALL[name], 0
    for title, problem in PROBLEMS.items():
        program, iterate, point = last(solver, problem)
        if iterate is not None:
            found = certify(problem, point)
            assert found.gap <= max(1e-6, solver.accuracy), title
            solved += 1
        elif "licen" in (reason := solver.refuses(program) or ""):
            pytest.skip(reason)
    assert solved >= 3


def test_the_methods_that_should_take_a_kernel_do():
    own = {"auto", "coordinate_descent", "newton_augmented", "projected_gradient", "smo", "libsvm"}
    assert own | {"clarabel", "osqp"} <= set(ALL)
    assert not {"pegasos", "sdca", "liblinear", "lbfgs"} & set(ALL)


@pytest.mark.parametrize("solver", [CoordinateDescent(), ProjectedGradient(), SMO()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("title", PROBLEMS)
def test_own_methods_end_at_the_optimum_and_know_it(solver, title):
    program, iterate, point = last(solver, PROBLEMS[title])
    if iterate is not None:
        assert iterate.claim == "converged"
        assert program.residual(iterate.x, iterate.dual) <= 1e-9
        assert certify(PROBLEMS[title], point).gap <= 1e-9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("C", [10.0, 1e4])
def test_multipliers_alone_are_as_good_as_newton_claims(C, bias, loss):
    """With a kernel w is w(alpha): rounding of alpha costs C times as much as in a pair (w, alpha)."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
    for X, y in (corners, data(60)):
        for gamma in (0.1, 1.0, 10.0):
            problem = Problem(X, y, C, bias, loss, kernel=Gaussian(gamma))
            _, iterate, point = last(NewtonAugmented(), problem)
            assert iterate.claim == "converged", gamma
            assert certify(problem, point).gap <= 1e-9, gamma


@pytest.mark.parametrize("title", PROBLEMS)
def test_polishing_proves_the_optimum_from_a_rough_point(title):
    problem = PROBLEMS[title]
    _, _, rough = last(CoordinateDescent(), problem, steps=60)
    assert enclose(problem, polish(problem, rough)).width <= 1e-13


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("solver", [CoordinateDescent(), ProjectedGradient()], ids=lambda s: type(s).__name__)
def test_a_kernel_that_is_linear_has_the_linear_optimum(solver, bias):
    X, y = data()
    kernel = Problem(X, y, 0.7, bias, kernel=Polynomial(1.0, 0.0, 1))
    linear = Problem(X, y, 0.7, bias)
    values = [certify(problem, last(solver, problem)[2]).primal for problem in (kernel, linear)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_libsvm_finds_the_multipliers_that_its_own_kernel_gives():
    from sklearn.svm import SVC

    problem = PROBLEMS["gaussian"]
    _, _, point = last(Libsvm(tolerances=(1e-6,)), problem)
    own = SVC(kernel="rbf", gamma=0.5, tol=1e-6).fit(problem.X, problem.y)
    alpha = np.zeros(problem.n)
    alpha[own.support_] = np.abs(own.dual_coef_[0])
    np.testing.assert_allclose(point.alpha, alpha, atol=1e-4)
    signs = np.sign(problem.scores_of(problem.X, point.w) + point.b)
    np.testing.assert_array_equal(signs, own.predict(problem.X))


def test_what_needs_w_is_told_why_it_cannot():
    problem = PROBLEMS["gaussian"]
    assert misfit(PrimalQP(), ALL["clarabel"], problem) == (
        "the formulation needs w, which a gaussian kernel gives no coordinates; use dual_qp"
    )
    assert misfit(DualQP(), SDCA(), problem) == (
        "the formulation gives KernelDual or QuadraticProgram; the solver takes BoxDual"
    )


def test_the_matrix_is_predicted_before_it_is_made():
    X = sp.csr_array((60_000, 3))
    problem = Problem(X, np.where(np.arange(60_000) % 2, 1.0, -1.0), kernel=Gaussian(1.0))
    need = DualQP().needs(problem, KernelDual)
    assert need.beyond(4096) == (
        "needs a kernel matrix of 6.0e+04 x 6.0e+04, 28.8 GB; limits.memory_mb=4096 allows 4.3 GB"
    )
    assert DualQP().needs(problem, QuadraticProgram).bytes > 3 * need.bytes
    assert "gram" not in problem.__dict__
