"""marginbench choice PATH: of a run of experiment=choice, whether `auto` chose the better solver, and a new fit."""

from collections.abc import Sequence

import numpy as np

from marginbench.harness.commands.options import split_flags
from marginbench.harness.commands.stored import opened, stored_records
from marginbench.harness.errors import InputError
from marginbench.harness.validation.choice import ACCURACY, fit, fit_second, measured


def main(arguments: Sequence[str]) -> int:
    _, words = split_flags(arguments, {})
    if len(words) != 1:
        raise InputError("choice: needs one results folder or bundle, as in choice results/latest")
    with opened(words[0]) as folder:
        records = stored_records(folder).records
        found = {accuracy: measured(records, accuracy) for accuracy in (1e-3, 1e-6, 1e-9)}
    fitted = [one for one in found[ACCURACY] if one.fitted and one.features]
    if not found[ACCURACY]:
        raise InputError(
            f"choice: {words[0]} has no problem of dataset=family by auto and by the two that it chooses between"
        )
    print("time of auto over that of the better of the two:")
    for accuracy, problems in found.items():
        for half, chosen in (("fitted on", True), ("judged on", False)):
            regrets = [one.regret for one in problems if one.fitted is chosen and not np.isnan(one.regret)]
            if regrets:
                median, most = np.quantile(regrets, [0.5, 0.95], method="higher")
                print(f"  to {accuracy:.0e}, {len(regrets)} {half}: {median:.2f} at the median, {most:.2f} at 95 %")
        noise = [one.noise for one in problems if not np.isnan(one.noise)]
        if noise:
            most = np.quantile(noise, 0.95, method="higher")
            print(f"  to {accuracy:.0e}, the better of the two beside itself, by half of the runs: {most:.2f} at 95 %")
    if not fitted:
        print("nothing to fit: of none of these in even blocks of four a model made the choice")
        return 0
    print("fits of this run, for solvers/choice.py: log(first / second), log(nanoseconds of the second)")
    for coefficients in (fit(fitted), fit_second(fitted)):
        print("  (" + ", ".join(f"{c:.3f}" for c in coefficients) + ")")
    return 0
