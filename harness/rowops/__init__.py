"""Row operations that every solver may use: rows one at a time (dense and CSR alike), and passes over all of them."""

from marginbench.harness.rowops.passes import combine, margins, products, squared_norms
from marginbench.harness.rowops.rows import CSR, FAST, Dense, add, dot, norm2, read_only, rows_of

__all__ = [
    "CSR",
    "FAST",
    "Dense",
    "add",
    "combine",
    "dot",
    "margins",
    "norm2",
    "products",
    "read_only",
    "rows_of",
    "squared_norms",
]
