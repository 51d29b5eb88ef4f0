# `make run` and `make test` need python3 with venv, and nothing else: everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
EXTRAS ?=

.PHONY: install run test check format pins clean

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
	$(BIN)/pytest

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
