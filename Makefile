# `make run` and `make test` need python3 with venv, and nothing else: everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
EXTRAS ?=

.PHONY: install run test test-long test-cluster test-browser test-commercial check format pins clean

install: .venv/installed

.venv/installed: pyproject.toml requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -r requirements.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	@touch $@

run: install
	$(BIN)/marginbench run $(or $(ARGS),experiment=comparison)

test: install
	$(BIN)/pytest -m "not long"

# Whole commands, clones of the tree, hostile solvers by the dozen: ten minutes more.
test-long: install
	$(BIN)/pytest -m long

# On a real Slurm of two nodes that the tests start and stop; needs the packages slurm-wlm and munge.
test-cluster: install
	$(BIN)/pytest -n 0 tests/cluster

# Needs chromium on the path, and AXE=.../axe-core/axe.min.js from npm: `.ci/run` has both.
test-browser: install
	$(BIN)/pytest -n 0 tests/browser

# Installs extras: `commercial` solves small programs without a licence, `peers` is compiled with g++.
test-commercial: install
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e ".[commercial,peers,qp]"
	$(BIN)/pytest -n 0 tests/commercial tests/solvers/test_quadratic_adapters.py tests/model/test_needs.py

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Pins for every supported Python and platform; plain names and versions, no addresses.
pins:
	$(BIN)/uv pip compile --universal --quiet --no-header --no-annotate --extra dev pyproject.toml -o requirements.txt

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
