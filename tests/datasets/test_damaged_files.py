"""Damaged files of every format give data, or one line that begins with their name. Seeded."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from file_contents import mat, npy, npz, parquet, sparse_npz
from sample_data import put

from marginbench.datasets import files
from marginbench.datasets.check import check

MUTATIONS = 3000

X = np.round(np.random.default_rng(0).standard_normal((6, 3)), 2)
y = np.arange(6) % 2
COLOURS = ["red", "blue", "red", "green", "blue", "red"]
CSV = "class;a;b;colour\n" + "".join(f"{k};{r[0]};{r[1]};{c}\n" for k, r, c in zip(y, X, COLOURS, strict=True))
LIBSVM = "".join(f"{k} 1:{r[0]} 3:{r[2]} # note\n" for k, r in zip(y, X, strict=True))
ARFF = "@relation r\n@attribute a numeric\n@attribute c {red,blue,green}\n@attribute class {0,1}\n@data\n"
ARFF += "".join(f"{r[0]},{c},{k}\n" for k, r, c in zip(y, X, COLOURS, strict=True))

CONTENTS = {
    "a.libsvm": LIBSVM.encode(),
    "a.csv": CSV.encode(),
    "a.arff": ARFF.encode(),
    "a.npz": npz(X=X, y=y),
    "sparse.npz": sparse_npz(sp.csr_array(X), y=y),
    "X.npy": npy(X),
    "a.mat": mat(X=X, y=y),
    "plain.mat": mat(False, X=sp.csc_matrix(X), y=y),
    "a.parquet": parquet({"class": y, "a": X[:, 0], "c": COLOURS}),
}

PIECES = [
    b"",
    b"\0",
    b"\xff\xff\xff\xff",
    b"-1",
    b"nan",
    b"1e999",
    b",",
    b";",
    b"\n",
    b'"',
    b"(",
    b"9" * 30,
    b"'",
    b"{",
]


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes: a byte, a bit, a piece put in or in the place of others, a cut, a part twice."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(data) + 1))
        to = at + int(rng.integers(0, 9))
        kind = rng.integers(0, 6)
        if kind == 0 and at < len(data):
            data[at] = rng.integers(0, 256)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2:
            data[at:to] = PIECES[rng.integers(0, len(PIECES))]
        elif kind == 3:
            data[at:at] = PIECES[rng.integers(0, len(PIECES))]
        elif kind == 4:
            data[at:at] = data[at:to]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", CONTENTS)
def test_damage_gives_data_or_one_line(tmp_path, monkeypatch, name):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(list(name.encode()))
    (tmp_path / "y.npy").write_bytes(npy(y))
    path = put(tmp_path, CONTENTS[name], name)
    files.file(path)
    read, said = 0, []
    for _ in range(MUTATIONS):
        put(tmp_path, mutated(CONTENTS[name], rng), name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                check(*files.file(path, largest_mb=16), name)
            read += 1
        except ValueError as error:
            said.append(str(error))
    assert read > 20
    assert len(said) > 100
    assert not [line for line in said if not line.startswith(path) or len(line.splitlines()) != 1]
