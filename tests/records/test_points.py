"""Rows that a report draws: kept for one or two features, checked when read."""

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.records.points import MOST_ROWS, Points, points_of, read_points, write_points

DIGEST = "0123456789abcdef" * 4


def test_what_is_written_is_read(tmp_path):
    X, y = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1.0, -1.0])
    for rows in (X, sp.csr_array(X)):
        write_points(tmp_path, DIGEST, points_of(rows, y))
        found = read_points(tmp_path, DIGEST[:16])
        np.testing.assert_array_equal(found.X, X)
        np.testing.assert_array_equal(found.y, y)


def test_many_features_are_not_kept_and_of_many_rows_some():
    assert points_of(np.ones((3, 3)), np.ones(3)) is None
    n = 5 * MOST_ROWS + 1
    found = points_of(np.arange(n, dtype=float)[:, None], np.ones(n))
    assert found.of == n
    assert MOST_ROWS / 2 < len(found.X) <= MOST_ROWS


@pytest.mark.parametrize(
    "points",
    [
        Points(np.ones((2, 3)), np.ones(2), 2),
        Points(np.full((2, 2), np.nan), np.ones(2), 2),
        Points(np.ones((2, 2)), np.array([1.0, 2.0]), 2),
        Points(np.ones((2, 2)), np.ones(3), 3),
        Points(np.ones((5, 2)), np.ones(5), 2),
    ],
    ids=["features", "NaN", "labels", "shapes", "count"],
)
def test_what_is_no_such_file_is_not_there(tmp_path, points):
    write_points(tmp_path, DIGEST, points)
    assert read_points(tmp_path, DIGEST) is None
    assert read_points(tmp_path, "../../etc/passwd") is None


def test_no_link_is_followed(tmp_path):
    write_points(tmp_path / "other", DIGEST, Points(np.ones((1, 2)), np.ones(1), 1))
    (tmp_path / "points").symlink_to(tmp_path / "other" / "points")
    assert read_points(tmp_path, DIGEST) is None
