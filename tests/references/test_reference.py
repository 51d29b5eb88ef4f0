"""Polishing to the last digits, and references that prove themselves from the data."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import InputError, Point, Problem, problem_key
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.polish import polish
from marginbench.harness.references.reference import Disproved, Reference, _checksum, load, make, prove, save

BIASES = ("none", "free", "augmented")
LOSSES = ("hinge", "squared_hinge")
DIGEST = "0123456789abcdef" * 4


def overlapping(bias: str = "free", seed: int = 0, n: int = 60, d: int = 4, sparse: bool = False, **more) -> Problem:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * rng.normal(size=d)
    return Problem(sp.csr_array(X) if sparse else X, y, bias=bias, **more)


def nothing(problem: Problem) -> Point:
    return Point(np.zeros(problem.d))


def polished(problem: Problem, point: Point | None = None) -> Bounds:
    return enclose(problem, polish(problem, nothing(problem) if point is None else point))


class TestPolish:
    """The start is the worst there is, w = 0 without multipliers; a solver's point is nearer."""

    @pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("bias", BIASES)
    def test_to_the_last_digits(self, bias, loss, C):
        assert polished(overlapping(bias, loss=loss, C=C)).width <= 1e-14

    @pytest.mark.parametrize("bias", BIASES)
    def test_dense_and_sparse_agree(self, bias):
        one, other = (polished(overlapping(bias, C=0.5, sparse=sparse)) for sparse in (False, True))
        assert max(one.lower, other.lower) <= min(one.upper, other.upper)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("bias", BIASES)
    def test_weights_over_six_decades(self, bias, loss):
        weight = 10.0 ** np.random.default_rng(1).uniform(-3.0, 3.0, size=60)
        assert polished(overlapping(bias, loss=loss, weight=weight)).width <= 1e-13

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("bias", BIASES)
    def test_repeated_rows_make_the_system_singular(self, bias, loss):
        once = overlapping(bias, n=15, loss=loss, C=4.0)
        problem = once.with_(X=np.tile(once.X, (4, 1)), y=np.tile(once.y, 4), C=1.0)
        one, other = polished(once), polished(problem)
        assert other.width <= 1e-13
        assert other.lower <= one.upper * (1 + 1e-15)
        assert one.lower <= other.upper * (1 + 1e-15)

    def test_digits_beyond_float64_are_needed(self):
        """Columns equal to five digits and C = 1e10: margins computed in float64 stop at a width of 1e-12."""
        rng = np.random.default_rng(0)
        B = rng.normal(size=(60, 4))
        y = np.where(np.arange(60) % 2, 1.0, -1.0)
        problem = Problem(B[:, :1] + 1e-5 * B, y, C=1e10, bias="none", loss="squared_hinge")
        assert polished(problem).width <= 1e-14

    @pytest.mark.parametrize("bias", BIASES)
    def test_multipliers_of_1e10(self, bias):
        assert polished(overlapping(bias, C=1e10)).width <= 1e-13

    def test_one_class_needs_only_the_bias(self):
        assert polished(Problem(np.eye(3), np.ones(3), bias="free")).upper <= 1e-15

    def test_rows_that_are_zero(self):
        problem = Problem(np.zeros((5, 2)), np.array([1.0, 1.0, -1.0, -1.0, -1.0]), C=3.0, bias="free")
        assert polished(problem) == Bounds(12.0, 12.0)

    def test_no_free_multiplier(self):
        """w = 0.2 and both alpha = C = 0.1: all b with |b| <= 0.8 are optimal, P* = 0.02 + 0.1 * 2 * 0.8."""
        problem = Problem(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), C=0.1, bias="free")
        proven = polished(problem)
        assert proven.lower <= 0.18 <= proven.upper + 1e-16
        assert proven.width <= 1e-15

    @pytest.mark.parametrize("bias", BIASES)
    def test_separable_data_with_a_large_C(self, bias):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(80, 5))
        y = np.where(X @ np.arange(1.0, 6.0) > 0, 1.0, -1.0)
        X += 0.1 * y[:, None] * np.arange(1.0, 6.0)
        soft, hard = (polished(Problem(X, y, C=C, bias=bias)) for C in (1e8, np.inf))
        assert soft.width <= 1e-13
        assert hard.width <= 1e-13
        assert max(soft.lower, hard.lower) <= min(soft.upper, hard.upper)

    @pytest.mark.parametrize("bias", BIASES)
    def test_wide_data(self, bias):
        rng = np.random.default_rng(3)
        problem = Problem(rng.normal(size=(20, 100)), np.where(np.arange(20) % 2, 1.0, -1.0), C=np.inf, bias=bias)
        assert polished(problem).width <= 1e-14

    @pytest.mark.parametrize("bias", BIASES)
    def test_no_hard_margin(self, bias):
        assert polished(overlapping(bias, C=np.inf)).infeasible

    def test_a_system_that_is_too_large_is_left_alone(self, monkeypatch):
        monkeypatch.setattr("marginbench.harness.references.polish.LARGEST_SYSTEM", -1)
        problem = overlapping(C=1.0)
        start = Point(np.zeros(4), 0.0, np.full(60, 0.5))
        assert polished(problem, start).upper == enclose(problem, start).upper

    def test_never_worse_than_what_was_given(self):
        problem = overlapping(C=1.0)
        best = polish(problem, nothing(problem))
        before, after = enclose(problem, best), polished(problem, best)
        assert after.lower >= before.lower
        assert after.upper <= before.upper

    def test_the_point_given_is_left_alone(self):
        problem = overlapping()
        point = Point(np.ones(4), 0.5, np.full(60, 0.5))
        polish(problem, point)
        np.testing.assert_array_equal(point.w, np.ones(4))
        np.testing.assert_array_equal(point.alpha, np.full(60, 0.5))


