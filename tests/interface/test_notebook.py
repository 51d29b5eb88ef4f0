"""The interface inside a running notebook kernel, in a folder of the user's own."""

import nbclient
import nbformat
import pytest

CELLS = [
    "import marginbench as mb\nX, y = mb.load('overlapping', n=60)",
    "mb.solve(X, y, C=0.5)",
    "found = mb.compare(X, y, methods=['auto', 'liblinear'], C=[0.1, 1.0])\nfound",
    "print(sorted(found.frame['status'].unique()), found.report().exists())",
    "found.figures",
    "from sklearn.svm import LinearSVC\nmb.certify(LinearSVC(loss='hinge', tol=1e-6, max_iter=10**6).fit(X, y), X, y)",
    """from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Idle(mb.Solver):
    accepts = (mb.BoxDual,)

    def iterates(self, program):
        yield mb.Iterate(np.zeros(program.n))

try:
    mb.compare(X, y, [Idle])
except ValueError as error:
    print(error)
mb.solve(X, y, Idle, isolated=False).status""",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell shows, by kind."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbformat.write(notebook, folder / "mine.ipynb")
    notebook = nbformat.read(folder / "mine.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    assert [path.name for path in folder.iterdir()] == ["mine.ipynb"]
    shown = []
    for cell in notebook.cells:
        kinds = {"text": "".join(out.get("text", "") for out in cell.outputs)}
        for out in cell.outputs:
            kinds |= out.get("data", {})
        shown.append(kinds)
    return shown


def test_a_solution_is_shown_as_a_table(outputs):
    assert "auto: solved in" in outputs[1]["text/html"]
    assert "relative gap" in outputs[1]["text/html"]


def test_a_comparison_is_shown_as_a_table_with_its_figures_and_report(outputs):
    assert outputs[2]["text/html"].count("<tr>") == 5
    assert "4 cells: 4 solved" in outputs[2]["text/html"]
    assert outputs[3]["text"] == "['solved'] True\n"
    assert "<svg" in outputs[4]["text/html"]


def test_a_certificate_is_shown_as_a_table(outputs):
    assert "LinearSVC: hinge, C = 1, intercept penalised (s = 1)" in outputs[5]["text/html"]


def test_a_solver_written_in_the_notebook(outputs):
    assert "write it to a file and name it, as in 'mine.py:Idle'" in outputs[6]["text"]
    assert outputs[6]["text/plain"] == "'wrong'"
