"""`python -m marginbench` is the command `marginbench`."""

import sys

from marginbench.harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
