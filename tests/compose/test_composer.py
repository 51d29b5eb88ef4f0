"""One configuration: the fast path comes to what Hydra composes, and a caller's own use of Hydra is left alone."""

import random
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir, version
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from marginbench.harness.compose import Composer, compose_cell
from marginbench.harness.config_files import CONF, names
from marginbench.harness.errors import InputError

COMPOSER = Composer("run")

VALUES = [
    *("problem.C=3", "problem.C=1e-3", "problem.C=inf", "problem.bias=free", "problem.weight=balanced", "seed=7"),
    *("budget.gap=1e-4", "limits.memory_mb=100", "fresh=true", "repeats=2", "repeat_below=null", "out='a b,c'"),
    *('out="it\'s"', "data=/some/where", "budget={gap:1e-2,seconds:3}", "problem.C=${seed}", "out=a:b"),
    *("dataset.n=12", "dataset.seed=${seed}", "solver.seed=3", "solver.tolerances=[1e-3,1e-4]", "formulation.delta=1"),
    *("+problem.extra=1", "+solver.extra=[a,'b c',{d:1}]", "++seed=4", "++budget.more.inside=true", "+extra.deep=x"),
    *("~problem.s", "~seed=0", "~budget.iterations", "~limits.seconds=60.0", "~solver.seed", "+dataset.note='x, y'"),
    *("dataset.format=csv", "dataset.positive=[1,2]", "solver.options={max_iter:5}", "out=", "problem.C=3=4", "no=1"),
]
GROUPS = ("dataset", "formulation", "solver", "method", "experiment", "reference")


def random_overrides(rng: random.Random) -> list[str]:
    groups = rng.sample(GROUPS, rng.randint(0, 3))
    chosen = [f"{group}={rng.choice(names(group, [CONF]))}" for group in groups]
    chosen += rng.choices(["~method", "~experiment", "+reference=none", "dataset=wine"], k=rng.random() < 0.15)
    given = chosen + rng.sample(VALUES, rng.randint(0, 4))
    rng.shuffle(given)
    return given


def by_hydra(overrides: list[str]):
    """Hydra's own answer; None where it refuses."""
    try:
        return OmegaConf.to_container(compose("run", overrides), resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException):
        return None


def by_us(overrides: list[str]):
    try:
        return {key: value for key, value in COMPOSER.config(overrides).items() if key != "choices"}
    except InputError:
        return None


def test_every_experiment_is_what_hydra_composes():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        for name in names("experiment", [CONF]):
            theirs = by_hydra([f"experiment={name}"])
            assert theirs is not None
            assert by_us([f"experiment={name}"]) == theirs


@pytest.mark.long
def test_random_overrides_come_to_what_hydra_composes():
    rng = random.Random(0)
    refused = 0
    with initialize_config_dir(str(CONF), version_base="1.3"):
        for _ in range(200):
            overrides = random_overrides(rng)
            theirs = by_hydra(overrides)
            assert by_us(overrides) == theirs, overrides
            refused += theirs is None
    assert 20 < refused < 140  # both kinds are tried


def test_a_notebooks_own_hydra_is_left_as_it_was(tmp_path):
    (tmp_path / "theirs.yaml").write_text("a: 1\nname: ${hydra:job.name}\n")
    with initialize_config_dir(str(tmp_path), job_name="notebook", version_base="1.2"):
        instance, hydra = GlobalHydra.instance(), GlobalHydra.instance().hydra
        config = compose_cell(["dataset=wine", "method=pegasos", "problem.C=10"])
        assert (config["problem"]["C"], config["choices"]["solver"]) == (10, "pegasos")
        with pytest.raises(InputError):
            compose_cell(["dataset=none_such"])
        assert GlobalHydra.instance() is instance
        assert instance.hydra is hydra
        assert str(version.getbase()) == "1.2"
        theirs = compose("theirs", return_hydra_config=True)
        assert (theirs.a, theirs.hydra.job.name) == (1, "notebook")
    compose_cell()
    assert not GlobalHydra.instance().is_initialized()


