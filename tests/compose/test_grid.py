"""Sweeps: which cells a command line or an experiment asks for."""

from pathlib import Path

import pytest

from marginbench.harness.compose import Composer
from marginbench.harness.compose.data import value_at
from marginbench.harness.compose.grid import expand
from marginbench.harness.errors import InputError

COMPOSER = Composer("run")


def cells(*overrides: str, composer: Composer = COMPOSER):
    return [cell for run in expand(composer, overrides).runs for cell in run.cells]


def values(key: str, *overrides: str, composer: Composer = COMPOSER):
    """For each cell the choice or the value under `key`."""
    found = cells(*overrides, composer=composer)
    return [cell.choices[key] if key in cell.choices else value_at(cell.config, key) for cell in found]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("problem.C=0.1,1", [0.1, 1]),
        ("problem.C=choice(0.1,1)", [0.1, 1]),
        ("problem.C=range(1,4)", [1, 2, 3]),
        ("problem.C=range(1,0,step=-0.5)", [1.0, 0.5]),
        ("problem.C=sort(3,1,2)", [1, 2, 3]),
        ("problem.C=sort(3,1,2,reverse=true)", [3, 2, 1]),
        ("+problem.C2=1,2", [1.0, 1.0]),
        ("hydra.sweeper.params.problem.C=1,2", [1, 2]),
        ("+hydra.sweeper.params.problem.C=1,2", [1, 2]),
        ("problem.C=7", [7]),
    ],
)
def test_lists_of_hydra(given, expected):
    assert values("problem.C", given) == expected


def test_glob_is_over_the_choices_of_a_group():
    assert values("dataset", "dataset=glob(ov*)") == ["overlapping", "overlapping_large", "overlapping_on_disk"]
    assert values("dataset", "dataset=glob(ov*,exclude=*large)") == ["overlapping", "overlapping_on_disk"]
    assert len(cells("method=glob(*)")) == len(COMPOSER.names("method"))


def test_the_product_of_all_lists_is_run_and_a_later_list_replaces_an_earlier_one():
    found = cells("dataset=wine,digits", "problem.C=1,2,3", "problem.C=5,6")
    assert [(c.choices["dataset"], c.config["problem"]["C"]) for c in found] == [
        ("wine", 5),
        ("wine", 6),
        ("digits", 5),
        ("digits", 6),
    ]


def test_zipped_lists_go_step_by_step_beside_products():
    found = cells("zip(problem.C=1,2,3; budget.gap=1e-3,1e-4,1e-5)", "dataset=wine,digits")
    steps = [(c.config["problem"]["C"], c.config["budget"]["gap"], c.choices["dataset"]) for c in found]
    assert steps == [(C, gap, d) for C, gap in ((1, 1e-3), (2, 1e-4), (3, 1e-5)) for d in ("wine", "digits")]
    assert values("out", "zip(out='a;b','a;b'; seed=1,2)") == ["a;b", "a;b"]
    assert values("seed", "zip(method=pegasos,auto; seed=range(3,5))") == [3, 4]


def test_a_conditional_list_holds_for_one_choice_only():
    found = cells("method=pegasos,liblinear", "when(method=pegasos; solver.batch=1,4; seed=1,2)")
    pairs = [(c.choices["method"], c.config["solver"].get("batch"), c.config["seed"]) for c in found]
    assert pairs == [*(("pegasos", b, s) for b in (1, 4) for s in (1, 2)), ("liblinear", None, 0)]
    assert values("problem.C", "problem.bias=none,free", "when(problem.bias=free; problem.C=5,6)") == [1.0, 5, 6]
    assert len(cells("method=glob(*)", "when(method=pegasos,sdca; seed=1,2)")) == len(COMPOSER.names("method")) + 2


def test_an_option_that_only_some_choices_have_is_set_where_it_exists(tmp_path):
    grid = expand(COMPOSER, ["method=pegasos,auto", "solver.batch=1,4"])
    assert [c.config["solver"].get("batch") for c in grid.runs[0].cells] == [1, 4, None]
    assert grid.notes == ["solver.batch: not an option of solver=auto; left out there"]
    assert values("dataset.path", "dataset=breast_cancer,file", "dataset.path=x.csv") == [None, "x.csv"]
    assert [len(run.cells) for run in expand(COMPOSER, ["dataset=wine,overlapping", "~dataset.seed"]).runs] == [2]


def test_each_experiment_has_its_own_grid_and_settings():
    grid = expand(COMPOSER, ["experiment=novikoff,overhead", "limits.seconds=3"])
    assert [(run.name, len(run.cells)) for run in grid.runs] == [("novikoff", 36), ("overhead", 10)]
    novikoff, overhead = (run.configs() for run in grid.runs)
    assert {c["repeats"] for c in novikoff} == {1}
    assert {c["repeats"] for c in overhead} == {20}
    assert {c["choices"]["solver"] for c in overhead} == {"idle"}
    assert overhead[0]["reference"] is None
    assert {c["limits"]["seconds"] for c in (*novikoff, *overhead)} == {3}


def test_the_command_line_replaces_an_experiments_lists():
    assert len(cells("experiment=comparison")) == 40
    assert values("dataset", "experiment=comparison", "dataset=wine", "method=pegasos") == ["wine"]
    assert len(cells("experiment=comparison", "~hydra.sweeper.params.dataset")) == 10
    found = cells("experiment=qp_backends", "method=auto")  # a method stands for a formulation and a solver
    assert {(c.choices["formulation"], c.choices["solver"]) for c in found} == {("dual_qp", "auto")}


