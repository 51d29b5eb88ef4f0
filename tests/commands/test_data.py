"""`marginbench data`: what is listed, fetched from a server on this machine, verified and removed."""

import bz2
import hashlib
import json

import numpy as np
import pytest
import yaml
from file_server import serving
from sample_data import CONFIGS

import marginbench as mb
from marginbench.datasets.catalogue import catalogue, find
from marginbench.harness.cli import main
from marginbench.harness.errors import InputError

SMALL = find("liver_disorders")


def libsvm(n, d, seed=0):
    """Text of n rows and d columns, with both labels."""
    X = np.random.default_rng(seed).standard_normal((n, d)).round(3)
    rows = (" ".join(f"{j + 1}:{v:g}" for j, v in enumerate(x)) for x in X)
    return "".join(f"{1 if i % 2 else 0} {row}\n" for i, row in enumerate(rows)).encode()


@pytest.fixture
def site():
    """With one data set and its test file, and one whose checksum the catalogue knows."""
    with serving() as made:
        made.files["/binary/liver-disorders"] = libsvm(145, 5)
        made.files["/binary/liver-disorders.t"] = libsvm(200, 5, 1)
        made.files["/binary/mushrooms"] = libsvm(8124, 1)
        made.files["/binary/duke.xz"] = b"never asked for: .bz2 is there"
        made.files["/binary/duke.bz2"] = bz2.compress(libsvm(44, 3))
        made.files["/binary/kdd12.bz2"] = bz2.compress(b"+1 1:1\n")
        yield made


def data(site, tmp_path, *words):
    flags = ["--from", f"{site.address}/binary"] if words[0] == "fetch" else []
    return main(["data", *words, f"data={tmp_path / 'data'}", *flags])


def test_every_data_set_of_the_catalogue_has_a_configuration_that_reads_its_file():
    configured = {}
    for path in CONFIGS.glob("*.yaml"):
        config = yaml.safe_load(path.read_text())
        if config["_target_"].endswith(".field_set"):
            configured[path.stem] = (config["name"], config["path"])
    assert configured == {e.name: (e.name, "${data}/" + e.train.file) for e in catalogue().values()}


def test_the_list_names_sizes_licence_and_what_is_here(site, tmp_path, capsys):
    data(site, tmp_path, "fetch", "liver_disorders", "--test")
    capsys.readouterr()
    assert data(site, tmp_path, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line.split() for line in lines if line.startswith("liver_disorders ")]
    assert row[:4] == ["liver_disorders", "145", "5", "200"]
    assert row[6:8] == ["liver-disorders.libsvm,", "liver-disorders.t.libsvm"]
    (row,) = [line for line in lines if line.startswith("a9a ")]
    assert row.split() == ["a9a", "32561", "123", "451592", "16281", "CC", "BY", "4.0", "(UCI)"]
    assert main(["data", "covtype"]) == 0
    said = capsys.readouterr().out
    assert "581012 rows, 54 columns, 6940438 non-zeros" in said
    assert "/binary/covtype.libsvm.binary.scale.bz2" in said
    assert "b32d3b5d6a190d8d087aad66ab83e6c7d0a99ab3ac0a18c3ac75925f4faee2bc" in said


def test_a_fetched_set_can_be_loaded_verified_and_removed(site, tmp_path, capsys, monkeypatch):
    assert data(site, tmp_path, "fetch", "liver-disorders", "duke") == 0  # by the site's name, too
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert said[0] == f"liver_disorders: {tmp_path}/data/liver-disorders.libsvm, {_size(tmp_path, 'liver-disorders')}"
    monkeypatch.setenv("MARGINBENCH_DATA", str(tmp_path / "data"))
    assert mb.load("liver_disorders")[0].shape == (145, 5)
    assert mb.load("duke")[0].shape == (44, 7129)
    with pytest.raises(InputError, match="`marginbench data fetch liver_disorders --test data="):
        mb.load("liver_disorders", preprocess={"test": "published"})
    assert data(site, tmp_path, "fetch", "liver_disorders", "--test") == 0
    assert mb.load("liver_disorders", preprocess={"test": "published"}, part="test")[0].shape == (200, 5)
    capsys.readouterr()
    assert data(site, tmp_path, "verify") == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["good"] * 3
    path = tmp_path / "data" / "liver-disorders.libsvm"
    path.write_bytes(path.read_bytes().replace(b"1:", b"2:", 1))
    assert data(site, tmp_path, "verify", "liver_disorders") == 1
    assert "BAD: liver_disorders: " in capsys.readouterr().out
    assert data(site, tmp_path, "remove", "liver_disorders", "duke") == 0
    assert list((tmp_path / "data").iterdir()) == []


