"""Time to accuracy: paths and ladders, failures that never win, ratios, the best peer; and the named data sets."""

import lzma
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from sample_records import HOSTILE, OPTIMUM, a_run, failure, hostile_run, solved

from marginbench.datasets import files
from marginbench.harness.cli import main
from marginbench.harness.compose import Composer
from marginbench.harness.compose.cells import cells_of
from marginbench.harness.compose.grid import expand
from marginbench.harness.config_files import CONF
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.reporting import frontier, report, tables
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.frontier import ACCURACIES, BEST, frontiers, reached

FRONTIER_COLUMNS = "dataset,n,d,nnz,C,bias,loss,method,kind,accuracy,seconds,passes,problem,title\n"
OWN = {"solver": {"_target_": "marginbench.solvers.mine.Mine"}, "formulation": {"_target_": "x"}}


def run(method: str, curve: list[tuple], problem: str = "p", peer: bool = False, **changes) -> Record:
    """A record whose curve is the given (seconds, gap) or (seconds, gap, primal)."""
    versions = {"marginbench.solvers.mine": "abc"} | ({"library": "1.0"} if peer else {})
    names = ("seconds", "gap", "primal")
    entries = [{"iteration": k + 1} | dict(zip(names, point, strict=False)) for k, point in enumerate(curve)]
    given = {"curve": entries, "versions": versions, "cell": OWN, "build_seconds": 0.0, "hash": f"{method}-{problem}"}
    given["info"] = {"baseline": method == "auto"}
    return solved(method, problem, **given | changes)


def at(r: Record) -> list[float]:
    known = Comparison.of([r]).bounds[r.problem]
    return [reached(r, accuracy, known) for accuracy in ACCURACIES]


def the_frontier(records: list[Record]):
    (found,) = frontiers(Comparison.of(records))
    return found


def pair(found, accuracy: float, a: str, b: str):
    (one,) = [p for p in found.pairs[ACCURACIES.index(accuracy)] if (p.ratio.a, p.ratio.b) == (a, b)]
    return one


# -- one run -------------------------------------------------------------------------------------------------------


def test_a_path_is_there_at_its_first_iterate_within_the_accuracy_and_building_is_billed():
    path = run("m", [(0.1, 0.5), (0.2, 9e-3), (0.3, 2e-2), (0.4, 1e-4), (0.9, 1e-6)], build_seconds=1.0)
    assert at(path) == pytest.approx([1.2, 1.4, 1.9, math.inf])


def test_a_ladder_is_there_with_its_fastest_rung():
    ladder = run("m", [(0.5, 1e-4), (0.3, 5e-4), (2.0, 1e-7), (1.5, 1e-10)], info={"restarts": True})
    assert at(ladder) == pytest.approx([0.3, 0.3, 1.5, 1.5])


@pytest.mark.parametrize("status", ["wrong", "invalid", "failed", "crashed", "memory", "skipped", "infeasible"])
def test_a_failure_reaches_nothing_whatever_its_curve_says(status):
    assert at(run("m", [(1e-6, 0.0)], status=status)) == [math.inf] * 4


@pytest.mark.parametrize("status", ["inaccurate", "timeout"])
def test_short_of_what_was_asked_is_still_as_far_as_it_came(status):
    assert at(run("m", [(0.1, 1e-5)], status=status)) == pytest.approx([0.1, 0.1, math.inf, math.inf])


def test_a_gap_below_zero_is_a_contradiction_and_no_win():
    assert at(run("m", [(0.1, -1e-3), (0.2, None), (0.3, 0.0)])) == pytest.approx([0.3] * 4)


def test_a_peer_may_be_right_without_a_proof_and_an_own_solver_may_not():
    curve = [(0.1, 0.3, OPTIMUM * (1 + 1e-7))]
    known = Comparison.of([run("m", [])], {"p": Bounds(OPTIMUM, OPTIMUM, "stored")}).bounds["p"]
    assert reached(run("m", curve, peer=True), 1e-6, known) == pytest.approx(0.1)
    assert reached(run("m", curve), 1e-6, known) == math.inf


# -- methods against each other --------------------------------------------------------------------------------------


