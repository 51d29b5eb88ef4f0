"""Kernels: K(x, z) = phi(x).phi(z) in a space whose features are never formed.

    gaussian    exp(-gamma ||x - z||^2)           sigma: gamma = 1 / (2 sigma^2)
    polynomial  (gamma x.z + coef0)^degree        (x.z + c)^p is gamma = 1, coef0 = c, degree = p

Both are positive semidefinite for gamma > 0, coef0 >= 0 and a whole degree >= 1: sums and products of positive
semidefinite kernels are, and the Gaussian is a limit of such. What is not is refused: weak duality would be no theorem.

A computed K is K + E with a rounding error E, and need not be positive semidefinite. The problem that is judged has
G = K + eps I with eps >= ||E||_2. `eps` of a kernel is proven: with numbers h_i such that |E_ij| <= h_i h_j,

    ||E||_2 <= || |E| ||_2 <= ||h h'||_2 = sum_i h_i^2 <= eps,   eps a power of two.

The h_i, with u = 2^-53, gamma_k = k u / (1 - k u) <= 1.01 k u, and k the most terms that a sum has:

- gaussian. Each (x_j - z_j)^2 has 3 roundings and the sum and the factor gamma k more: t = gamma ||x - z||^2 is off by
  a factor 1 + theta, |theta| <= gamma_{k+3}. So exp(-t) is off by at most |theta| t exp(-(1 - |theta|) t) <=
  0.38 |theta|, and by 8 u for the exponential itself (kernel_matrix.py). h_i^2 = 1.01 (0.38 (k + 3) + 8) u for all i.
- polynomial. x.z is off by gamma_k ||x|| ||z||, so gamma x.z + coef0 by gamma_{k+3} T with T = gamma ||x|| ||z|| +
  coef0. A power by repeated squaring adds degree - 1 factors 1 + u at most: (T (1 + gamma_{k+3}) (1 + u))^degree, hence
  |E_ij| <= gamma_{degree (k+4)} T^degree. Since T_ij^2 <= T_ii T_jj, h_i^2 = gamma_{degree (k+4)} T_ii^degree does.
- What underflows is below 2^-1000 in the bases, whose factor gamma is at most 2^400, and is multiplied by
  (T + 1)^degree at most: 2^-500 (T_ii + 1)^degree is added to h_i^2. Nothing may overflow: such data are refused.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.errors import InputError

if TYPE_CHECKING:
    from marginbench.harness.model.kernel_matrix import Source

U = 2.0**-53
LARGEST_POWER = 400
"""gamma and ||x_i|| lie between 2^-400 and 2^400: nothing overflows on the way to K."""

OPTIONS = ("gamma", "sigma", "coef0", "c", "degree", "p")
"""Parameters of kernels under `problem.`, of both conventions."""

NAMES = ("linear", "polynomial", "gaussian")

SIGMOID = "is not positive semidefinite: the dual is no concave problem then, and weak duality no theorem"


@dataclass(frozen=True)
class Gaussian:
    """exp(-gamma ||x - z||^2)"""

    gamma: float

    name = "gaussian"

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    @property
    def key(self) -> str:
        return f"gaussian-g{self.gamma!r}"

    def matrix(self, X: Any) -> np.ndarray:
        from marginbench.harness.model.kernel_matrix import gaussian  # compiles: linear problems do without

        return gaussian(X, self.gamma)

    def source(self, X: Any) -> "Source":
        """What single rows of the matrix are computed from."""
        from marginbench.harness.model.kernel_rows import source_of

        return source_of(X, self.gamma, squares=True)

    def between(self, X: Any, Z: Any) -> np.ndarray:
        """K(x, z) of all rows x of X and z of Z, in plain float64."""
        squares = _squares(X)[:, None] + _squares(Z) - 2.0 * _products(X, Z)
        return np.exp(-self.gamma * np.maximum(squares, 0.0))

    def eps(self, X: Any, norms: np.ndarray) -> float:
        """norms: upper bounds of ||x_i||."""
        check_norms(norms)
        k = min(X.shape[1], 2 * longest_row(X))
        return power_above(X.shape[0] * (1.01 * (0.38 * (k + 3) + 8.0) * U))


@dataclass(frozen=True)
class Polynomial:
    """(gamma x.z + coef0)^degree"""

    gamma: float
    coef0: float
    degree: int

    name = "polynomial"

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        if not 0.0 <= self.coef0 < 2.0**LARGEST_POWER:
            raise InputError(
                f"problem.coef0={self.coef0}: a polynomial kernel needs a number from 0 on; below 0 it {SIGMOID}"
            )
        if not isinstance(self.degree, int) or not 1 <= self.degree <= 1000:
            raise InputError(
                f"problem.degree={self.degree}: a polynomial kernel needs a whole number from 1 to 1000; "
                f"with a fraction it {SIGMOID}"
            )

    @property
    def key(self) -> str:
        return f"polynomial-g{self.gamma!r}-c{self.coef0!r}-p{self.degree}"

    def matrix(self, X: Any) -> np.ndarray:
        from marginbench.harness.model.kernel_matrix import polynomial

        return polynomial(X, self.gamma, self.coef0, self.degree)

    def source(self, X: Any) -> "Source":
        """What single rows of the matrix are computed from."""
        from marginbench.harness.model.kernel_rows import source_of

        return source_of(X, self.gamma, False, self.coef0, self.degree)

    def between(self, X: Any, Z: Any) -> np.ndarray:
        """K(x, z) of all rows x of X and z of Z, in plain float64."""
        return (self.gamma * _products(X, Z) + self.coef0) ** self.degree

    def eps(self, X: Any, norms: np.ndarray) -> float:
        """norms: upper bounds of ||x_i||."""
        check_norms(norms)
        T = (self.gamma * norms * norms + self.coef0) * (1.0 + 8.0 * U)
        if not math.log2(float(T.max()) + 1.0) * self.degree < 900.0:
            raise InputError(f"problem.degree={self.degree}: (gamma ||x||^2 + coef0)^degree leaves double precision")
        roundings = self.degree * (min(X.shape[1], longest_row(X)) + 4)
        h2 = 1.01 * roundings * U * T**self.degree + 2.0**-500 * (T + 1.0) ** self.degree
        return power_above(float(h2.sum()))


Kernel = Gaussian | Polynomial


def kernel_of(name: Any, given: dict[str, Any], d: int) -> Kernel | None:
    """The kernel that `problem.kernel` and its parameters name, None for the linear one; d: features of the data.

    What is null is not given. Defaults are LIBSVM's: gamma = 1 / d, coef0 = 0, degree = 3; with c or p, gamma = 1.
    """
    given = {key: value for key, value in given.items() if value is not None}
    if name == "sigmoid":
        raise InputError(f"problem.kernel=sigmoid: {SIGMOID}; possible are {', '.join(NAMES)}")
    if name not in NAMES:
        raise InputError(f"problem.kernel={name}: possible are {', '.join(NAMES)}")
    takes = {"linear": (), "gaussian": ("gamma", "sigma"), "polynomial": ("gamma", "coef0", "c", "degree", "p")}[name]
    for key in given:
        if key not in takes:
            price = "; the price of slack is problem.C" if key == "c" else ""
            has = f"has {', '.join(takes)}" if takes else "has no parameters"
            raise InputError(f"problem.{key}={given[key]}: the {name} kernel {has}{price}")
    if name == "linear":
        return None
    return _gaussian(given, d) if name == "gaussian" else _polynomial(given, d)


def _gaussian(given: dict[str, Any], d: int) -> Gaussian:
    if "sigma" in given:
        sigma = _number("sigma", given["sigma"])
        if not sigma > 0.0:
            raise InputError(f"problem.sigma={given['sigma']}: needs a number above 0")
        implied = 1.0 / (2.0 * sigma * sigma) if 1e-60 < sigma < 1e60 else math.nan
        _agree(given, "gamma", implied, f"sigma={given['sigma']}, which means gamma = 1 / (2 sigma^2) = {implied!r}")
        return Gaussian(implied)
    return Gaussian(_number("gamma", given.get("gamma", 1.0 / d)))


def _polynomial(given: dict[str, Any], d: int) -> Polynomial:
    notes = [f"{key}={given[key]}" for key in ("c", "p") if key in given]
    if "c" in given:
        _agree(given, "coef0", _number("c", given["c"]), f"c={given['c']}, which means coef0 = {given['c']}")
    if "p" in given:
        _agree(given, "degree", _number("p", given["p"]), f"p={given['p']}, which means degree = {given['p']}")
    if notes:
        _agree(given, "gamma", 1.0, f"{notes[0]}, which means (x.z + c)^p, where gamma = 1")
    gamma = _number("gamma", given.get("gamma", 1.0 if notes else 1.0 / d))
    coef0 = _number("coef0", given.get("c", given.get("coef0", 0.0)))
    degree = given.get("p", given.get("degree", 3))
    return Polynomial(gamma, coef0, int(degree) if _number("degree", degree).is_integer() else degree)


def _agree(given: dict[str, Any], key: str, implied: float, why: str) -> None:
    """One line where `problem.key` is given too and says something else."""
    if key in given and not math.isclose(_number(key, given[key]), implied, rel_tol=1e-12):
        raise InputError(f"problem.{key}={given[key]} contradicts problem.{why}; give one of the two")


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2.0**LARGEST_POWER:
        raise InputError(f"problem.{key}={value}: needs a number")
    return float(value)


def _products(X: Any, Z: Any) -> np.ndarray:
    found = X @ Z.T
    return found.toarray() if sp.issparse(found) else found


def _squares(X: Any) -> np.ndarray:
    """||x_i||^2"""
    return X.power(2) @ np.ones(X.shape[1]) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)


def check_gamma(gamma: float) -> None:
    if not gamma > 0.0:
        raise InputError(f"problem.gamma={gamma}: needs a number above 0; a kernel with one below {SIGMOID}")
    if not 2.0**-LARGEST_POWER < gamma < 2.0**LARGEST_POWER:
        raise InputError(f"problem.gamma={gamma}: needs a number from 1e-120 to 1e120")


def check_norms(norms: np.ndarray) -> None:
    if not float(norms.max()) < 2.0**LARGEST_POWER:
        raise InputError("problem.kernel: rows are longer than 1e120, and kernels of them leave double precision")


def longest_row(X: Any) -> int:
    """Entries of the longest row."""
    return int(np.diff(X.indptr).max(initial=0)) if sp.issparse(X) else X.shape[1]


def power_above(bound: float) -> float:
    """The least power of two above a bound and the rounding of its own sum: the same on every machine."""
    return math.ldexp(1.0, math.frexp(bound * (1.0 + 2.0**-20))[1])
