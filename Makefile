# make            = make test          make test-real = the real Claude Code and Codex (npm)
# make check      = lint, types, architecture   make bench = the figures of benchmarks/
# make docs       = docs/configuration.md from the code
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One worker more than there are cores: many tests wait for a process or a socket.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

.DEFAULT_GOAL := test
.PHONY: test check format test-real test-slow bench docs clean

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

test: check
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m 'not real and not slow' tests

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test-real: $(VENV)/.ready
	$(BIN)/pytest -m real tests/real

test-slow: $(VENV)/.ready
	$(BIN)/pytest -n $(WORKERS) -m slow tests

bench: $(VENV)/.ready
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

docs: $(VENV)/.ready
	$(BIN)/python -m memex_core.config.reference > docs/configuration.md.new
	mv docs/configuration.md.new docs/configuration.md

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