def test_ratios_are_geometric_means_over_the_problems_that_both_reach():
    seconds = {"auto": (1.0, 1.0, 1.0), "slow": (2.0, 8.0, None)}
    records = [
        run(m, [(t, 1e-7)] if t else [(0.001, 1e-2)], f"p{k}", peer=m == "slow")
        for m, times in seconds.items()
        for k, t in enumerate(times)
    ]
    found = the_frontier(records)
    assert (found.base, found.methods, found.peers) == ("auto", ["auto", "slow", BEST], {"slow"})
    one = pair(found, 1e-6, "slow", "auto")
    assert (one.ratio.ratio, one.least) == pytest.approx((4.0, 2.0))
    assert (one.ratio.both, one.ratio.only_a, one.ratio.only_b) == (2, 0, 1)
    assert (one.first, one.close, one.contested) == (3, 0, 3)
    assert one.where == found.tasks[0].title
    back = pair(found, 1e-6, "auto", "slow")
    assert back.ratio.ratio == pytest.approx(0.25)
    assert (back.first, back.contested) == (0, 3)
    loose = pair(found, 1e-2, "slow", "auto")
    assert loose.least == pytest.approx(0.001)
    assert loose.ratio.ratio == pytest.approx((2 * 8 * 0.001) ** (1 / 3))
    assert found.reached(2, "slow") == (2, 3)
    assert pair(found, 1e-9, "slow", "auto").ratio.ratio is None


def test_the_best_peer_is_on_each_problem_the_fastest_library_and_never_an_own_solver():
    times = {"auto": (1.0, 1.0), "other": (0.1, 0.1), "lib_a": (3.0, 9.0), "lib_b": (6.0, 5.0)}
    records = [
        run(m, [(t, 1e-12)], f"p{k}", peer=m.startswith("lib")) for m, ts in times.items() for k, t in enumerate(ts)
    ]
    found = the_frontier(records)
    assert found.seconds[2, :, found.methods.index(BEST)].tolist() == [3.0, 5.0]
    assert pair(found, 1e-6, BEST, "auto").ratio.ratio == pytest.approx(math.sqrt(15.0))


def test_a_problem_that_a_method_never_ran_on_says_nothing_about_it():
    records = [run("auto", [(1.0, 1e-12)], f"p{k}") for k in range(3)]
    records += [run("lib", [(2.0, 1e-12)], "p0", peer=True), run("lib", [(2.0, 0.5)], "p1", peer=True)]
    records += [failure("skipped", "lib", "p2", versions={}), failure("not_installed", "absent", "p0", versions={})]
    found = the_frontier(records)
    one = pair(found, 1e-6, "lib", "auto")
    assert (one.ratio.both, one.ratio.only_a, one.ratio.only_b, one.contested) == (1, 0, 1, 2)
    assert found.reached(2, "lib") == (1, 2)
    assert found.methods == ["auto", "lib", BEST]
    assert pair(found, 1e-6, BEST, "auto").contested == 2


def test_a_run_that_was_given_more_time_stands_for_those_that_were_given_less():
    """LIBLINEAR stopped after 10 s twice, and there after 300 s: the median of the three would be never."""

    def given(method: str, curve: list[tuple], seconds: float, repeat: int, gap: float = 1e-9) -> Record:
        limits = {"budget": {"seconds": seconds, "gap": gap}, "limits": {"seconds": seconds}}
        status, last = ("solved", curve[-1][1]) if curve else ("timeout", None)
        key = {"hash": f"{method}{seconds}-{repeat}", "repeat": repeat}
        return run(method, curve, cell=OWN | limits, status=status, gap=last, **key)

    short = [given("slow", [], 10.0, 0), given("slow", [], 10.0, 1), given("fast", [(0.1, 1e-10)], 10.0, 0)]
    assert the_frontier(short).reached(2, "slow") == (0, 1)
    found = the_frontier([*short, given("slow", [(300.0, 1e-10)], 400.0, 0)])
    assert found.reached(2, "slow") == (1, 1)
    assert pair(found, 1e-6, "slow", "fast").ratio.ratio == pytest.approx(3000.0)
    looser = the_frontier([*short, given("fast", [(0.2, 1e-6)], 400.0, 0, gap=1e-6)])
    assert looser.seconds[2:, 0, looser.methods.index("fast")] == pytest.approx([0.2, 0.1])  # 1e-9: not asked of it


