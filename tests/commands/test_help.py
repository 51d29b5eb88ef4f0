"""Help and lists come from the configurations, say everything, and load nothing heavy."""

import re
import subprocess
import sys

import pytest

from marginbench.harness.cli import VERBS, main
from marginbench.harness.commands.catalogue import Option, defaults, explained, first_paragraph, options, target_of
from marginbench.harness.config_files import CONF, names, texts

HEAVY = ("numpy", "scipy", "numba", "hydra", "omegaconf", "pandas", "cvxpy", "marginbench.solvers.pegasos")


def loaded(code: str) -> list[str]:
    """The heavy modules that a fresh process has after `code`."""
    code += f"\nimport sys; print('LOADED', *[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.rpartition("LOADED")[2].split()


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--help"], ["help", "run"], ["run", "--help"], ["--version"], ["list"], ["list", "solver", "pegasos"]),
        *(["completion", "bash"], ["completion", "answer", "--", "run", "method=pegasos", "solver."]),
    ],
    ids=" ".join,
)
def test_what_should_answer_at_once_loads_nothing_heavy(words):
    assert loaded(f"from marginbench.harness.cli import main\nassert main({words!r}) == 0") == []


def test_a_bare_command_prints_help(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f"  {verb} " in text for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb, capsys):
    assert main(["help", verb]) == 0
    text = capsys.readouterr().out
    assert f"usage: marginbench {verb}" in text
    assert main([verb, "--help"]) == 0
    assert capsys.readouterr().out == text


def test_help_of_nothing_is_bad_input(capsys):
    assert main(["help", "kitchen"]) == 2
    assert "possible is one of run" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["run", "validate"])
def test_help_names_every_option_with_default_and_meaning(verb, capsys):
    text = (CONF / f"{verb}.yaml").read_text()
    every = [*defaults(text), *options(text)]
    assert len(every) > 5
    assert main(["help", verb]) == 0
    lines = " ".join(capsys.readouterr().out.split())
    for option in every:
        assert option.meaning, f"{option.key} has no comment in conf/{verb}.yaml"
        assert f"{option.key} {option.default} " in lines
        assert " ".join(option.meaning.split()) in lines


@pytest.mark.parametrize("group", ["dataset", "formulation", "solver"])
def test_every_option_of_every_choice_has_a_meaning(group):
    silent = [(name, o.key) for name in names(group, [CONF]) for o in explained(group, name, [CONF]) if not o.meaning]
    assert not silent


@pytest.mark.parametrize("group", ["dataset", "formulation", "solver"])
def test_every_choice_is_explained_in_a_sentence(group):
    for name, text in texts(group, [CONF]):
        assert first_paragraph(target_of(text), of_module=group != "dataset"), name


def test_one_choice_is_listed_with_its_options(capsys):
    assert main(["list", "solver", "pegasos"]) == 0
    text = capsys.readouterr().out
    assert "stochastic subgradient descent" in text
    assert "solver.batch    1        rows drawn for each step" in text
    assert main(["list", "method", "newton_smoothed_hinge"]) == 0
    text = capsys.readouterr().out
    assert "formulation.delta" in text
    assert "solver.direct" in text
    assert main(["list", "experiments", "comparison"]) == 0
    assert "separable,overlapping" in capsys.readouterr().out
    assert main(["list", "solver", "nobody"]) == 2
    assert "there is no solver 'nobody'; possible are" in capsys.readouterr().err


def test_ones_own_choices_are_listed_too(tmp_path, capsys):
    (tmp_path / "solver").mkdir()
    text = "_target_: solvers.pegasos.Pegasos\nbatch: 7  # mine\nproject: true\n"
    (tmp_path / "solver" / "mine.yaml").write_text(text)
    assert main(["list", "solvers", "-cd", str(tmp_path)]) == 0
    assert "  mine " in capsys.readouterr().out
    assert main(["list", "solver", "mine", "--config-dir", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "7     mine" in text
    assert "project w to the ball" in text  # said by the file of the same class


def test_a_missing_library_is_named_in_the_list(tmp_path, capsys):
    (tmp_path / "absent_solver.py").write_text('"""Mine."""\n\n\nclass Mine:\n    requires = {"no_such_thing": "qp"}\n')
    (tmp_path / "conf" / "solver").mkdir(parents=True)
    (tmp_path / "conf" / "solver" / "absent.yaml").write_text("_target_: absent_solver.Mine\n")
    assert main(["list", "solver", "--config-dir", str(tmp_path / "conf")]) == 0
    assert "Mine. [no_such_thing is not installed" in " ".join(capsys.readouterr().out.split())


def test_pairs_are_found_by_asking_the_solvers(capsys):
    assert main(["list", "pairs"]) == 0
    lines = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert ("libsvm", "dual_qp", "free") in lines
    assert ("sdca", "dual_qp", "none", "augmented") in lines


def test_compat_names_kernel_bias_and_loss_of_every_pair(capsys):
    assert main(["list", "compat"]) == 0
    lines = {tuple(re.split(r"\s{2,}", line)[:7]) for line in capsys.readouterr().out.splitlines()}
    assert ("dual_qp", "libsvm", "linear, polynomial, gaussian", "-", "hinge", "-", "cold") in lines
    assert ("dual_qp", "chambolle_pock", "linear", *["hinge, squared_hinge"] * 3, "warm") in lines
    assert ("hard_primal_qp", "clarabel", "linear", "hinge", "hinge", "hinge", "cold") in lines
    assert ("squared_hinge", "liblinear", "linear", "squared_hinge", "-", "squared_hinge", "cold") in lines
    assert any(line[:2] == ("dual_qp", "frank_wolfe") and line[-1] == "warm" for line in lines)
    assert not any(line[:2] == ("tikhonov", "libsvm") for line in lines)


def test_compat_imports_no_library_behind_a_solver():
    names = "cvxpy osqp clarabel scs sklearn highspy piqp qpsolvers cplex gurobipy liblinear libsvm skglm rehline"
    code = "import sys\nfrom marginbench.harness.cli import main\nmain(['list', 'compat'])\n"
    code += f"print('LOADED', *(set({names.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rpartition("LOADED")[2].split() == []


def test_comments_are_read_with_the_lines_below():
    text = "a: 1  # one of x, y: first\n      # and more\nb:\n  c: '#no'  # yes\n  d: [1, 2]\n# foot\ne: true\n"
    assert options(text) == [
        Option("a", "1", "one of x, y: first and more"),
        Option("b.c", "'#no'", "yes"),
        Option("b.d", "[1, 2]", ""),
        Option("e", "true", ""),
    ]
    assert [option.values() for option in options(text)] == [["x", "y"], [], [], ["true", "false"]]


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("marginbench 0.")
    command = [sys.executable, "-m", "marginbench", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("marginbench 0.")
