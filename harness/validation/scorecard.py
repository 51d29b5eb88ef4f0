"""The scorecard of a solver: what `marginbench validate` found, as text, JSON and a Markdown table."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from tabulate import tabulate

from marginbench.harness.records.codec import plain
from marginbench.harness.records.status import status_of

ACCURACIES = (1e-2, 1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Row:
    """One reference problem.

    error: what is held to the promised accuracy at the end: the certified gap; for a formulation with another
    optimum the residual of its own program; for a separation 0 or none. best: the smallest one on the way.
    passes: accuracy -> time in passes until the error was that small, None where it never was.
    kept: whether the promise was kept; None where nothing was promised, or the budget ended a run that was on its way
    (late).
    """

    problem: str
    formulation: str = ""
    status: str = ""
    message: str = ""
    claim: str = ""
    wrong_claim: bool = False
    error: float | None = None
    best: float | None = None
    worst_kkt: float | None = None
    passes: dict[str, float | None] = field(default_factory=dict)
    kept: bool | None = None
    late: bool = False
    suspicion: str = ""

    @property
    def ran(self) -> bool:
        return status_of(self.status).ran

    @property
    def why(self) -> str:
        """What went wrong, in a sentence; nothing where all went well."""
        if self.kept is not False and not self.late:
            return ""
        return "; ".join(part for part in (f"{self.status}: {self.message}".rstrip(": "), self.suspicion) if part)


@dataclass(frozen=True)
class ContractLine:
    """One contract."""

    contract: str
    result: Literal["pass", "fail", "not applicable"]
    sentence: str = ""


@dataclass(frozen=True)
class Scorecard:
    solver: str
    accuracy: float
    """The relative error that it is held to."""
    rows: Sequence[Row]
    lines: Sequence[ContractLine]
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the libraries that were run, and a hash of the solver's own source."""

    @property
    def ran(self) -> list[Row]:
        return [row for row in self.rows if row.ran]

    @property
    def broken(self) -> list[Row]:
        return [row for row in self.rows if row.kept is False]

    @property
    def promised(self) -> list[Row]:
        return [row for row in self.rows if row.kept is not None]

    @property
    def held(self) -> list[ContractLine]:
        return [line for line in self.lines if line.result != "not applicable"]

    @property
    def failed(self) -> list[ContractLine]:
        return [line for line in self.lines if line.result == "fail"]

    @property
    def shown(self) -> list[ContractLine]:
        """One cause, one line: contracts that are broken with the same words stand together."""
        causes = dict[str, list[str]]()
        for line in self.failed:
            causes.setdefault(line.sentence, []).append(line.contract)
        lines = []
        for line in self.lines:
            if line.result != "fail":
                lines.append(line)
            elif names := causes.pop(line.sentence, None):
                more = f" and {len(names) - 1} more" if names[1:] else ""
                lines.append(replace(line, contract=names[0] + more))
        return lines

    @property
    def ok(self) -> bool:
        """Everything it promises holds, and it was possible to find out."""
        return any(row.kept for row in self.rows) and not self.broken and not self.failed

    def verdict(self) -> str:
        if not self.ran:
            reason = self.rows[0].message if self.rows else "there are no problems"
            return f"FAIL: {self.solver} ran on no reference problem ({reason})"
        promised, held = len(self.promised), len(self.held)
        problems = f"{promised - len(self.broken)} of {promised} problems to {self.accuracy:.0e}"
        contracts = f"{held - len(self.failed)} of {held} contracts"
        late = sum(row.late for row in self.rows)
        more = f"; on {late} more the budget ended it on its way" if late else ""
        return f"{'pass' if self.ok else 'FAIL'}: {self.solver} keeps {problems} and {contracts}{more}"

    # -- as text -------------------------------------------------------------------------------------------------

    def text(self) -> str:
        head = f"{self.solver}, held to a relative error of {self.accuracy:.0e}"
        names = [_name(a) for a in ACCURACIES]
        table = [
            (
                row.problem,
                row.formulation,
                *(_passes(row.passes.get(name)) for name in names),
                _short(row.error),
                _short(row.worst_kkt),
                row.claim or "-",
                "late" if row.late else {True: "kept", False: "BROKEN", None: "-"}[row.kept],
                row.why,
            )
            for row in self.ran
        ]
        headers = ("problem", "formulation", *names, "error", "worst KKT", "claim", "promise", "")
        parts = [head]
        if table:
            parts.append("passes until the relative error was that small\n" + tabulate(table, headers, "plain"))
        parts += [part for part in (self._skips(), self._contracts()) if part]
        return "\n\n".join([*parts, self.verdict()])

    def _skips(self) -> str:
        reasons = Counter(f"{row.status}: {row.message}" for row in self.rows if not row.ran)
        return "\n".join(
            f"{count:3d} {'problem' if count == 1 else 'problems'} {reason}" for reason, count in reasons.most_common()
        )

    def _contracts(self) -> str:
        lines = [({"fail": "FAIL"}.get(line.result, line.result), line.contract, line.sentence) for line in self.shown]
        return tabulate(lines, tablefmt="plain")

    def json(self) -> str:
        return json.dumps(plain({**asdict(self), "ok": self.ok, "verdict": self.verdict()}), indent=1) + "\n"

    @staticmethod
    def of(text: str) -> "Scorecard":
        """Of what `json` wrote."""
        data = json.loads(text)
        rows, lines = [Row(**row) for row in data["rows"]], [ContractLine(**line) for line in data["lines"]]
        return Scorecard(data["solver"], data["accuracy"], rows, lines, data["versions"])

    def markdown(self) -> str:
        """A badge table for the solver's own page."""
        title = f"**{self.solver}**, validated by marginbench: {'pass' if self.ok else 'FAIL'}"
        promised = self.promised
        counted = [row for row in self.ran if row.passes]
        head = ["problems", *(_name(a) for a in ACCURACIES), f"promise ({self.accuracy:.0e})"]
        reached = [sum(row.passes.get(_name(a)) is not None for row in counted) for a in ACCURACIES]
        counts = [f"{k}/{len(counted)}" for k in reached]
        row = [len(self.ran), *counts, f"{len(promised) - len(self.broken)}/{len(promised)}"]
        contracts = [(line.contract, line.result, line.sentence.replace("|", "/")) for line in self.shown]
        tables = [
            tabulate([row], head, "github", disable_numparse=True),
            tabulate(contracts, ("contract", "result", ""), "github"),
        ]
        return "\n\n".join([title, *tables]) + "\n"


def _name(accuracy: float) -> str:
    return f"{accuracy:.0e}"


def _passes(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.0e}"
