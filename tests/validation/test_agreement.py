"""The check of agreement: who has to agree, who need not, and what the YAML of a solver is taken for."""

from marginbench.harness.config_files import CONF, texts
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import STATUSES
from marginbench.harness.validation.agreement import agreement, reasons

OPTIMUM = {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"}
SEPARATION = {"_target_": "marginbench.harness.formulations.perceptron.Perceptron"}
EXACT = {"_target_": "marginbench.solvers.clarabel_qp.ClarabelQp"}
ROUGH = {"_target_": "marginbench.solvers.highs_qp.HighsQp"}


def row(status, claim="converged", solver=EXACT, formulation=OPTIMUM, name="one", message=""):
    cell = {"solver": solver, "formulation": formulation}
    return Record(status=status, claim=claim, solver=name, cell=cell, message=message)


def kinds(*records, known=None):
    return [len(group) for group in agreement(records, known or {})]


def test_who_agrees_and_who_does_not():
    assert kinds(row("solved"), row("infeasible")) == [2, 0, 0, 0, 0]
    assert kinds(row("skipped"), row("not_installed")) == [0, 0, 0, 0, 0]
    assert kinds(row("inaccurate"), row("wrong"), row("failed"), row("crashed")) == [0, 0, 0, 0, 4]
    assert kinds(row("inaccurate", solver=ROUGH), row("inaccurate", formulation=SEPARATION)) == [0, 2, 0, 0, 0]
    assert kinds(row("wrong", solver=ROUGH)) == [0, 0, 0, 0, 1]
    assert kinds(row("inaccurate", claim="")) == [0, 0, 1, 0, 0]
    assert kinds(row("timeout"), row("inaccurate", message="gap 2e-06: the budget of 2 s was spent")) == [0, 0, 2, 0, 0]
    assert kinds(row("wrong", message="the budget of 2 s was spent")) == [0, 0, 0, 0, 1]


def test_a_reason_excuses_the_status_it_names_and_no_other():
    known = {"one": reasons("# known to be wrong: it says so\n# something else\n_target_: x\n")}
    assert known == {"one": {"wrong": "it says so"}}
    assert kinds(row("wrong"), row("failed"), row("wrong", name="two"), known=known) == [0, 0, 0, 1, 2]


def test_reasons_in_the_configurations_name_a_status():
    named = {status for _, text in texts("solver", [CONF]) for status in reasons(text)}
    assert "wrong" in named
    assert named <= set(STATUSES)


def test_the_experiment_asks_every_library_for_quadratic_programs():
    from marginbench.harness.commands.pairs import made
    from marginbench.harness.model.programs import QuadraticProgram

    listed = (CONF / "experiment" / "agreement.yaml").read_text().partition("solver=")[2].splitlines()[0].split(",")
    solvers = made("solver", [CONF])
    assert set(listed) == {name for name, solver in solvers.items() if QuadraticProgram in solver.accepts}
