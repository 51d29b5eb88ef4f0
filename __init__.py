"""marginbench: certified benchmarks of solvers for the linear max-margin problem."""