def _size(tmp_path, stem):
    return f"{(tmp_path / 'data' / f'{stem}.libsvm').stat().st_size / 1000:.3g} kB"


def test_what_is_there_is_not_fetched_and_what_the_user_put_there_is_not_removed(site, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    own = tmp_path / "data" / "liver-disorders.bz2"
    own.write_bytes(bz2.compress(libsvm(145, 5)))
    assert data(site, tmp_path, "fetch", "liver_disorders", "--test") == 0
    assert [path for path, _ in site.asked] == ["/binary/liver-disorders.t"]
    assert ", was there" in capsys.readouterr().out
    assert data(site, tmp_path, "verify") == 0
    assert "unknown: liver_disorders" in capsys.readouterr().out
    assert data(site, tmp_path, "remove", "liver_disorders") == 0
    assert [path.name for path in (tmp_path / "data").iterdir()] == [own.name]


def test_a_file_that_is_packed_in_another_way_now_is_found(site, tmp_path, capsys):
    assert data(site, tmp_path, "fetch", "kdd12") == 0
    assert [path for path, _ in site.asked] == ["/binary/kdd12.xz", "/binary/kdd12.bz2"]
    assert "kdd12.libsvm.bz2" in capsys.readouterr().out


def test_a_checksum_of_the_catalogue_is_compared_before_a_file_is_kept(site, tmp_path, capsys):
    assert data(site, tmp_path, "fetch", "mushrooms") == 1
    found = hashlib.sha256(site.files["/binary/mushrooms"]).hexdigest()
    error = capsys.readouterr().err
    assert f"has the sha256 {found}, expected was e90a2a0f8ac10615" in error
    assert error.count("\n") == 1
    assert list((tmp_path / "data").iterdir()) == []


def test_a_file_of_other_sizes_than_the_catalogues_is_refused(site, tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_DATA", str(tmp_path))
    (tmp_path / "liver-disorders").write_bytes(libsvm(144, 5))
    with pytest.raises(InputError, match="has 144 rows, but liver_disorders has 145: it is cut off, or another file"):
        mb.load("liver_disorders")
    (tmp_path / "liver-disorders").write_bytes(libsvm(145, 6))
    with pytest.raises(InputError, match=r"index 6, but dataset\.d=5"):
        mb.load("liver_disorders")
    (tmp_path / "liver-disorders").write_bytes(libsvm(145, 4))
    assert mb.load("liver_disorders")[0].shape == (145, 5)  # a last column without an entry


BAD = [
    (["covtypes"], "there is no data set 'covtypes' in the catalogue; near it are covtype"),
    (["fetch", "rvc1"], "there is no data set 'rvc1' in the catalogue; near it are rcv1"),
    (["fetch"], "data fetch: which data set?"),
    (["remove"], "data remove: which data set?"),
    (["fetch", "a9a", "dat=x"], "dat=x: the only option here is data=DIR"),
    (["fetch", "a9a", "data="], "data=: the only option here is data=DIR"),
    (["fetch", "a9a", "--from", "nowhere"], "--from nowhere: is no address; need https://HOST/..."),
    (["fetch", "mushrooms", "--test"], "data fetch mushrooms --test: no test file is published with it"),
    (["verify", "--allow", "x"], "data verify: --allow goes with `data fetch`"),
    (["verify", "a9a"], "data verify a9a: no file of it in data"),
    (["openml-0"], "there is no data set 'openml-0'"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[" ".join(given) for given, _ in BAD])
def test_bad_words_are_answered_in_one_line(tmp_path, monkeypatch, capsys, given, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MARGINBENCH_DATA", raising=False)
    assert main(["data", *given]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_run_without_the_file_says_which_command_fetches_it(tmp_path, capsys):
    assert main(["run", "dataset=rcv1", f"data={tmp_path}", f"out={tmp_path}/out"]) == 2
    error = capsys.readouterr().err
    assert f"`marginbench data fetch rcv1 data={tmp_path}` gets it from https://www.csie.ntu.edu.tw/" in error
    assert error.count("\n") == 1


def test_a_run_fetches_what_it_needs_only_when_it_is_told_to(site, tmp_path, capsys):
    asked = ["run", "dataset=liver_disorders", "method=auto", f"data={tmp_path}/data", f"out={tmp_path}/out"]
    assert main(asked) == 2
    assert site.asked == []
    mirror = f"fetch={site.address}/binary"
    assert main([*asked, mirror, "preprocess.test=published"]) == 0
    assert [path for path, _ in site.asked] == ["/binary/liver-disorders", "/binary/liver-disorders.t"]
    assert main([*asked, mirror]) == 0
    assert main(asked) == 0
    assert len(site.asked) == 2
    capsys.readouterr()
    for given, said in (("7", "possible are true, false, and the address of a mirror"), ("sure", "is no address")):
        assert main([*asked, f"fetch={given}"]) == 2
        assert said in capsys.readouterr().err


# -- OpenML --------------------------------------------------------------------------------------------------------

ARFF = b"""@relation made
@attribute row numeric
@attribute width numeric
@attribute colour {red,green}
@attribute kind {good,bad,ugly}
@data
1,0.5,red,good
2,1.5,green,bad
3,-2.5,red,ugly
4,3.5,green,good
"""


@pytest.fixture
def openml():
    with serving() as made:
        said = {"id": "7", "name": "made", "format": "ARFF", "default_target_attribute": "kind", "licence": "Public"}
        said |= {"row_id_attribute": "row", "md5_checksum": hashlib.md5(ARFF).hexdigest()}
        said |= {"url": f"{made.address}/download/made.arff"}
        made.files["/json/data/7"] = json.dumps({"data_set_description": said}).encode()
        made.files["/download/made.arff"] = ARFF
        yield made


def fetch_openml(site, folder, name="openml-7", *more):
    return main(["data", "fetch", name, f"data={folder}", "--from", f"{site.address}/json/data", *more])


def test_a_set_of_openml_is_fetched_by_its_number_and_read_as_its_description_says(openml, tmp_path, monkeypatch):
    assert fetch_openml(openml, tmp_path) == 0
    monkeypatch.setenv("MARGINBENCH_DATA", str(tmp_path))
    X, y = mb.load("openml", id=7, positive="good", layout="dense")
    assert X.tolist() == [[0.5, 0, 1], [1.5, 1, 0], [-2.5, 0, 1], [3.5, 1, 0]]  # green, red; no row numbers
    assert y.tolist() == [1, -1, -1, 1]
    X, y = mb.load("openml", id=7, positive="good", negative="ugly", layout="dense")
    assert X[:, 0].tolist() == [0.5, -2.5, 3.5]
    with pytest.raises(InputError, match="labels bad, good, ugly: need exactly two classes"):
        mb.load("openml", id=7)
    with pytest.raises(InputError, match=r"`marginbench data fetch openml-8 data=.*` gets it from https://www\.openml"):
        mb.load("openml", id=8)
    with pytest.raises(InputError, match=r"dataset\.id=null: need the number of a data set at openml\.org"):
        mb.load("openml")
    assert main(["data", "verify", "openml-7", f"data={tmp_path}"]) == 0
    assert main(["data", "remove", "openml-7", f"data={tmp_path}"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_openml_s_own_checksum_decides_and_its_answers_are_not_trusted(openml, tmp_path, capsys):
    openml.files["/download/made.arff"] = ARFF + b"5,1,red,bad\n"
    assert fetch_openml(openml, tmp_path) == 1
    assert "has the md5" in capsys.readouterr().err
    openml.files["/json/data/8"] = b'["no description"]'
    assert fetch_openml(openml, tmp_path, "openml-8") == 1
    assert "OpenML's answer is no description of a data set" in capsys.readouterr().err
    said = {"data_set_description": {"url": "https://elsewhere.invalid/made.arff"}}
    openml.files["/json/data/9"] = json.dumps(said).encode()
    assert fetch_openml(openml, tmp_path, "openml-9") == 1
    assert "elsewhere.invalid is not among the listed hosts" in capsys.readouterr().err
    assert fetch_openml(openml, tmp_path, "openml-10") == 1
    assert "/json/data/10: the server says 404 Not Found" in capsys.readouterr().err
    assert fetch_openml(openml, tmp_path, "openml-9", "--parquet") == 1
    assert "OpenML names no parquet file of it" in capsys.readouterr().err