class TestKey:
    def test_names_what_differs(self):
        problem = overlapping("augmented")
        weight = np.linspace(1.0, 2.0, 60)
        changes = [
            {},
            {"C": 2.0},
            {"C": np.inf},
            {"bias": "none"},
            {"loss": "squared_hinge"},
            {"s": 2.0},
            {"weight": weight},
            {"weight": weight[::-1]},
        ]
        keys = [problem_key(problem.with_(**change), DIGEST) for change in changes]
        assert len(set(keys)) == len(keys)
        assert keys[0] == "0123456789abcdef-C1.0-augmented-hinge"

    def test_defaults_are_left_out(self):
        problem = overlapping("free")
        assert problem_key(problem.with_(s=3.0, C=np.float64(1.0), weight=np.ones(60)), DIGEST) == problem_key(
            problem, DIGEST
        )


@pytest.fixture(scope="module")
def problem() -> Problem:
    return overlapping("free", C=0.3)


@pytest.fixture(scope="module")
def reference(problem) -> Reference:
    rng = np.random.default_rng(0)
    points = {"rough": Point(rng.normal(size=4), 0.1, rng.random(60)), "nothing": nothing(problem)}
    return make(problem, DIGEST, points)


class TestReference:
    def test_make_keeps_the_best_of_both_sides(self, problem, reference):
        assert reference.bounds.width <= 1e-14
        assert set(reference.makers) <= {"rough", "nothing"}
        assert reference.key == problem_key(problem, DIGEST)
        np.testing.assert_array_equal(feasible(problem, reference.point.alpha), reference.point.alpha)

    def test_make_needs_a_point(self, problem):
        with pytest.raises(InputError, match="at least one"):
            make(problem, DIGEST, {})

    @pytest.mark.parametrize("C", [0.3, np.inf])
    def test_round_trip(self, C, tmp_path):
        problem = overlapping("free", C=C)
        made = make(problem, DIGEST, {"nothing": nothing(problem)})
        again = load(save(made, tmp_path))
        assert (again.key, again.digest, again.bounds, again.makers) == (
            made.key,
            made.digest,
            made.bounds,
            made.makers,
        )
        assert prove(again, problem, DIGEST) == made.bounds
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".npz"]

    def test_saving_again_replaces(self, problem, reference, tmp_path):
        save(reference, tmp_path)
        zero = Point(np.zeros(4), 0.0, np.zeros(60))
        wide = Reference(reference.key, DIGEST, enclose(problem, zero), zero, ("nobody", "nobody"))
        assert prove(load(save(wide, tmp_path)), problem, DIGEST).width == 1.0
        path = save(reference, tmp_path)
        assert load(path).bounds == reference.bounds
        assert len(list(tmp_path.iterdir())) == 2

    def test_other_data_or_another_problem_are_refused(self, problem, reference):
        with pytest.raises(Disproved, match="digest"):
            prove(reference, problem, "f" * 64)
        with pytest.raises(Disproved, match="is not about"):
            prove(reference, problem.with_(C=0.4), DIGEST)
        X = problem.X.copy()
        X[0, 0] += 1e-6
        with pytest.raises(Disproved, match="stored"):
            prove(reference, problem.with_(X=X), DIGEST)
        with pytest.raises(Disproved, match="sizes"):
            prove(reference, problem.with_(X=X[:, :3]), DIGEST)


