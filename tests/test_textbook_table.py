"""Every method of the textbooks runs by the command of `solvers/README.md`, and ends with the status given there."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from marginbench.harness.cli import main

pytestmark = pytest.mark.long

TABLE = (Path(__file__).resolve().parents[1] / "solvers" / "README.md").read_text()
LINES = re.findall(r"^\| ([^|]+) \| `marginbench ([^`]+)` \| ([^|]+) \|$", TABLE, re.MULTILINE)


@pytest.mark.parametrize(("method", "command", "status"), LINES, ids=[line[0] for line in LINES])
def test_a_method_of_the_textbooks_runs(method, command, status, tmp_path):
    main([*shlex.split(command), "figures=none", f"out={tmp_path}"])
    (table,) = tmp_path.glob("*/*/table.csv")
    with table.open() as file:
        (row,) = csv.DictReader(file)
    assert row["status"] in status.split(" or "), row["message"]


def test_every_line_of_the_table_is_read():
    assert len(LINES) == TABLE.count("`marginbench run ")
