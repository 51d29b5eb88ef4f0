"""newton_streaming: rows on disk, read in blocks, to the same optimum as Newton's method in memory."""

import importlib.util
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from dask_workers import dask_cluster

from marginbench.datasets.digest import digest
from marginbench.datasets.generators import one_hot, overlapping
from marginbench.datasets.mapped import open_data, spill
from marginbench.harness.cell.certificate import certify
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.model.problem import InputError, Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.pages import on_disk
from marginbench.harness.rowops import Gathered, Team, rows_of, run_of, runs
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.stream import search
from marginbench.solvers.newton.streaming import NewtonStreaming

SMALL = NewtonStreaming(block_mb=0.1, working_mb=0.2)
"""Many blocks, and a working set that holds a tenth of the rows below."""


def mapped(tmp_path, layout: str, **about) -> Problem:
    X, y = overlapping(12_000, 15, 2.0, 0) if layout == "dense" else one_hot(12_000, 30, 5, 0.3, 0.5, 0)
    X, y = open_data(spill(X, y, digest(X, y), tmp_path), touched=False)
    assert on_disk(X)
    return Problem(X, y, **about)


def solved(solver, problem: Problem, gap: float = 1e-10):
    program = DualQP().program(problem, BoxDual)
    assert solver.refuses(program) is None
    for count, iterate in enumerate(solver.iterates(program)):
        if iterate.info["gap"] <= gap or iterate.claim or count > 60:
            break
    return certify(problem, DualQP().point(problem, program, iterate)), iterate


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_rows_on_disk_give_the_optimum_of_rows_in_memory(tmp_path, layout, bias, C):
    problem = mapped(tmp_path, layout, bias=bias, C=C)
    found, iterate = solved(SMALL, problem)
    other, _ = solved(NewtonAugmented(), problem)
    assert found.gap <= 1e-9
    assert abs(found.primal - other.primal) <= 1e-9 * other.primal
    assert iterate.info["working_rows"] < problem.n


@pytest.mark.parametrize("weight", [None, "some"])
def test_other_losses_and_weights_are_solved_too(tmp_path, weight):
    weight = None if weight is None else np.random.default_rng(0).uniform(0.5, 2.0, 12_000)
    loss = "squared_hinge" if weight is None else "hinge"
    found, _ = solved(SMALL, mapped(tmp_path, "dense", bias="free", loss=loss, weight=weight))
    assert found.gap <= 1e-9


def test_a_round_reads_the_rows_once(tmp_path):
    """Between two iterates there is one read, unless a round is undone or fewer than 2 d rows are near the margin."""
    problem = mapped(tmp_path, "dense", bias="none")
    program = DualQP().program(problem, BoxDual)
    reads = [iterate.info["reads"] for _, iterate in zip(range(4), SMALL.iterates(program), strict=False)]
    assert Counter(np.diff(reads))[1] >= 2
    assert reads[0] <= 12


def test_threads_share_a_block_out(tmp_path):
    problem = mapped(tmp_path, "dense", bias="free")
    program = DualQP().program(problem, BoxDual)
    wide = NewtonStreaming(block_mb=16.0, working_mb=0.2)
    with Team(2) as team:
        team.parts = lambda cost, passes=1: 2
        stream = wide.stream(program, team)
        stream.start()
        gap, scale = next(stream.rounds())
    alone = wide.stream(program, Team())
    alone.start()
    assert (gap, scale) == pytest.approx(next(alone.rounds()), rel=1e-6)


def test_the_line_search_finds_the_zero_of_the_derivative():
    rng = np.random.default_rng(0)
    n, h = 500, 0.1
    m, dm, upper = rng.normal(size=n), rng.normal(size=n), np.ones(n)

    def derivative(s: float) -> float:
        p = np.clip((1.0 - m - s * dm) / h, 0.0, 1.0)
        return 0.3 * s - float(p @ dm) + rest

    rest = 0.0
    rest = -40.0 - derivative(0.0)
    s = search(m, dm, np.zeros(n), upper, upper, h, 0.0, -40.0, 0.3)
    assert 0.0 < s < np.inf
    assert abs(derivative(s)) <= 0.2 * 40.0


@pytest.mark.parametrize("layout", [np.array, sp.csr_array])
def test_blocks_put_together_are_the_rows(layout):
    X = layout(np.random.default_rng(0).normal(size=(50, 4)))
    rows = rows_of(X)
    gathered = Gathered(rows, 50 * 4 * 16)
    cut = runs(rows, 50, size=7 * 4 * 8)
    assert cut[0][0] == 0
    assert cut[-1][1] == 50
    for start, end in cut:
        gathered.add(run_of(rows, start, end))
    for one, other in zip(gathered.taken(), rows, strict=True):
        np.testing.assert_array_equal(one, other)
    few = Gathered(rows, 100)
    few.add(rows)
    assert few.overfull


def test_what_it_cannot_solve_it_refuses_in_words(tmp_path):
    problem = mapped(tmp_path, "dense", bias="none", C=1.0)
    program = DualQP().program(problem, BoxDual)
    assert "needs d up to solver.direct=10; d = 15: use newton_augmented" in NewtonStreaming(direct=10).refuses(program)
    hard = BoxDual(program.X, program.y, np.full(program.n, np.inf), program.curvature)
    assert NewtonStreaming().refuses(hard) == "newton_streaming has no hard margin: use newton_augmented"
    with pytest.raises(InputError, match=r"solver.working_mb=0: needs a number of MB above 0"):
        NewtonStreaming(working_mb=0)


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed")
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_rows_on_two_dask_workers_give_the_same_iterates_and_survive_the_loss_of_one(tmp_path, layout):
    problem = mapped(tmp_path, layout, bias="free")
    here, _ = solved(SMALL, problem)
    with dask_cluster(tmp_path) as (address, workers):
        remote = NewtonStreaming(block_mb=0.1, working_mb=0.2, scheduler=address)
        program = DualQP().program(problem, BoxDual)
        local = next(iter(SMALL.iterates(program)))
        first = np.array(local.x)
        for count, iterate in enumerate(remote.iterates(program)):
            if count == 0:
                np.testing.assert_allclose(iterate.x, first, atol=1e-9)
                workers[0].kill()
            if iterate.info["gap"] <= 1e-10 or count > 60:
                break
        there = certify(problem, DualQP().point(problem, program, iterate))
    assert there.gap <= 1e-9
    assert abs(there.primal - here.primal) <= 1e-9 * here.primal
