"""Chunks hold whole problems, weigh about the same, and come back from disk as they were written."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import StoreError
from marginbench.harness.running.chunk_log import ChunkLog, log_file, read_log
from marginbench.harness.running.chunks import (
    chunk_file,
    chunk_numbers,
    in_turns,
    packed,
    read_chunk,
    read_settings,
    write_chunks,
)
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.runner import Settings


def planned(problem: str, method: str, repeat: int = 0, seconds: float = 1.0, C: float = 1.0) -> Planned:
    cell = Cell({}, {"C": C}, {}, {}, "", "", method, limits={"seconds": seconds, "memory_mb": 1.0}, repeat=repeat)
    data = Data(Path("d" * 64), "d" * 64)
    key = f"{problem}{method}{repeat}"
    return Planned(cell, data, problem, key, f"{problem}{method}0", {"a.py": problem}, {"numpy": "2"})


ALL = [planned(p, m, r, seconds=len(p)) for p in ("x", "yy", "zzz", "wwww") for m in "ab" for r in range(3)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_no_problem_is_split_and_no_cell_is_lost(count):
    chunks = packed(ALL, count, seed=0)
    assert len(chunks) == min(count, 4)
    assert sorted(one.key for chunk in chunks for one in chunk) == sorted(one.key for one in ALL)
    where = [{one.problem for one in chunk} for chunk in chunks]
    assert sum(map(len, where)) == 4


def test_the_longest_problems_are_spread():
    weights = sorted(sum(one.cell.limits["seconds"] for one in chunk) for chunk in packed(ALL, 2, seed=0))
    assert weights == [30.0, 30.0]


def test_repeats_take_turns_in_every_chunk():
    for chunk in packed(ALL, 2, seed=0):
        turns = [one.cell.repeat for one in chunk]
        assert turns == sorted(turns)
    assert [one.key for one in in_turns(ALL, 0)] != [one.key for one in in_turns(ALL, 1)]


def test_a_chunk_comes_back_as_it_was_written(tmp_path):
    cells = [planned("p", "a", C=math.inf), planned("q", "b")]
    settings = Settings(reference={"soft": 1}, repeat_below=math.inf, jobs=3, path=("/a",), environment={"K": "v"})
    write_chunks(tmp_path, [cells, []], settings)
    assert chunk_numbers(tmp_path) == [0, 1]
    assert read_settings(tmp_path) == settings
    for one, entry in zip(cells, read_chunk(tmp_path, 0), strict=True):
        assert (one.cell, one.key, one.first, one.code, one.versions) == (
            entry.cell,
            entry.key,
            entry.first,
            entry.code,
            entry.versions,
        )


def test_a_damaged_chunk_is_named(tmp_path):
    write_chunks(tmp_path, [[planned("p", "a")]], Settings())
    chunk_file(tmp_path, 0).write_text("{")
    with pytest.raises(StoreError, match=r"0\.json"):
        read_chunk(tmp_path, 0)


def test_a_log_counts_starts_that_were_not_stopped_and_knows_what_runs(tmp_path):
    assert read_log(tmp_path, 0).running is None
    log = ChunkLog(tmp_path, 0)
    one, two = planned("p", "a"), planned("p", "b")
    log.start(one)
    log.start(two)
    log.say("stop", two.key)
    log.start(one)
    told = read_log(tmp_path, 0)
    assert (told.starts[one.key], told.starts[two.key]) == (2, 0)
    assert told.running.key == one.key
    assert told.worker["pid"]
    with open(log_file(tmp_path, 0), "a") as file:
        file.write('{"start": \n[1]\n"x"\n{"nothing": 1}\n')
    assert read_log(tmp_path, 0).starts[one.key] == 2
    log.say("refused", "other versions")
    log.close()
    told = read_log(tmp_path, 0)
    assert (told.refused, told.running) == ("other versions", None)


def test_a_path_is_one_piece_in_which_every_cell_comes_after_the_one_it_begins_from():
    path, cells = [0.1, 1.0, 10.0, 100.0], []
    for method in "ab":
        for C in path:
            for start in ("cold", "warm")[: 1 if path[0] == C else 2]:
                one = planned(f"p{C}", f"{method}{start}", C=C)
                cell = replace(one.cell, path=path, start=start)
                last = path[cell.position - 1]
                before = f"p{last}{method}{'cold' if last == path[0] else 'warm'}0" if start == "warm" else ""
                cells.append(replace(one, cell=cell, before=before))
    for seed in range(20):
        (chunk,) = packed(cells, 4, seed)
        keys = [one.key for one in chunk]
        assert sorted(keys) == sorted(one.key for one in cells)
        assert all(keys.index(one.before) < k for k, one in enumerate(chunk) if one.before)
    resumed = [one for one in cells if one.cell.start == "warm" and one.cell.problem["C"] > 1.0]
    assert len(in_turns(resumed, 0)) == len(resumed)  # what they begin from is there already
