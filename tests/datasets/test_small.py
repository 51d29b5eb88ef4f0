"""The small problems have the difficulty that their name says."""

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from marginbench.datasets.small import PROBLEMS, small
from marginbench.harness.commands.catalogue import options
from marginbench.harness.config_files import CONF


def test_the_configuration_lists_all_of_them_and_so_does_the_experiment():
    (named,) = options((CONF / "dataset" / "small.yaml").read_text())
    assert named.values() == list(PROBLEMS)
    experiment = yaml.safe_load((CONF / "experiment" / "agreement.yaml").read_text())
    assert experiment["hydra"]["sweeper"]["params"]["dataset.name"].split(",") == list(PROBLEMS)
    with pytest.raises(ValueError, match=r"dataset.name=nothing: possible are overlapping, "):
        small("nothing")


def test_each_has_its_difficulty():
    data = {name: small(name) for name in PROBLEMS}
    assert all(set(y) == {-1.0, 1.0} and len(y) == X.shape[0] <= 102 for X, y in data.values())
    assert data["few_rows"][0].shape == (12, 200)
    assert data["one_feature"][0].shape[1] == 1
    assert len(np.unique(data["duplicates"][0], axis=0)) < 60
    assert (np.abs(data["zero_rows"][0]).sum(axis=1) == 0.0).sum() == 9
    assert np.ptp(data["constant_column"][0], axis=0).min() == 0.0
    assert (data["imbalanced"][1] > 0).sum() * 50 == (data["imbalanced"][1] < 0).sum()
    spread = data["badly_scaled"][0].std(axis=0)
    assert spread.max() / spread.min() > 1e5
    assert sp.issparse(data["sparse"][0])
    assert data["two_points"][0].shape == (2, 2)