def test_another_hydra_of_the_process_does_not_see_the_users_folder(tmp_path):
    (tmp_path / "mine" / "solver").mkdir(parents=True)
    Composer("run", tmp_path / "mine")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        sources = [source.path for source in GlobalHydra.instance().config_loader().get_sources()]
    assert not [path for path in sources if "mine" in path]


@pytest.fixture
def folder(tmp_path) -> Path:
    for group in ("solver", "experiment", "method", "dataset"):
        (tmp_path / group).mkdir()
    return tmp_path


def test_the_users_folder_comes_first(folder):
    (folder / "dataset" / "wine.yaml").write_text("_target_: mine.wine\nage: 3\n")
    (folder / "solver" / "quick.yaml").write_text("_target_: solvers.pegasos.Pegasos\nbatch: 7\n")
    (folder / "experiment" / "own.yaml").write_text(
        "# @package _global_\ndefaults:\n  - comparison\n  - override /solver: quick\n  - _self_\nsolver:\n  batch: 8\n"
    )
    composer = Composer("run", folder)
    assert composer.config(["dataset=wine"])["dataset"] == {"_target_": "mine.wine", "age": 3}
    assert composer.config(["solver=quick", "solver.batch=9"])["solver"]["batch"] == 9
    own = composer.config(["experiment=own"])
    assert (own["solver"]["batch"], own["budget"]["gap"]) == (8, 1e-6)
    assert composer.config(["experiment=own", "solver=pegasos"])["solver"]["batch"] == 8
    assert composer.part("dataset", "digits")["positive"] == 8


BAD_FILES = [
    ("problem: {C: 2}\n", "its first line has to be `# @package _global_`"),
    ("# @package _global_\nproblem: {C: '${nothing}'}\n", "problem.C: Interpolation key 'nothing' not found"),
    ("# @package _global_\nout: ${oc.env:NO_SUCH_VARIABLE}\n", "Environment variable 'NO_SUCH_VARIABLE' not found"),
    ("# @package _global_\nproblem:\n  t: ???\n", "problem.t: a value is needed, as in problem.t=..."),
    ("# @package _global_\nproblem: [1\n", "own.yaml"),
    ("# @package _global_\n- 1\n", "needs keys with values"),
    ("# @package _global_\ndefaults:\n  - override /solver: none_such\n", "none_such"),
    ("# @package _global_\ndefaults:\n  - nowhere\n", "nowhere"),
    ("# @package _global_\nhydra: {run: {dir: x}}\n", "hydra.run has no meaning here"),
    ("# @package _global_\ndefaults:\n  - override /hydra/launcher: basic\n", "hydra/launcher has no meaning here"),
    ("# @package _global_\nhydra: {sweeper: {max_batch_size: 2}}\n", "hydra.sweeper.max_batch_size has no meaning"),
]


@pytest.mark.parametrize(("text", "said"), BAD_FILES, ids=[said for _, said in BAD_FILES])
def test_a_wrong_file_of_the_users_own_is_one_line(folder, text, said):
    (folder / "experiment" / "own.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        Composer("run", folder).config(["experiment=own"])
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("dataset=[wine,digits]", "to run several, write dataset=wine,digits"),
        ("dataset=wine,digits", "one value is needed here, not a list"),
        ("+problem.C=3", "problem.C exists already; to set it, write problem.C=3"),
        ("~problem.D", "there is no option 'problem.D'; problem has C, bias"),
        ("~problem.C=7", "problem.C is 1.0, not 7"),
        ("problem.C.x=1", "problem.C has no parts"),
        ("solver@other=sdca", "solver@other=sdca: "),
        ("problem.C=nothing(3)", "problem.C=nothing(3): "),
        ("dataset={n: 3", "cannot be read"),
    ],
)
def test_wrong_overrides_are_one_line(given, said):
    with pytest.raises(InputError) as error:
        COMPOSER.config([given])
    assert said in str(error.value)
    assert "\n" not in str(error.value)
