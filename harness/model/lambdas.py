"""One C, three lambdas: the conversions between the canonical problem and its relatives, in one place.

tikhonov          (1/n) sum hinge + lam ||w||^2          lam = 1 / (2 C n)   objective = P / (C n)
regularised sum   lam/2 ||w||^2 + sum hinge              lam = 1 / C         objective = P / C
pegasos           lam/2 ||w||^2 + (1/n) sum hinge        lam = 1 / (C n)     objective = P / (C n)
"""


def tikhonov_lambda(C: float, n: int) -> float:
    return 1.0 / (2.0 * C * n)


def sum_lambda(C: float) -> float:
    return 1.0 / C


def pegasos_lambda(C: float, n: int) -> float:
    return 1.0 / (C * n)


def C_of_tikhonov(lam: float, n: int) -> float:
    return 1.0 / (2.0 * lam * n)


def C_of_sum(lam: float) -> float:
    return 1.0 / lam


def C_of_pegasos(lam: float, n: int) -> float:
    return 1.0 / (lam * n)