class TestDamage:
    """A changed digit is caught: by a checksum, and by the proof where the checksum was made to fit."""

    def test_every_digit_of_the_text(self, reference, tmp_path):
        path = save(reference, tmp_path)
        text = path.read_text()
        places = [i for i, letter in enumerate(text) if letter.isdigit()]
        for i in places[:: max(1, len(places) // 60)]:
            path.write_text(text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1 :])
            with pytest.raises(Disproved):
                load(path)

    def test_every_part_of_the_arrays(self, reference, tmp_path):
        path = save(reference, tmp_path)
        arrays = next(tmp_path.glob("*.npz"))
        data = arrays.read_bytes()
        for i in range(40, len(data) - 400, 37):
            arrays.write_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
            try:
                again = load(path)
            except Disproved:
                continue
            np.testing.assert_array_equal(again.point.alpha, reference.point.alpha)  # a byte that says nothing
        arrays.unlink()
        with pytest.raises(Disproved, match="cannot be read"):
            load(path)

    @pytest.mark.parametrize("side", ["lower", "upper"])
    @pytest.mark.parametrize("towards", [-np.inf, np.inf])
    def test_a_false_claim_with_checksums_that_fit(self, problem, reference, tmp_path, side, towards):
        sides = {"lower": reference.bounds.lower, "upper": reference.bounds.upper}
        sides[side] = float(np.nextafter(sides[side], towards))
        false = Reference(reference.key, DIGEST, Bounds(**sides), reference.point, reference.makers)
        with pytest.raises(Disproved, match="proven"):
            prove(load(save(false, tmp_path)), problem, DIGEST)

    def test_multipliers_that_are_not_feasible(self, problem, reference):
        alpha = reference.point.alpha.copy()
        alpha[np.argmax(alpha)] = np.nextafter(alpha.max(), 0.0)
        false = Reference(reference.key, DIGEST, reference.bounds, reference.point._replace(alpha=alpha), ("", ""))
        with pytest.raises(Disproved, match="not feasible"):
            prove(false, problem, DIGEST)

    def test_decimal_and_hexadecimal_must_agree(self, reference, tmp_path):
        path = save(reference, tmp_path)
        said = json.loads(path.read_text())
        assert float(said["lower"]["decimal"]) == float.fromhex(said["lower"]["hex"]) == reference.bounds.lower
        del said["sha256"]
        said["lower"]["decimal"] = repr(float(np.nextafter(reference.bounds.lower, 0.0)))
        path.write_text(json.dumps(said | {"sha256": _checksum(said)}))
        with pytest.raises(Disproved, match="and not"):
            load(path)

    def test_other_arrays_under_the_same_name(self, reference, tmp_path):
        path = save(reference, tmp_path)
        w, b, alpha, _ = reference.point
        np.savez(next(tmp_path.glob("*.npz")), w=w, b=np.array([b]), alpha=np.zeros_like(alpha))
        with pytest.raises(Disproved, match="checksum"):
            load(path)

    def test_loading_runs_nothing(self, reference, tmp_path):
        """A pickle inside the arrays would make a folder when it is read."""
        path = save(reference, tmp_path)
        trap = np.array([Trap(str(tmp_path / "made"))], dtype=object)
        np.savez(next(tmp_path.glob("*.npz")), w=trap, b=np.zeros(1), alpha=np.zeros(60))
        with pytest.raises(Disproved, match="cannot be read"):
            load(path)
        assert not (tmp_path / "made").exists()


class Trap:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)
