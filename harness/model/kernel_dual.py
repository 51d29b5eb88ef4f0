"""The dual with a kernel, as a program: what stands for w has no coordinates."""

from dataclasses import dataclass, replace

import numpy as np

from marginbench.harness.model.best_bias import ends_of_bias
from marginbench.harness.model.problem import Array, Matrix
from marginbench.harness.model.programs import Program, box_residual


@dataclass(frozen=True, eq=False)
class KernelDual(Program):
    """max sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j K_ij - 1/2 sum_i curvature_i a_i^2,  0 <= a_i <= upper_i
    and, where `equality`, sum_i a_i y_i = 0.

    BoxDual with a kernel, K positive semidefinite. x is alpha; w has no coordinates, and its image stands for it.
    Where K does not fit into memory its rows are computed (`KernelRows`), for solvers with `rows_of_kernel`.
    """

    K: Matrix
    y: Array
    upper: Array
    curvature: Array
    equality: bool = False

    @property
    def n(self) -> int:
        return self.y.size

    def head(self, k: int = 2) -> "KernelDual":
        """The program of the first k samples."""
        K = self.K[:k, :k].copy() if isinstance(self.K, np.ndarray) else self.K.head(k)
        return replace(self, K=K, y=self.y[:k], upper=self.upper[:k], curvature=self.curvature[:k])

    def smallest(self) -> "KernelDual":
        one = np.ones(2)
        return replace(self, K=np.eye(2), y=np.array([1.0, -1.0]), upper=one, curvature=0.0 * one)

    def squares(self) -> Array:
        """||phi(x_i)||^2"""
        return self.K.diagonal().copy()

    def image(self, alpha: Array) -> Array:
        """w(alpha).phi(x_i) for all i"""
        return self.K @ (alpha * self.y)

    def scores(self, image: Array) -> Array:
        """The image as it is."""
        return image

    def norm2(self, alpha: Array, image: Array) -> float:
        """||w(alpha)||^2"""
        return max(0.0, float((alpha * self.y) @ image))

    def falls_without_end(self, alpha: Array, image: Array, radius: float) -> bool:
        """C is finite with a kernel: the dual has an optimum."""
        return False

    def gradient(self, alpha: Array, b: float = 0.0) -> Array:
        """Gradient of the negated objective: m_i - 1 + curvature_i alpha_i at w(alpha)."""
        return self.y * (self.image(alpha) + b) - 1.0 + self.curvature * alpha

    def bias(self, alpha: Array, gradient: Array) -> float:
        """b, in the middle of what the rows allow; gradient: that at b = 0."""
        ends = ends_of_bias(-self.y * gradient, self.y, alpha, self.upper)
        return float(np.mean([end for end in ends if np.isfinite(end)] or [0.0]))

    def residual(self, x: Array, dual: Array | None) -> float | None:
        """As that of BoxDual, at the best b."""
        gradient = self.gradient(x)
        if self.equality:
            gradient = gradient + self.y * self.bias(x, gradient)
        return box_residual(x, gradient, self.y, self.upper, self.equality)
