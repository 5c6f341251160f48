# Two commands do everything: `make demo` and `make test`. Both set up .venv first.

PYTHON ?= python3
WORKERS ?= 2
SECONDS ?= 120
SEED ?= 0
TARGET ?= problems
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install -qq --no-input --disable-pip-version-check
INSTALL := $(BIN)/python $(PIP_INSTALL) --constraint constraints.txt
# Everything is built without isolation, so that the build backends are pinned as well. PySpark needs setuptools and wheel.
BUILD_BACKENDS := hatchling setuptools wheel
# One BLAS thread for each test worker, or they fight for the cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint format types imports unit test-oldest dist test-wheel fuzz bench paper docs constraints clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.core ## a selection on real data with its report, then the paper's comparison
	@$(BIN)/python examples/demo.py

test: lint types imports unit ## everything that must hold: lint, types, import rules, tests

lint: $(VENV)/.dev ## style, by ruff
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/.dev ## let ruff fix what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/.dev ## static types, by mypy
	$(BIN)/mypy

imports: $(VENV)/.dev ## imports point one way, by import-linter
	$(BIN)/lint-imports

unit: $(VENV)/.dev ## tests and doctests, with coverage
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --cov --cov-report=term:skip-covered

test-oldest: $(VENV)-oldest/.test ## tests with the oldest supported versions, which need Python 3.11 or 3.12
	$(ONE_THREAD) $(VENV)-oldest/bin/python -m pytest -q -n $(WORKERS) --dist loadgroup

dist: $(VENV)/.core ## the source distribution and the wheel, in dist
	rm -rf dist
	$(BIN)/python -m hatchling build

test-wheel: dist ## tests of the wheel as it is installed
	rm -rf $(VENV)-wheel
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python $(PIP_INSTALL) --constraint constraints.txt $(BUILD_BACKENDS)
	$(VENV)-wheel/bin/python $(PIP_INSTALL) --constraint constraints.txt --no-build-isolation "$$(echo dist/*.whl)[test]"
	$(ONE_THREAD) $(VENV)-wheel/bin/python -m pytest -q -n $(WORKERS) --dist loadgroup tests

fuzz: $(VENV)/.dev ## random problems, or with TARGET=files damaged files, for SECONDS, from number SEED on
	$(ONE_THREAD) PYTHONPATH=tests $(BIN)/python tests/fuzz.py --target $(TARGET) --seconds $(SECONDS) --seed $(SEED) --jobs $(WORKERS)

bench: $(VENV)/.bench ## workloads and rivals
	$(BIN)/python -m benchmarks

paper: $(VENV)/.paper ## the paper's tables and figures, in docs/paper.md (about 10 minutes of processor time)
	$(BIN)/python -m experiments.paper --jobs $(WORKERS) --markdown docs/paper.md --overwrite

docs: $(VENV)/.docs ## the site, in docs/_build/html
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

constraints: ## renew constraints.txt: the newest of everything, by name and version
	rm -rf $(VENV)-fresh
	$(PYTHON) -m venv $(VENV)-fresh
	$(VENV)-fresh/bin/python -m pip install -qq --no-input $(BUILD_BACKENDS) -e '.[dev,bench,paper,docs]'
	$(VENV)-fresh/bin/python -m pip freeze --all --exclude-editable | grep -v '^pip==' | grep -E '^[A-Za-z0-9._-]+==[^ ]+$$' | LC_ALL=C sort -f -t= -k1,1 > constraints.txt
	rm -rf $(VENV)-fresh

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) $(VENV)-fresh $(VENV)-oldest $(VENV)-wheel build dist docs/_build htmlcov .coverage .coverage.* .hypothesis
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: the library alone, then what each task adds.
$(VENV)/.core: pyproject.toml constraints.txt
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) $(BUILD_BACKENDS)
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev $(VENV)/.bench $(VENV)/.paper $(VENV)/.docs: $(VENV)/.%: $(VENV)/.core
	@echo "adding the tools of '$*' to $(VENV)"
	@$(INSTALL) --no-build-isolation -e '.[$*]'
	@touch $@

# constraints-oldest.txt takes precedence; everything that it does not name has the version of constraints.txt.
$(VENV)-oldest/.test: pyproject.toml constraints.txt constraints-oldest.txt
	@echo "setting up $(VENV)-oldest"
	@$(PYTHON) -m venv $(VENV)-oldest
	@awk -F== 'NR == FNR { oldest[tolower($$1)]; print; next } !(tolower($$1) in oldest)' \
		constraints-oldest.txt constraints.txt > $(VENV)-oldest/constraints.txt
	@$(VENV)-oldest/bin/python $(PIP_INSTALL) --constraint $(VENV)-oldest/constraints.txt $(BUILD_BACKENDS)
	@$(VENV)-oldest/bin/python $(PIP_INSTALL) --constraint $(VENV)-oldest/constraints.txt --no-build-isolation -e '.[test]'
	@touch $@
