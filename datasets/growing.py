"""An array that grows where it lies: large memory is moved by the kernel, not copied, so that there is one of it."""

import numpy as np

from marginbench.datasets.check import Array

SHARE = 1 / 16
"""Of what is there, that is reserved beyond what is needed."""


class Growing:
    def __init__(self, dtype: type) -> None:
        self._array: Array = np.empty(1024, dtype)
        self.size = 0

    def append(self, values: Array) -> None:
        needed = self.size + values.size
        if needed > self._array.size:
            self._array.resize(needed + int(SHARE * needed), refcheck=False)  # nobody else has seen it yet
        self._array[self.size : needed] = values
        self.size = needed

    def taken(self) -> Array:
        """The array, which must not grow any more."""
        self._array.resize(self.size, refcheck=False)
        return self._array
