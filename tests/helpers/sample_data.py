"""Data of the tests of data: a small sample, its file, and the configured data sets."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from hydra.utils import instantiate
from omegaconf import OmegaConf

CONFIGS = Path(__file__).parents[2] / "conf" / "dataset"


def configured(name, **changes):
    return instantiate(OmegaConf.merge(OmegaConf.load(CONFIGS / f"{name}.yaml"), changes))


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def sample(share):
    """Numbers of every size, some of which take 17 digits, others the smallest and largest there are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 7)) * 10.0 ** rng.integers(-300, 300, (40, 7))
    X[rng.random(X.shape) > share] = 0.0
    X[0] = [5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 0.1, 1 / 3, 123456789012345680.0, -1e22]
    X[1] = 0.0
    return X, np.where(rng.random(40) < 0.5, 1.0, -1.0)


def three_classes():
    """As a function of the user's own may be: six rows, labels are words."""
    return np.arange(12.0).reshape(6, 2), np.array(["a", "b", "c", "a", "b", "c"])


def put(tmp_path, content, name="made.svm"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)
