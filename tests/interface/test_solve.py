"""solve: every way to name a method, the same answer in a process of its own and in this one."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

import marginbench as mb
from marginbench.harness.interface.methods import pair_of
from marginbench.harness.model.problem import InputError
from marginbench.solvers.pegasos import Pegasos

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)) + np.where(np.arange(80) < 40, -0.7, 0.7)[:, None]
y = np.where(np.arange(80) < 40, "low", "up")

MINE = """
from dataclasses import dataclass
import numpy as np
import marginbench as mb

@dataclass(frozen=True)
class Mine(mb.Solver):
    step: float = 0.01
    accepts = (mb.BoxDual,)

    def iterates(self, program):
        alpha = np.zeros(program.n)
        while True:
            alpha = np.clip(alpha - self.step * program.gradient(alpha), 0.0, program.upper)
            yield mb.Iterate(alpha)
"""


@pytest.mark.parametrize("isolated", [True, False])
def test_an_answer_has_all_that_a_user_asks_for(isolated):
    found = mb.solve(X, y, C=0.5, isolated=isolated)
    assert found.status == "solved"
    assert found.certificate.gap <= 1e-9
    assert found.positive == "up"
    assert found.seconds > 0.0
    assert found.curve["gap"].iloc[-1] == pytest.approx(found.certificate.gap, abs=1e-12)
    assert found.decision_function(X) == pytest.approx(X @ found.w + found.b)
    assert (found.predict(X) == y).mean() == found.certificate.train_accuracy
    w = X.T @ (found.alpha * np.where(y == "up", 1.0, -1.0))
    assert found.w == pytest.approx(w, abs=1e-6)


def test_a_process_of_its_own_changes_no_bit_of_the_answer():
    apart, here = mb.solve(X, y, "coordinate_descent", C=0.5), mb.solve(X, y, "coordinate_descent", 0.5, isolated=False)
    assert apart.w.tobytes() == here.w.tobytes()
    assert apart.b == here.b


def test_the_default_bias_is_that_of_the_command_line():
    assert mb.solve(X, y, isolated=False).problem.bias == mb.Problem(X, y).bias == "augmented"
    assert mb.estimator().problem_of(X, np.where(y == "up", 1.0, -1.0)).bias == "augmented"


def test_swapping_the_positive_label_flips_the_hyperplane():
    found = mb.solve(X, y, C=0.5, isolated=False)
    swapped = mb.solve(X, y, C=0.5, positive="low", isolated=False)
    assert swapped.w == pytest.approx(-found.w, abs=1e-5)
    assert swapped.positive == "low"
    assert (swapped.predict(X) == found.predict(X)).all()


@pytest.mark.parametrize("bias", ["none", "augmented"])
def test_a_method_without_multipliers_still_has_a_gap(bias):
    """The lower bound is that of a solve of our own, and below every P."""
    asked = {"C": 0.1, "bias": bias, "isolated": False}
    found = mb.solve(sp.csr_array(X), y, "pegasos", budget={"iterations": 300}, **asked)
    assert found.alpha is None
    assert (found.certificate.dual_source, found.certificate.reference) == ("reference", "computed")
    assert 0.0 < found.certificate.gap < 0.5
    assert found.certificate.dual == pytest.approx(mb.solve(X, y, **asked).certificate.primal, rel=1e-8)
    alone = mb.solve(X, y, "pegasos", budget={"iterations": 300}, reference=False, **asked)
    assert alone.certificate.gap is None


@pytest.mark.parametrize(
    ("method", "formulation", "solver"),
    [
        ("pegasos", "pegasos", "pegasos"),
        ("osqp", "primal_qp", "osqp"),
        (("tikhonov", "subgradient"), "tikhonov", "subgradient"),
        (("pegasos", Pegasos(seed=3)), "pegasos", "Pegasos"),
        (Pegasos, "regularised_sum", "Pegasos"),
        ("marginbench.solvers.pegasos.Pegasos", "regularised_sum", "marginbench.solvers.pegasos.Pegasos"),
    ],
)
def test_ways_to_name_a_method(method, formulation, solver):
    pair = pair_of(method, mb.Problem(X, y), seed=0)
    assert (pair.formulation_name, pair.solver_name) == (formulation, solver)


def test_fields_of_a_solver_reach_the_cell():
    pair = pair_of(("pegasos", Pegasos(seed=3)), mb.Problem(X, y), seed=0)
    assert pair.solver["seed"] == 3
    assert pair_of(Pegasos, mb.Problem(X, y), seed=5).solver["seed"] == 5


def test_a_solver_in_a_file_of_the_users_own(tmp_path, monkeypatch):
    (tmp_path / "mine_of_python.py").write_text(MINE)  # a name that no other test has imported
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found = mb.solve(X, y, "mine_of_python.py:Mine", C=0.1, bias="none", budget={"gap": 1e-4})
    assert found.status == "solved"
    assert (found.record.formulation, found.record.solver) == ("dual_qp", "mine_of_python.py:Mine")


@dataclass(frozen=True)
class Strange(mb.Solver):
    accepts = ()

    def iterates(self, program):
        yield mb.Iterate(np.zeros(program.n))


def test_a_solver_of_the_notebook_is_told_where_to_go(monkeypatch):
    monkeypatch.setattr(Strange, "__module__", "__main__")
    with pytest.raises(InputError, match=r"write it to a file and name it, as in 'mine\.py:Strange'"):
        mb.compare(X, y, [("dual_qp", Strange)])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"method": "magic"}, "there is no method 'magic'; possible are .*, auto, .*FILE.py:Class"),
        ({"method": ("magic", "pegasos")}, "there is no formulation 'magic'"),
        ({"method": ("dual_qp", "pegasos", 1)}, "needs two entries"),
        ({"method": Strange()}, "no formulation writes this problem"),
        ({"method": int}, "needs a name, a pair, or a class"),
        ({"C": -1.0}, "C must be a number above 0"),
        ({"C": "big"}, "C must be a number above 0"),
        ({"bias": "some"}, "possible are none, free, augmented"),
        ({"weight": "heavy"}, "possible are null, balanced"),
        ({"budget": {"hours": 1.0}}, "budget: there is no 'hours'; possible are seconds, gap"),
        ({"budget": -1.0}, "needs a number above 0"),
        ({"seed": -1}, "needs a whole number, 0 or more"),
    ],
)
def test_bad_input_ends_in_one_line_before_any_work(more, message):
    with pytest.raises(InputError, match=message) as error:
        mb.solve(X, y, **more)
    assert "\n" not in str(error.value)


def test_an_answer_that_there_is_not_is_said_and_not_made_up():
    found = mb.solve(X, y, "pegasos", bias="free", isolated=False)
    assert found.status == "skipped"
    assert found.w is None
    assert "free bias" in found.message
    assert "skipped" in found._repr_html_()
    with pytest.raises(InputError, match="there is no hyperplane: skipped"):
        found.predict(X)


def test_the_hard_margin():
    easy = X + np.where(y == "up", 4.0, -4.0)[:, None]
    found = mb.solve(easy, y, "hard_primal_qp", C=np.inf, bias="free")
    assert found.status == "solved"
    assert found.certificate.margin == pytest.approx(1.0 / np.linalg.norm(found.w), rel=1e-4)
    assert mb.solve(X, y, "hard_primal_qp", C=np.inf, bias="free").status == "infeasible"


def test_what_a_reader_sees():
    found = mb.solve(X, y, C=0.5, isolated=False)
    for text in (repr(found), found._repr_html_()):
        assert "auto: solved in" in text
        assert "relative gap" in text
        assert "positive class" in text
    with pytest.raises(InputError, match="X has 3 columns; the hyperplane has 4"):
        found.predict(X[:, :3])


CIRCLE = np.where((X**2).sum(1) > 4.0, "out", "in")


@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("method", ["auto", "smo"])
def test_a_kernel_is_solved_certified_and_predicts_new_rows(method, isolated):
    from sklearn.svm import SVC

    found = mb.solve(X, CIRCLE, method, C=2.0, bias="free", kernel="gaussian", gamma=0.3, isolated=isolated)
    assert found.status == "solved"
    assert found.certificate.gap <= 1e-6
    assert "Gaussian(gamma=0.3), eps=" in repr(found)
    theirs = SVC(kernel="rbf", gamma=0.3, C=2.0, tol=1e-8).fit(X, CIRCLE)
    new = RNG.normal(size=(30, 4))
    assert found.decision_function(new) == pytest.approx(theirs.decision_function(new), abs=1e-3)
    assert found.decision_function(sp.csr_array(new)) == pytest.approx(found.decision_function(new))
    with pytest.raises(InputError, match="X has 3 columns; the hyperplane has 4"):
        found.predict(new[:, :3])


def test_both_conventions_of_a_kernel_are_one_problem():
    one = mb.solve(X, CIRCLE, "smo", bias="free", kernel="gaussian", sigma=2.0, isolated=False)
    other = mb.Problem(X, CIRCLE, bias="free", kernel="gaussian", gamma=0.125)
    assert one.problem.kernel == other.kernel
    assert mb.certify(other, one.w, one.b, one.alpha).gap == one.certificate.gap
    found = mb.solve(X, CIRCLE, "smo", bias="free", kernel="polynomial", coef0=1.0, degree=2, isolated=False)
    assert str(found.problem.kernel) == "Polynomial(gamma=0.25, coef0=1.0, degree=2)"


def test_a_method_without_kernels_says_so():
    found = mb.solve(X, CIRCLE, "pegasos", kernel="gaussian")
    assert found.status == "skipped"
    assert "w, which a gaussian kernel gives no coordinates" in found.message


@pytest.mark.parametrize("state", [mb.solve, mb.compare, mb.Problem], ids=lambda state: state.__name__)
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kernel": "rbf"}, "problem.kernel=rbf: possible are linear, polynomial, gaussian"),
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
        ({"gamma": 0.3}, "problem.gamma=0.3: the linear kernel has no parameters"),
        ({"kernel": "gaussian", "degree": 2}, "problem.degree=2: the gaussian kernel has gamma, sigma"),
        ({"kernel": "gaussian", "gamma": -1.0}, "problem.gamma=-1.0: needs a number above 0"),
    ],
    ids=str,
)
def test_a_bad_kernel_is_answered_in_one_line(state, asked, message):
    with pytest.raises(InputError, match=message) as error:
        state(X, CIRCLE, **asked)
    assert "\n" not in str(error.value)
