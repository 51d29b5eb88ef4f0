"""Isolation that is none."""

from marginbench.harness.cell.run import run_cell
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Result, resolved, unframed
from marginbench.harness.running.mapped_data import open_data
from marginbench.harness.running.outcome import blank


class Here(Isolation):
    """Cells in this process: what a process of their own adds is tested elsewhere."""

    def __init__(self):
        pass

    def run(self, cell, data, digest, known, limits, log=None):
        try:
            return run_cell(cell, *open_data(data), digest, known)
        except Exception as error:
            return blank(Order(cell, data, digest, known, limits), "failed", str(error))

    def do(self, job, log=None):
        return Result(*unframed(resolved(job.function)(*job.arguments)))
