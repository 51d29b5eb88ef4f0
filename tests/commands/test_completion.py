"""Tab completion: what is offered, and that a real bash gets it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from marginbench.harness.cli import VERBS, main
from marginbench.harness.commands.completion import answer
from marginbench.harness.config_files import CONF, names


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], sorted(VERBS)),
        (["va"], ["validate"]),
        (["run", "exp"], ["experiment="]),
        (["run", "dataset=dig"], ["dataset=digits"]),
        (["dataset=wine", "met"], ["method="]),
        (["run", "dataset=a9a,wi"], ["dataset=a9a,wide", "dataset=a9a,wine"]),
        (["run", "dataset=wine,wi"], ["dataset=wine,wide"]),
        (["run", "problem.bias="], ["problem.bias=augmented", "problem.bias=free", "problem.bias=none"]),
        (["run", "fresh=t"], ["fresh=true"]),
        (["run", "method=pegasos", "solver.b"], ["solver.batch="]),
        (["run", "solver=pegasos", "solver.average=u"], ["solver.average=uniform"]),
        (["run", "method=newton_smoothed_hinge", "formulation."], ["formulation.delta="]),
        (["run", "dataset=file", "dataset.p"], ["dataset.path=", "dataset.positive="]),
        (["run", "--cfg", ""], ["job"]),
        (["run", "--config-d"], ["--config-dir"]),
        (["list", "solver", "pega"], ["pegasos"]),
        (["list", "pa"], ["pairs"]),
        (["data", "fetch", "covt"], ["covtype", "covtype_raw"]),
        (["data", "ver"], ["verify"]),
        (["help", "rep"], ["report", "reproduce"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["report", ""], []),
        (["run", "nothing=x"], []),
    ],
)
def test_the_last_word_is_completed(words, expected):
    assert answer(words) == expected


def test_all_choices_and_those_of_ones_own_are_offered(tmp_path):
    assert answer(["run", "solver="]) == [f"solver={name}" for name in names("solver", [CONF])]
    (tmp_path / "solver").mkdir()
    (tmp_path / "solver" / "zz_mine.yaml").write_text("_target_: mine.Mine\nspeed: 3\n")
    assert answer(["run", "--config-dir", str(tmp_path), "solver=zz"]) == ["solver=zz_mine"]
    assert answer([f"-cd={tmp_path}", "run", "solver=zz_mine", "solver."]) == ["solver.speed="]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("marginbench ru", "run runs"),
        ("marginbench run dataset=dig", "digits"),
        ("marginbench run dataset=a9a,wi", "a9a,wide a9a,wine"),
        ("marginbench run method=pegasos solver.b", "solver.batch="),
        ("marginbench run dataset.path=/tm", ""),
    ],
)
def test_bash_offers_what_follows_its_word_break(line, offered, tmp_path):
    (tmp_path / "marginbench").write_text(f'#!/bin/sh\nexec {sys.executable} -m marginbench "$@"\n')
    (tmp_path / "marginbench").chmod(0o755)
    script = f"""
        source <(marginbench completion bash)
        complete -p marginbench >&2
        COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}
        _marginbench
        echo "${{COMPREPLY[*]}}"
    """
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=path, check=True, cwd=Path.cwd())
    assert "-F _marginbench marginbench" in done.stderr
    assert done.stdout.strip() == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_for_the_answer(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "completion answer -- " in capsys.readouterr().out


def test_an_unknown_shell_is_bad_input(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "possible is one of bash, zsh, fish" in capsys.readouterr().err