def test_repeats_give_medians_intervals_and_the_noise_floor():
    rng = np.random.default_rng(0)
    records = [
        run(m, [(base * rng.uniform(0.95, 1.05), 1e-12)], f"p{p}", peer="lib" in m, repeat=k, hash=f"{m}{p}{k}")
        for m, base in (("auto", 1.0), ("lib", 1.01), ("slow", 3.0), ("slow_lib", 2.0))
        for p in range(4)
        for k in range(5)
    ]
    found = the_frontier(records)
    one = pair(found, 1e-6, "slow", "auto")
    assert one.ratio.low < 3.0 < one.ratio.high < 1.1 * one.ratio.low
    assert pair(found, 1e-6, BEST, "auto").ratio.low == pytest.approx(pair(found, 1e-6, "lib", "auto").ratio.low)
    assert 1.0 < found.floors[2] < 1.11
    level = pair(found, 1e-6, "auto", "lib")
    assert level.first + level.close == level.contested == 4  # slower by less than the noise
    assert level.close > 0
    one_of_five = [replace(r, curve=[]) if r.repeat > 1 and r.method == "auto" else r for r in records]
    assert not np.isfinite(the_frontier(one_of_five).seconds[2, :, 0]).any()


def test_a_cell_without_repeats_has_the_noise_of_those_with_them():
    rng = np.random.default_rng(1)
    cheap = [
        run(m, [(base * math.exp(rng.normal(0.0, 0.1)), 1e-12)], f"p{p}", repeat=k, hash=f"{m}{p}{k}")
        for m, base in (("auto", 1.0), ("slow", 3.0))
        for p in range(4)
        for k in range(20)
    ]
    dear = [run(m, [(base, 1e-12)], "dear") for m, base in (("auto", 10.0), ("slow", 30.0))]
    one = pair(the_frontier(cheap + dear), 1e-6, "slow", "auto").ratio
    assert one.low < 3.0 < one.high
    # Medians of 20 runs are good to 0.03, the two of one run to 0.1 each, and the mean is over five problems.
    assert 0.5 < math.log(one.high / one.low) / (2 * 1.96 * math.sqrt(2) * math.hypot(0.1, 2 * 0.03) / 5) < 2.0
    alone = pair(the_frontier(dear), 1e-6, "slow", "auto").ratio
    assert (alone.ratio, alone.low, alone.high) == (pytest.approx(3.0), None, None)


def test_without_auto_the_base_is_the_own_method_that_arrives_most_often():
    records = [run(m, [(t, gap)]) for m, t, gap in (("fast", 0.1, 1e-4), ("sure", 0.5, 1e-9), ("late", 0.6, 1e-9))]
    records.append(run("lib", [(0.01, 1e-12)], peer=True))
    assert the_frontier(records).base == "sure"
    assert the_frontier([*records, run("auto", [(9.0, 1e-2)])]).base == "auto"


def test_passes_use_one_unit_for_all_methods_of_a_problem():
    records = [run(m, [(1.0, 1e-12)], pass_seconds=u) for m, u in (("a", 0.1), ("b", 0.2), ("c", 0.4))]
    assert the_frontier(records).passes[2].tolist() == [[5.0, 5.0, 5.0]]


# -- tables and page -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [[], [failure("failed")], [failure("skipped", "s"), failure("crashed", "c")]])
def test_nothing_reached_is_no_frontier_and_no_error(records):
    assert frontiers(Comparison.of(records)) == []
    assert tables.csv(frontier.frame([])) == FRONTIER_COLUMNS
    assert frontier.markdown([]) == ""
    assert 'data-frontier="' not in report.page(records, tables.table(records), "t", "c")


def test_the_table_has_a_row_for_every_problem_method_and_accuracy(tmp_path):
    records = [run("auto", [(1.0, 1e-7)]), run("lib", [(2.0, 1e-4)], peer=True)]
    report.write(records, tmp_path, "t", "c")
    frame = tables.pd.read_csv(tmp_path / "frontier.csv")
    assert len(frame) == 4 * 3
    by = frame.set_index(["method", "accuracy"])["seconds"]
    assert by["auto", 1e-6] == 1.0
    assert by["lib", 1e-6] == math.inf == by["auto", 1e-9]
    assert set(frame[frame["kind"] == "peer"]["method"]) == {"lib", BEST}
    text = (tmp_path / "frontier.md").read_text()
    assert "| 1.0e-3 | auto | 1 / 1 | 1 |" in text
    assert "|  | lib | 1 / 1 | 2 |  | 2 (overlapping, C = 1, bias none) | 1 / 1 |  |" in text


