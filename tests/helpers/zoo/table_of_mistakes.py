"""The mistakes of the zoo, and what each must get. Every one of them has to be caught."""

from zoo.expectation import BROKEN, NOT_SOLVED, SHORT_OF_IT, Expectation
from zoo.honest import WORK

OTHER = ("wrong",)

MISTAKES = [
    # -- the answer to another problem ----------------------------------------------------------------------------
    Expectation("mistakes.LambdaTwice", "risk", SHORT_OF_IT, "w of 2 lambda", validate="lambda off by 2"),
    Expectation("mistakes.LambdaTimesN", "risk", OTHER, "w of n lambda", validate="lambda off by n"),
    Expectation("mistakes.LabelsFlipped", "risk", OTHER, "-w classifies the wrong way", validate="signs of all labels"),
    Expectation("mistakes.LabelsShifted", "risk", OTHER, "labels of other rows", validate="claimed convergence"),
    Expectation("mistakes.PenalisedBias", "risk_free", OTHER, "another problem's optimum", validate="bias=augmented"),
    Expectation("mistakes.NoBias", "risk_free", OTHER, "another problem's optimum", validate="bias=none"),
    Expectation("mistakes.WeightsIgnored", "weighted", SHORT_OF_IT, "the sample weights are part of the problem"),
    Expectation("mistakes.SquaredLoss", "risk", SHORT_OF_IT, "the squared hinge has another optimum"),
    Expectation("mistakes.HalfTheRows", "risk", OTHER, "the other half is not fitted", validate="claimed convergence"),
    Expectation("mistakes.Centred", "risk_free", OTHER, "b belongs to other features", validate="claimed convergence"),
    Expectation("mistakes.Standardised", "risk", SHORT_OF_IT, "w belongs to other features", validate="claimed conv"),
    Expectation("mistakes.TenTimesTooLong", "risk", OTHER, "the norm is 100 times that of the optimum"),
    Expectation("mistakes.TenTimesTooLong", "long_rows", OTHER, "the same mistake where objectives are below 1e-9"),
    Expectation("mistakes.Nothing", "risk", OTHER, "w = 0 is far from the optimum", validate="w is zero"),
    Expectation("mistakes.LongForItsC", "tiny_C", OTHER, "a norm as large as all hinges together, at C = 1e-13"),
    Expectation("mistakes.ColumnsSwapped", "risk_sparse", SHORT_OF_IT, "CSR read with the columns turned around"),
    Expectation("mistakes.NotClipped", "dual", SHORT_OF_IT, "multipliers beyond C are infeasible"),
    Expectation("mistakes.EqualityForgotten", "dual_free", SHORT_OF_IT, "sum alpha_i y_i is not 0"),
    Expectation("mistakes.WrongMultipliers", "risk", SHORT_OF_IT, "negative multipliers, infeasible beyond repair"),
    Expectation("mistakes.TwiceTheMultipliers", "risk", SHORT_OF_IT, "multipliers beyond C, infeasible beyond repair"),
    # -- no answer --------------------------------------------------------------------------------------------------
    Expectation("mistakes.ClassicalShape", "risk", ("invalid",), "shape (d, 1)", words="shape"),
    Expectation("mistakes.MultipliersForWeights", "risk", ("invalid",), "n numbers for d", words="shape"),
    Expectation("mistakes.NotANumber", "risk", ("invalid",), "NaN", words="NaN"),
    Expectation("mistakes.Infinite", "risk", ("invalid",), "infinity", words="infinite"),
    Expectation("mistakes.Complex", "risk", ("invalid",), "complex numbers", words="complex"),
    Expectation("mistakes.Objects", "risk", ("invalid",), "Python objects are no numbers", words="object"),
    Expectation("mistakes.Text", "risk", ("invalid",), "a text"),
    Expectation("mistakes.NoAnswer", "risk", ("invalid",), "None", words="nothing"),
    Expectation("mistakes.BareArray", "risk", BROKEN, "an array is no Iterate"),
    Expectation("mistakes.NoIterate", "risk", ("invalid",), "nothing was yielded", words="without a single iterate"),
    Expectation("mistakes.ReturnsList", "risk", BROKEN, "a list is no iterator, and says so"),
    # -- writes where it may not ------------------------------------------------------------------------------------
    Expectation(
        "mistakes.UpperAsScratch", "dual", NOT_SOLVED, "bounds changed in place are judged by the problem's own",
        validate="upper of the program is not what it was",
    ),
    Expectation(
        "mistakes.WeightsInPlace", "weighted", NOT_SOLVED, "weights changed in place are judged by the problem's own",
        validate="weight of the program is not what it was",
    ),
    Expectation("mistakes.DataInPlace", "risk", NOT_SOLVED, "the data are read-only", validate="X of the program"),
    # -- sloppy -----------------------------------------------------------------------------------------------------
    Expectation(
        "sloppy.LooseTolerance", "risk", SHORT_OF_IT, "converged at a gap of 5e-3 is a false claim, and is shown",
        false_claim=True, validate="claimed convergence",
    ),
    Expectation("sloppy.StopsEarly", "risk", OTHER, "one step is no optimum", validate="claimed convergence"),
    Expectation(
        "sloppy.HalfPrecision", "risk", SHORT_OF_IT, "three digits called convergence is a false claim, and is shown",
        false_claim=True, validate="claimed convergence",
    ),
    Expectation("sloppy.Averages", "risk", SHORT_OF_IT, "the last point counts", validate="after one of"),
    Expectation("sloppy.NoProgress", "risk", ("inaccurate", "timeout"), "the budget ends it", words="budget"),
    Expectation("sloppy.GlobalDice", "risk", ("solved",), "run sees no harm", validate="with the same seed differ"),
    Expectation("sloppy.SetsGlobalSeed", "risk", ("solved",), "run sees no harm", validate="global random state"),
    Expectation("sloppy.StaleState", "risk", ("solved",), "one run has no past", validate="after another|relative err"),
    Expectation("sloppy.LeavesThread", "risk", ("solved",), "its process ends anyway", validate="threads"),
    Expectation("sloppy.Sleeps", "risk", ("solved",), "waiting is charged", works=0.15),
    Expectation("sloppy.SlowFirstStep", "risk", ("solved",), "the first step is charged", works=0.15),
    Expectation("sloppy.HugeInfo", "risk", ("solved", "invalid", "failed"), "a record stays small"),
    Expectation("sloppy.HugeMessage", "risk", ("failed",), "a message is a line, cut where it is too long"),
    Expectation("sloppy.Escapes", "risk", ("failed",), "a message has no control characters", words="bad.*red"),
    Expectation("sloppy.PrintsMegabytes", "risk", ("solved",), "printing harms nobody"),
    Expectation("sloppy.Raises", "risk", ("failed",), "an exception is a failure", words="ValueError: from the solver"),
    Expectation("sloppy.RaisesInterrupt", "risk", ("failed",), "not the user's Ctrl-C", words="KeyboardInterrupt"),
    Expectation("sloppy.RaisesExit", "risk", ("failed",), "the harness goes on", words="SystemExit"),
    Expectation("sloppy.RaisesGeneratorExit", "risk", ("failed",), "no quiet end", words="GeneratorExit"),
    Expectation("sloppy.RaisesStop", "risk", ("failed",), "no quiet end", words="StopIteration"),
    Expectation("sloppy.Recursion", "risk", ("failed",), "without end", words="RecursionError"),
    Expectation("sloppy.FailsAfterTheAnswer", "risk", ("failed",), "it broke", words="no licence"),
    # -- claims -----------------------------------------------------------------------------------------------------
    Expectation("claims.OwnWord", "risk", ("invalid",), "the word is not in the vocabulary", words="certified"),
    Expectation("claims.NumberForClaim", "risk", ("invalid",), "a number is no claim", words="claim"),
    Expectation("claims.InfeasibleWithSlack", "risk", OTHER, "slack makes every problem feasible"),
    Expectation("claims.InfeasibleWithoutProof", "separable", OTHER, "a hyperplane separates the data"),
    Expectation("claims.UnboundedWithoutProof", "separable", OTHER, "a hyperplane separates the data"),
    Expectation("claims.InfeasibleWithNothing", "separable", OTHER, "a hyperplane separates the data"),
    Expectation("claims.InfeasibleWithoutProof", "inseparable", SHORT_OF_IT, "right, but the proof is the solver's"),
    Expectation("claims.InfeasibleWithNothing", "inseparable", SHORT_OF_IT, "right, but the proof is the solver's"),
    Expectation("claims.ZerosForMargin", "inseparable", SHORT_OF_IT, "zeros prove nothing and separate nothing"),
    Expectation("claims.OnesForMargin", "inseparable", SHORT_OF_IT, "the harness's own polishing earns it nothing"),
    Expectation("claims.ZerosForMargin", "contradiction", SHORT_OF_IT, "zeros prove nothing and separate nothing"),
    Expectation("claims.ThinCalledInfeasible", "thin", SHORT_OF_IT, "a margin of 1e-10 of the rows is a margin"),
]  # fmt: skip

