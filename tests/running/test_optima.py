"""The stored references prove themselves from the data; a changed digit is caught."""

import json
import shutil

import numpy as np
import pytest

from marginbench.harness.cli import main
from marginbench.harness.model.problem import problem_key
from marginbench.harness.references.library import STORED, Entry, Library, entries
from marginbench.harness.running.optima import check_all, make_all

SMALL = Entry(
    "small",
    {"_target_": "marginbench.datasets.generators.overlapping", "n": 40, "d": 3, "distance": 2.0, "seed": 9},
    {"C": 1.0, "bias": "free"},
)
METHODS = {
    "soft": {
        "formulation": {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        "solver": {"_target_": "marginbench.solvers.newton.augmented.NewtonAugmented"},
    },
    "second": {
        "soft": {
            "formulation": {"_target_": "marginbench.harness.formulations.primal_qp.PrimalQP"},
            "solver": {"_target_": "marginbench.solvers.clarabel_qp.ClarabelQp"},
        }
    },
    "budget": {"seconds": 10.0, "gap": 1e-11},
}


def test_every_stored_reference_is_proven_again_from_the_data():
    proofs = list(check_all(entries(), Library([STORED])))
    assert len(proofs) >= 80
    assert not [str(proof) for proof in proofs if proof.reference is None]
    for proof in proofs:
        assert proof.reference.bounds.width <= 1e-12, str(proof)
    names = " ".join(proof.name for proof in proofs)
    for word in ("inf", "squared_hinge", "balanced", "gaussian_kernel", "augmented", "0.001", "1000.0"):
        assert word in names


def test_known_values_are_found_again():
    """Of public data that need not be here: the values are stored under the data's digest."""
    values = {json.loads(path.read_text())["lower"]["decimal"][:9] for path in STORED.glob("*.json")}
    for value in ("96.498277", "121.13472", "92.473374", "200.49999", "11433.807", "13742.397"):
        assert any(stored.startswith(value) for stored in values), value


def test_a_new_reference_is_made_by_two_methods_and_found_by_its_key(tmp_path):
    library = Library([tmp_path])
    (proof,) = make_all([SMALL], METHODS, tmp_path, library)
    assert proof.reference.bounds.width <= 1e-12
    problem, digest = SMALL.build()
    known = library.bounds(problem_key(problem, digest))
    assert known.source == "stored"
    assert known.lower <= problem.primal(known.point.w, known.point.b)
    assert not list(make_all([SMALL], METHODS, tmp_path, library))
    assert all(proof.reference for proof in check_all([SMALL], library))


@pytest.mark.parametrize("part", ["lower", "upper", "digest", "arrays"])
def test_a_changed_digit_is_caught(tmp_path, part):
    entry = next(entries())
    problem, digest = entry.build()
    key = problem_key(problem, digest)
    for path in STORED.glob(f"{key}*"):
        shutil.copy(path, tmp_path)
    path = tmp_path / f"{key}.json"
    said = json.loads(path.read_text())
    if part == "arrays":
        path = next(tmp_path.glob("*.npz"))
        with np.load(path) as stored:
            arrays = dict(stored)
        arrays["w"][0] = np.nextafter(arrays["w"][0], np.inf)
        np.savez_compressed(path, **arrays)
    elif part == "digest":
        path.write_text(path.read_text().replace(said["digest"][20:30], "0123456789"))
    else:
        digits = said[part]["decimal"]
        path.write_text(path.read_text().replace(digits, digits[:-1] + ("1" if digits[-1] != "1" else "2")))
    (proof,) = check_all([entry], Library([tmp_path]))
    assert proof.reference is None
    assert proof.failure


def test_the_verb_checks_by_name_and_refuses_unknown_names(capsys):
    assert main(["reference", "--check", "overlapping-1.0-free", "wine-inf-free"]) == 0
    assert "2 of 2 proven" in capsys.readouterr().out
    assert main(["reference", "--check", "nonsense"]) == 2
    assert "possible are" in capsys.readouterr().err
