"""Judging a choice between two solvers: a fit finds a rule that was planted, and regret is what records say."""

import numpy as np
import pytest

from marginbench.harness.commands.choice import main
from marginbench.harness.errors import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store
from marginbench.harness.validation.choice import Measured, fit, fit_second, measured


def test_a_fit_finds_the_rule_that_was_planted():
    rng = np.random.default_rng(1)
    planted = 0.3 * rng.normal(size=12)
    problems = []
    for k in range(400):
        given = (1.0, *rng.normal(size=11))
        z = float(np.clip(np.dot(planted, given), -2.9, 2.9))
        problems.append(Measured(k, given, 0.1 * np.exp(z / 2), 0.1 * np.exp(-z / 2), 0.1))
    found = fit([one for one in problems if one.fitted])
    judged = [one for one in problems if not one.fitted]
    right = [(np.dot(found, one.features) > 0) == (one.first > one.second) for one in judged]
    assert len(judged) == 200
    assert np.mean(right) > 0.93


def test_a_fit_of_the_second_finds_its_time():
    rng = np.random.default_rng(2)
    planted = rng.normal(size=4)
    rows = [(1.0, *rng.normal(size=3)) for _ in range(300)]
    problems = [Measured(k, row, 1.0, 1e-9 * np.exp(np.dot(planted, row)), 1.0) for k, row in enumerate(rows)]
    never = Measured(300, (1.0, 9.0, 9.0, 9.0), 1.0, np.inf, 1.0)
    np.testing.assert_allclose(fit_second([*problems, never]), planted, atol=0.01)


def test_regret_is_read_from_the_records_of_a_run():
    def record(method, seconds, **info):
        curve = [{"seconds": 0.5 * seconds, "gap": 1e-2}, {"seconds": seconds, "gap": 1e-7}]
        about = {"dataset": {"number": 6}}
        return Record(method=method, cell=about, curve=curve, info=info, build_seconds=0.0)

    records = [
        record("auto", 3.0, features="1 0.5", between="coordinate_descent newton_augmented"),
        record("coordinate_descent", 8.0),
        record("newton_augmented", 2.0),
    ]
    (one,) = measured(records, 1e-6)
    assert (one.number, one.first, one.second, one.regret) == (6, 8.0, 2.0, 1.5)
    assert not one.fitted
    assert one.features == (1.0, 0.5)
    (none,) = measured(records, 1e-9)
    assert np.isnan(none.regret)
    records[0].info["features"] = ""  # no model made the choice: judged all the same
    assert measured(records, 1e-6)[0].regret == 1.5
    assert np.isnan(one.noise)
    again = [record("newton_augmented", seconds) for seconds in (3.0, 2.4, 5.0)]
    (one,) = measured([*records, *again], 1e-6)
    assert (one.second, one.noise) == (2.0, 2.0 / 3.0)


def test_a_run_without_the_family_is_refused_in_one_line(tmp_path):
    Store(tmp_path).put(Record(hash="a" * 32, method="auto", status="solved", cell={"dataset": {}}))
    with pytest.raises(InputError, match="no problem of dataset=family"):
        main([str(tmp_path)])