def test_the_page_shows_it_and_no_name_becomes_code():
    for records in (a_run(3), hostile_run()):
        html = report.page(records, tables.table(records), "t", "c")
        assert 'data-frontier="0"' in html
        assert html.count("<script") == 2
        assert html == report.page(records[::-1], tables.table(records), "t", "c")
    line = frontier.markdown(frontiers(Comparison.of(hostile_run()))).splitlines()[-1]
    assert HOSTILE.split("|")[0] not in line
    assert "\x1b" not in line


# -- configurations --------------------------------------------------------------------------------------------------

NAMED = {
    path.stem: config
    for path in sorted((CONF / "dataset").glob("*.yaml"))
    if (config := yaml.safe_load(path.read_text()))["_target_"].endswith("datasets.files.file") and path.stem != "file"
}


@pytest.mark.parametrize("name", NAMED)
def test_every_named_data_set_is_found_in_the_folder_that_data_names(name, tmp_path):
    assert list(NAMED[name]) == list(yaml.safe_load((CONF / "dataset" / "file.yaml").read_text()))
    file = tmp_path / f"{Path(NAMED[name]['path']).name}.libsvm.xz"
    file.write_bytes(lzma.compress(b"+1 1:1 2:3\n-1 1:2\n+1 2:5\n"))
    config = Composer("run").config([f"dataset={name}", f"data={tmp_path}"])
    (cell,) = cells_of(config)
    assert cell.dataset_name == name
    X, y = files.file(**{k: v for k, v in config["dataset"].items() if k != "_target_"})
    assert X.shape == (3, 2)
    assert y.tolist() == [1, -1, 1]


def test_a_missing_file_is_named_in_one_line_with_the_way_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_DATA", str(tmp_path / "nowhere"))
    assert main(["run", "dataset=a9a", f"out={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert f"dataset=a9a: dataset.path={tmp_path}/nowhere/a9a: no such file" in said
    assert "data=DIR" in said


def test_a_file_is_found_without_its_ending_and_an_exact_name_comes_first(tmp_path):
    (tmp_path / "made.svm").write_text("1 1:1\n-1 1:2\n")
    (tmp_path / "made.csv").write_text("1,5\n-1,6\n1,7\n")
    (tmp_path / "plain").write_text("1 1:1\n-1 1:2\n1 1:3\n-1 1:4\n")
    assert files.file(str(tmp_path / "made"))[0].shape[0] == 2
    assert files.file(str(tmp_path / "made"), format="csv")[0].shape[0] == 3
    assert files.file(str(tmp_path / "plain"), format="libsvm")[0].shape[0] == 4
    (tmp_path / "plain.libsvm").write_text("1 1:1\n-1 1:2\n")
    assert files.file(str(tmp_path / "plain"), format="libsvm")[0].shape[0] == 4


def test_standard_scale_makes_a_file_dense_with_mean_0_and_variance_1(tmp_path):
    path = tmp_path / "made.svm"
    path.write_text("".join(f"{(-1) ** k} {k % 7 + 1}:{k} 9:3\n" for k in range(70)))
    X, _ = files.file(str(path), scale="standard")
    assert isinstance(X, np.ndarray)
    assert X.shape == (70, 9)
    assert X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert X.var(axis=0) == pytest.approx([1.0] * 7 + [0.0] * 2)
    for options in ({"scale": "max"}, {"scale": "standard", "layout": "csr"}):
        with pytest.raises(ValueError, match=r"dataset\.scale=.*possible are none, and standard"):
            files.file(str(path), **options)


@pytest.mark.parametrize("name", ["frontier", "frontier_short"])
def test_the_experiments_compose_and_name_only_what_exists(name):
    sweep = yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text())["hydra"]["sweeper"]["params"]
    composer, chosen = Composer("run"), {key: str(value).split(",") for key, value in sweep.items()}
    assert set(chosen["dataset"]) <= set(composer.names("dataset"))
    assert {"auto", "liblinear", "libsvm", "rehline"} <= set(chosen["method"]) <= set(composer.names("method"))
    assert chosen["problem.C"] == ["0.01", "1", "100"]
    assert chosen["problem.bias"] == ["none", "free"]
    narrowed = [f"{key}={values[0]}" for key, values in chosen.items() if key != "method"]
    cells = expand(composer, [f"experiment={name}", *narrowed]).configs()
    assert [c["choices"]["method"] for c in cells] == chosen["method"]
    assert all(c["budget"]["gap"] == 1e-9 for c in cells)
    if name == "frontier_short":
        assert not set(chosen["dataset"]) & set(NAMED)