CONTROLS = [
    Expectation("honest.Honest", "dual", ("solved",), "right"),
    Expectation("honest.Honest", "dual_free", ("solved",), "right"),
    Expectation("honest.Honest", "risk", ("solved",), "right"),
    Expectation("honest.Honest", "risk_free", ("solved",), "right"),
    Expectation("honest.Honest", "risk_sparse", ("solved",), "right"),
    Expectation("honest.Honest", "weighted", ("solved",), "right"),
    Expectation("honest.Honest", "tiny_C", ("solved",), "right at every scale"),
    Expectation("mistakes.Nothing", "tiny_C", ("solved",), "P(0) = C n, and P* is below that by a share of order C"),
    Expectation("honest.WithMultipliers", "long_rows", ("solved",), "right at every scale"),
    Expectation("honest.Honest", "separable", ("solved",), "right"),
    Expectation(
        "honest.Compiles", "dual", ("solved",), "warmed up by the base class: compiling is not timed", spared=WORK
    ),
    Expectation("honest.PoorMultipliers", "risk", ("solved",), "the best proven bound decides, not the row's own"),
    Expectation("claims.ShortHyperplane", "separable", ("solved",), "a hard margin has no scale"),
    Expectation("claims.ProvesInfeasible", "contradiction", ("infeasible",), "an exact proof"),
    Expectation("claims.ProvesInfeasible", "zeros", ("infeasible",), "an exact proof, of data that are all zero"),
]
"""Right answers that must not be accused: what is too strict catches nothing."""
