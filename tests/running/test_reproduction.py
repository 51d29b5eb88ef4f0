"""`reproduce` runs stored cells again and compares; a stranger's folder makes it execute and open nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from marginbench.harness.cli import main
from marginbench.harness.errors import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store
from marginbench.harness.running.reproduction import Loaded, Means, OwnSolver, again, cell_again

pytestmark = pytest.mark.long

RUN = ["dataset=overlapping", "dataset.n=60", "dataset.d=4", "method=coordinate_descent", "budget.seconds=5"]

CD = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"
OWN = """from dataclasses import dataclass
import numpy as np
from marginbench import BoxDual, Iterate, Solver


@dataclass(frozen=True)
class Mine(Solver):
    start: float = 0.5
    seed: int = 0
    accepts = (BoxDual,)

    def iterates(self, program):
        yield Iterate(np.full(program.n, self.start), None, "inaccurate")
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("then")
    assert main(["run", *RUN, f"out={out}"]) == 0
    return next(out.glob("run/2*"))


def local(group: str, name: str):
    """A small installation."""
    return {
        ("solver", "coordinate_descent"): {
            "_target_": CD,
            "seed": 0,
        },
        ("formulation", "dual_qp"): {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        ("dataset", "overlapping"): {"_target_": "marginbench.datasets.generators.overlapping", "n": 1000, "d": 20},
        ("dataset", "file"): {"_target_": "marginbench.datasets.files.file", "path": "unnamed", "labels": None},
    }.get((group, name))


MEANS = Means(local, {"seconds": 60.0, "memory_mb": 4096})


def reproduce(folder: Path, tmp_path: Path, *words: str) -> int:
    return main(["reproduce", str(folder), *words, "--out", str(tmp_path / "now")])


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_the_same_cells_give_the_same_verdicts_and_the_folder_stays_as_it_is(run_folder, tmp_path, capsys):
    before = tree(run_folder)
    assert reproduce(run_folder, tmp_path) == 0
    said = capsys.readouterr().out
    assert "verdicts: 1 of 1 hold" in said
    assert "values: 1 of 1 hold" in said
    assert "other code" not in said
    assert tree(run_folder) == before


def test_a_forged_a_damaged_and_a_strange_record_do_not_stop_the_others(run_folder, tmp_path, capsys):
    good = Store(run_folder).records()[0]
    store = Store(tmp_path / "then")
    store.put(good)
    store.put(replace(good, hash="1" * 24, status="wrong", repeat=1))
    store.put(replace(good, hash="2" * 24, cell=good.cell | {"budget": {"seconds": -1}}))
    store.put(replace(good, hash="3" * 24, cell=good.cell | {"problem": {"C": "x", "magic": 7}}))
    store.put(
        replace(good, hash="4" * 24, code={**good.code, "solvers/coordinate_descent/solver.py": "0" * 12}, repeat=2)
    )
    (store.cells / f"{'5' * 24}.json").write_bytes(b"spoilt")
    before = tree(tmp_path / "then")
    assert reproduce(tmp_path / "then", tmp_path) == 1
    said = capsys.readouterr().out
    assert "verdicts: 2 of 6 hold, 1 does not, 2 cannot be tested here, 1 unreadable" in said
    assert "was wrong, is solved" in said
    assert "budget.seconds=-1: needs a number above 0" in said
    assert "unreadable: 555555555555555555555555.json: cut short, or not a record" in said
    assert "other code now: solvers/coordinate_descent/solver.py changed (1 of the cells)" in said
    assert tree(tmp_path / "then") == before


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A run with a data file and a solver of the user's own."""
    here = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    for name in ("toy.csv", "other.csv"):
        y = np.where(np.arange(30) % 2, 1, -1)
        np.savetxt(here / name, np.column_stack([y, rng.normal(size=(30, 2)) + y[:, None]]), delimiter=",")
    (here / "rp_mine.py").write_text(OWN)
    words = [f"solver={here}/rp_mine.py:Mine", "solver.start=0.25", "formulation=dual_qp", "dataset=file"]
    words += [f"dataset.path={here}/toy.csv", "dataset.labels=0", "dataset.header=false"]
    assert main(["run", *words, "budget.gap=0.99", f"out={here}/out"]) == 0
    return here


class TestOwnFiles:
    def test_a_run_on_an_own_file_with_an_own_solver_is_reproduced(self, own, tmp_path, capsys):
        (folder,) = (own / "out" / "run").glob("2*")
        (tmp_path / "files").mkdir()
        shutil.copy(own / "toy.csv", tmp_path / "files" / "toy.csv")
        assert reproduce(folder, tmp_path) == 1
        assert "there is no solver 'rp_mine.py:Mine' in this installation: give its file" in capsys.readouterr().out
        mine = f"{own}/rp_mine.py:Mine"
        assert reproduce(folder, tmp_path, mine) == 1
        assert "give it as toy=FILE" in capsys.readouterr().out
        assert reproduce(folder, tmp_path, mine, f"toy={own}/other.csv") == 1
        assert "other.csv holds other data here" in capsys.readouterr().out
        for words in ([f"toy={tmp_path}/files/toy.csv"], [f"data={tmp_path}/files"], ["MARGINBENCH_DATA"]):
            with pytest.MonkeyPatch.context() as patch:
                if words == ["MARGINBENCH_DATA"]:
                    patch.setenv("MARGINBENCH_DATA", f"{tmp_path}/files")
                    words = []
                assert reproduce(folder, tmp_path, mine, *words) == 0
        assert "verdicts: 1 of 1 hold" in capsys.readouterr().out
        assert reproduce(folder, tmp_path, "@rp_mine.py:Nobody", f"data={tmp_path}/files") == 2
        assert reproduce(folder, tmp_path, mine, "toy=nowhere.csv") == 2

    def test_a_changed_source_is_said(self, own, tmp_path, capsys):
        (folder,) = (own / "out" / "run").glob("2*")
        (own / "rp_mine.py").write_text(OWN + "\n# a word\n")
        assert reproduce(folder, tmp_path, f"{own}/rp_mine.py:Mine", f"data={own}") == 0
        assert "other code now: ./rp_mine.py changed" in capsys.readouterr().out


class TestStrangers:
    @pytest.fixture
    def record(self, run_folder) -> Record:
        return Store(run_folder).records()[0]

    def test_targets_are_those_of_this_installation_and_settings_are_plain(self, record):
        record.cell["solver"] = {"_target_": "os.system", "command": "touch owned", "seed": 7}
        record.cell["dataset"] |= {"_target_": "builtins.exec", "n": 50, "d": {"_target_": "os.abort"}}
        cell, _ = cell_again(record, MEANS)
        assert cell.solver == {"_target_": CD, "seed": 7}
        assert cell.dataset == {"_target_": "marginbench.datasets.generators.overlapping", "n": 50, "d": 20}

    def test_no_file_is_opened_that_the_user_did_not_name(self, record, tmp_path):
        record.dataset, record.cell["dataset"] = (
            "secrets",
            {"_target_": "datasets.files.file", "path": "/etc/passwd"},
        )
        with pytest.raises(InputError, match="give it as secrets=FILE"):
            cell_again(record, MEANS)
        with pytest.raises(InputError, match="give it as secrets=FILE"):
            cell_again(record, replace(MEANS, folders=[tmp_path]))
        assert cell_again(record, replace(MEANS, files={"secrets": "mine.csv"}))[0].dataset["path"] == "mine.csv"
        (tmp_path / "passwd").write_text("")
        cell, _ = cell_again(record, replace(MEANS, folders=[tmp_path]))
        assert cell.dataset["path"] == str(tmp_path / "passwd")  # the name, without its folders

    def test_limits_are_capped_by_the_readers_own(self, record):
        record.cell["limits"] = {"seconds": 10**6, "memory_mb": 100, "magic": 1}
        cell, capped = cell_again(record, MEANS)
        assert cell.limits == {"seconds": 60.0, "memory_mb": 100}
        assert capped == "limits.seconds=1e+06 then, at most 60 here"

    @pytest.mark.parametrize("n", [10**9, 10**400, -5, True])
    def test_data_without_end_are_refused_before_they_are_made(self, record, tmp_path, n):
        record.cell["dataset"]["n"] = n
        assert again(record, MEANS, Loaded(tmp_path)).reason

    def test_what_this_installation_lacks_is_named(self, record, tmp_path):
        record.solver = "../../evil"
        assert "there is no solver '../../evil' in this installation" in again(record, MEANS, Loaded(tmp_path)).reason

    def test_a_solver_that_the_user_names_is_found_by_what_the_record_calls_it(self, record):
        own = replace(MEANS, solvers=[OwnSolver("mine.py:Mine", {"_target_": "mine.Mine", "seed": "${seed}", "a": 1})])
        record.solver, record.seed = "mine.py:Mine", 5
        record.cell["solver"] = {"_target_": "evil.Evil", "a": 2}
        assert cell_again(record, own)[0].solver == {"_target_": "mine.Mine", "seed": 5, "a": 2}

    @pytest.mark.parametrize("nonsense", [None, 3, "text", [1], {}])
    def test_a_cell_of_nonsense_breaks_nothing(self, record, nonsense):
        for part in ("dataset", "solver", "formulation", "problem", "budget", "limits"):
            record.cell[part] = nonsense
        assert cell_again(record, MEANS)[0].dataset["n"] == 1000
