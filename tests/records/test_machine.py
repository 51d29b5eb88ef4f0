"""Times of different machines are not compared in silence."""

from sample_records import failure, solved

from marginbench.harness.records.machine import machines, this_machine


def test_records_of_one_machine_need_no_word():
    mine = this_machine()
    assert machines([solved(machine=mine), solved("b", machine=dict(mine))]) == ""
    assert machines([]) == ""


def test_records_of_two_machines_are_flagged_with_their_counts():
    a, b = ({"processor": name, "cores": 2, "system": "Linux"} for name in ("A", "B"))
    said = machines([solved(machine=a), solved("b", machine=b), solved("c", machine=a)])
    assert (
        said == "times come from 2 machines: A, 2 cores, Linux (2), B, 2 cores, Linux (1); compare passes, not seconds"
    )
    assert "not named (1)" in machines([solved(machine={}), solved("b", machine=b)])
    assert machines([solved(machine=a), failure("failed", machine=b)]) == ""  # it has no time
