"""Passes in parts: the same sums, the same bits for the same number of threads, and no thread that is not asked for."""

import itertools
import os
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from marginbench.harness.rowops import ALONE, Team, combine, margins, parallel, part_of, pass_cost, rows_of, take


@pytest.fixture(autouse=True)
def every_pass_is_worth_it(monkeypatch):
    monkeypatch.setattr(parallel, "WORTH", 0)


def some_rows(sparse, n=101, d=7):
    rng = np.random.default_rng(3)
    X, y, w = (
        rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5),
        np.where(rng.random(n) < 0.5, 1.0, -1.0),
        rng.random(d),
    )
    return rows_of(sp.csr_array(X) if sparse else X), y, w, rng.random(n)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_team_computes_what_one_thread_does(sparse, threads):
    rows, y, w, alpha = some_rows(sparse)
    m, expected = np.empty(y.size), np.empty(y.size)
    margins(rows, y, w, 0.5, expected)
    total = w.copy()
    balance = combine(rows, y, alpha, total)
    index = np.array([5, 99, 0, 7, 7, 31])
    with Team(threads) as team:
        team.margins(rows, y, w, 0.5, m)
        np.testing.assert_array_equal(m, expected)  # each margin is computed in one thread
        sums = [w.copy(), w.copy()]
        balances = [team.combine(rows, y, alpha, out) for out in sums]
        for mine, theirs in zip(team.take(rows, index), take(rows, index), strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert not mine.flags.writeable
    np.testing.assert_allclose(sums[0], total, rtol=1e-13)
    assert balances[0] == pytest.approx(balance, rel=1e-13)
    assert balances[0] == balances[1]
    assert (sums[0] == sums[1]).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_team_copies_numbers_from_and_to_any_place(threads):
    rng = np.random.default_rng(4)
    values, index = rng.random(101), rng.permutation(101)[:40]
    with Team(threads) as team:
        np.testing.assert_array_equal(team.gather(values, index), values[index])
        np.testing.assert_array_equal(team.copy(values), values)
        out, expected = np.zeros(101), np.zeros(101)
        team.scatter(values[:40], index, out)
    expected[index] = values[:40]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_parts_are_all_rows_once(parts):
    for n in (0, 1, 5, 100):
        ends = [part_of(n, parts, k) for k in range(parts)]
        assert ends[0][0] == 0
        assert ends[-1][1] == n
        assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
        assert max(end - start for start, end in ends) <= n // parts + 1


def test_threads_start_with_the_first_pass_that_is_worth_it_and_end_with_the_team(monkeypatch):
    rows, y, w, _ = some_rows(False)
    before, m = threading.active_count(), np.empty(y.size)
    with Team(3) as team:
        monkeypatch.setattr(parallel, "WORTH", 1.01 * pass_cost(rows))
        team.margins(rows, y, w, 0.0, m)
        assert threading.active_count() == before
        monkeypatch.setattr(parallel, "WORTH", pass_cost(rows))
        team.margins(rows, y, w, 0.0, m)
        assert threading.active_count() == before + 2
    assert threading.active_count() == before


def test_what_no_sum_goes_over_is_done_piece_by_piece_each_row_once():
    times, pieces = np.zeros(1000, int), []

    def count(start, end):
        pieces.append((start, end))
        times[start:end] += 1

    for threads in (1, 3):
        with Team(threads) as team:
            team.spread(1000, 1.0, count)
        assert (times == 1).all()
        assert len(pieces) == (1 if threads == 1 else threads * parallel.PIECES)
        times[:] = 0
        pieces.clear()


def blas_threads():
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]


def test_libraries_keep_to_one_thread_while_a_team_has_others():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with Team(2) as team:
            assert blas_threads() == before
            assert {*itertools.chain(*team.each(2, lambda part: blas_threads()))} == {1}
        assert blas_threads() == before


def test_teams_that_overlap_leave_the_libraries_as_the_first_found_them():
    with threadpool_limits(2, user_api="blas"):
        before, first, second = blas_threads(), Team(2), Team(2)
        with first:
            first.each(2, lambda part: part)
            second.__enter__()
            second.each(2, lambda part: part)
        assert {*blas_threads()} == {1}  # the second is at work
        second.__exit__()
        assert blas_threads() == before


def test_an_error_in_any_part_is_raised_and_the_team_goes_on():
    def fails_in(bad):
        def do(part):
            if part == bad:
                raise MemoryError(f"part {part}")
            return part

        return do

    with Team(3) as team:
        for bad in range(3):
            with pytest.raises(MemoryError, match=f"part {bad}"):
                team.each(3, fails_in(bad))
        assert team.each(3, lambda part: part) == [0, 1, 2]


def test_one_thread_alone_has_one_part_whatever_the_size():
    assert ALONE.parts(10**12) == 1
    assert Team(4).parts(10**12) == 4


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_threads_confined_to_as_many_cores_stay_on_one_each():
    allowed = os.sched_getaffinity(0)
    two = set(sorted(allowed)[-2:])
    os.sched_setaffinity(0, two)
    try:
        with Team(2) as team:
            first, second = team.each(2, lambda _: os.sched_getaffinity(0))
            assert len(first) == len(second) == 1
            assert first | second == two
        assert os.sched_getaffinity(0) == two
        with Team(1) as team:
            assert team.each(1, lambda _: os.sched_getaffinity(0)) == [two]
    finally:
        os.sched_setaffinity(0, allowed)
