"""The scorecard says one cause in one line, and counts every contract."""

from marginbench.harness.validation.scorecard import ContractLine, Row, Scorecard


def test_contracts_broken_with_the_same_words_stand_in_one_line():
    crash = "dual_qp, bias none: ZeroDivisionError: division by zero"
    lines = [
        ContractLine("row permutation", "fail", crash),
        ContractLine("seed is used", "pass", "another seed, other iterates"),
        ContractLine("label swap", "fail", crash),
        ContractLine("data untouched", "fail", "X of the program is not what it was"),
        ContractLine("float32", "fail", crash),
    ]
    card = Scorecard("mine", 1e-6, [Row("p", status="solved", kept=True)], lines)
    said = card.text().splitlines()
    assert [line for line in said if crash in line] == [f"FAIL  row permutation and 2 more  {crash}"]
    assert "1 of 5 contracts" in said[-1]
    assert card.markdown().count(crash) == 1
    assert Scorecard.of(card.json()).lines == lines
