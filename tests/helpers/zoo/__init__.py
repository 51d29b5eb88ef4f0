"""The zoo: solvers that are wrong, sloppy or cheat, the problems they are tried on, and what each must get."""