def test_an_experiment_of_ones_own_may_zip_and_have_conditions(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\n"
        "hydra:\n  sweeper:\n    params:\n"
        "      zip: problem.C=1,2; budget.gap=1e-3,1e-4\n"
        "      zip_2: dataset.n=10,20; dataset.d=2,3\n"
        "      method: pegasos,auto\n"
        "      when: method=pegasos; solver.batch=1,4\n"
    )
    own = Composer("run", tmp_path)
    assert len(cells("experiment=mine", composer=own)) == 2 * 2 * 3
    assert len(cells("experiment=mine", "problem.C=9", composer=own)) == 2 * 2 * 3  # gap is still a list
    assert len(cells("experiment=mine", "problem.C=9", "budget.gap=1e-2", "seed=1,2", composer=own)) == 2 * 2 * 3


def test_a_solver_named_alone_gets_a_formulation_that_it_takes():
    grid = expand(COMPOSER, ["solver=pegasos,sdca,cvxpy_ecos,perceptron"])
    pairs = {cell.choices["solver"]: cell.choices["formulation"] for cell in grid.runs[0].cells}
    assert pairs["pegasos"] == "pegasos"
    assert pairs["sdca"] == "dual_qp"
    assert pairs["perceptron"] == "perceptron"
    assert "solver=pegasos: formulation=pegasos (it does not take the default, dual_qp)" in grid.notes
    assert not any("sdca" in note for note in grid.notes)
    own = expand(COMPOSER, ["solver=wrong_solvers.Right"]).runs[0].cells[0]
    assert own.choices["formulation"] == "regularised_sum"  # no method names it: the risk that `validate` tries first
    assert values("formulation", "solver=pegasos", "formulation=primal_qp") == ["primal_qp"]
    assert values("formulation", "solver=pegasos", "method=tikhonov") == ["tikhonov"]


def test_a_method_is_named_only_where_the_cell_is_its_pair():
    assert values("method", "method=pegasos", "solver=pegasos,subgradient") == ["pegasos", None]
    assert values("method", "solver=sdca,coordinate_descent") == [None, "coordinate_descent"]


BAD = [
    (["zip(problem.C=1,2; seed=1,2,3)"], "need the same length; problem.C has 2, seed has 3"),
    (["zip(problem.C=1,2)"], "needs two options or more with a semicolon between them"),
    (["zip(problem.C=1,2; nothing=1,2)"], "there is no option 'nothing'"),
    (["when(method=sdca; seed=1,2)", "method=auto"], "no cell of this sweep has method=sdca"),
    (["when(method=none_such; seed=1,2)"], "there is no method 'none_such'"),
    (["when(method=sdca)"], "needs two options or more"),
    (["problem.C=interval(1,2)"], "an interval is for an optimiser"),
    (["dataset=glob(zzz*)"], "nothing matches; possible are a1a"),
    (["problem.C=range(3,1)"], "the list is empty"),
    (["problem.C=range(3,1,0)"], "problem.C=range(3,1,0): "),
    (["method=pegasos,auto", "solver.nothing=1"], "there is no option 'solver.nothing'; solver has"),
    (["out=a,b"], "out: one value for the whole run; this sweep gives it 2"),
    (["reference=default,none"], "reference: one value for the whole run"),
    (["hydra.run.dir=x"], "results go below the folder out=DIR"),
    (["hydra/launcher=ray"], "possible are basic, joblib, submitit_local, submitit_slurm"),
    (["launcher.jobs=1,2"], "launcher: one value for the whole run"),
    (["hydra/sweeper=other"], "there is no other sweeper"),
    (["hydra.sweeper.max_batch_size=2"], "only params has a meaning here"),
    (["hydra.searchpath=[file://x]"], "--config-dir DIR"),
    (["hydra.verbose=true"], "uses Hydra to compose only"),
    (["~hydra.sweeper.params.none_such", "experiment=growth"], "the experiment has no such list; it has dataset"),
    (["dataset=wine,none_such"], "there is no dataset 'none_such'"),
    (["~solver"], "~solver: a run needs a solver"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[" ".join(given) for given, _ in BAD])
def test_what_cannot_be_is_one_line(given, said):
    with pytest.raises(InputError) as error:
        expand(COMPOSER, given).configs()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_solver_class_of_ones_own_stands_beside_configured_names(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    source = Path(__file__).resolve().parents[1] / "helpers" / "wrong_solvers.py"
    (tmp_path / "own_of_grid.py").write_text(source.read_text())
    name = f"{tmp_path}/own_of_grid.py:Right"
    found = cells(f"solver={name},sdca", "solver.seed=3", "problem.bias=none")
    assert [c.choices["solver"] for c in found] == [name, "sdca"]
    assert found[0].config["solver"] == {"_target_": "own_of_grid.Right", "seed": 3}
    assert values("solver", "solver=wrong_solvers.Right") == ["wrong_solvers.Right"]
    with pytest.raises(InputError, match=r"there is no option 'solver\.speed'; solver has seed"):
        cells(f"solver={name}", "solver.speed=3")
