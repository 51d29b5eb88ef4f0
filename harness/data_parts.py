"""The rows of a data set as a cell gets them: read, preprocessed, and in two parts where some are held out."""

from collections.abc import Mapping
from typing import Any

from marginbench.datasets.preprocessing import Parts, Preprocessing
from marginbench.datasets.samples import samples_of
from marginbench.harness.cell.spec import Config, instantiate


def data_parts(dataset: Config, preprocess: Mapping[str, Any], name: str) -> Parts:
    """(train, test) of a configured data set; test is None unless `preprocess.test` is set. Each is (X, y).

    dataset: `_target_` and its arguments. preprocess: the options of that name in conf/run.yaml, all optional.

    >>> config = {"_target_": "marginbench.datasets.generators.overlapping", "n": 100, "d": 3,
    ...           "distance": 2.0, "seed": 0}
    >>> train, test = data_parts(config, {"test": 0.2}, "overlapping")
    >>> train[0].shape, test[0].shape
    ((80, 3), (20, 3))
    """
    how = Preprocessing.of(preprocess)
    dataset, classes = how.with_classes(dataset)
    held_out = how.test_config(dataset)
    whole = samples_of(instantiate(dataset), name, **classes)
    return how.parts(whole, samples_of(instantiate(held_out), name, **classes) if held_out else None, name)
