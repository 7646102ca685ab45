# The two commands of the README are `make demo` and `make test`; both make their own environment first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
TORCH := torch==2.13.0
# Python 3.11 or newer, the first of these that is there.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)
WORKERS ?= 2
QUICK := 'not slow and not gpu'

.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 18

# pip keeps a torch that is already there and satisfies the pin, so a second run is quick and offline.
$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "compilescope needs Python 3.11 or newer: none found on PATH" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet $(TORCH)
	$(PY) -m pip install --quiet --editable '.[dev]'
	touch $@

.PHONY: setup
setup: $(VENV)/.installed  ## make .venv with everything the project needs

# Inductor compiles C++ on a CPU; the reports are tested in a real browser, the command in a real terminal.
.PHONY: system
system:  ## Debian packages the tests need (only where they are missing)
	@tools/system-packages

.PHONY: test
test: setup system  ## lint, types, arrows, then every quick test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(PY) -m pytest -n $(WORKERS) --dist loadgroup -m $(QUICK) || { \
	  echo "once more, alone: a browser or a signal may have been late on a busy machine"; \
	  $(PY) -m pytest -m $(QUICK) --last-failed --last-failed-no-failures none; }

.PHONY: demo
demo: setup  ## record a small training script with faults, print the summary, write report.html
	@tools/demo

.PHONY: test-corpus
test-corpus: setup  ## every corpus script live, compared with its known diagnosis
	$(PY) -m pytest -n $(WORKERS) -m corpus tests/corpus

.PHONY: test-slow
test-slow: setup  ## tests kept out of make test
	$(PY) -m pytest -n $(WORKERS) -m 'slow and not gpu'

.PHONY: test-laws
test-laws: setup  ## every property test over other examples than make test takes
	$(PY) -m pytest -n $(WORKERS) -m 'hypothesis and not gpu' --hypothesis-profile=default

.PHONY: test-gpu
test-gpu: setup  ## tests that need a CUDA device
	$(PY) -m pytest -m gpu

.PHONY: bench-gpu
bench-gpu: setup  ## rungs, ladders with CUDA graphs on real traffic, predictions: on a CUDA device
	$(PY) tests/benchmarks/bucketing/gpu_rungs.py
	$(PY) tests/benchmarks/bucketing/gpu_traffic.py --part predict --out predict.json
	$(PY) tests/benchmarks/bucketing/gpu_traffic.py --part traffic --curves predict.json --out traffic.json
	$(PY) tests/benchmarks/bucketing/gpu_pieces.py
	$(PY) tests/benchmarks/bucketing/gpu_training.py
	$(PY) tests/benchmarks/tuning/gpu_assemblers.py

.PHONY: test-versions
test-versions: setup  ## table fact x torch version; VERSIONS="2.11.0 2.14.1" fetches those
	@tools/test-versions

.PHONY: bench
bench: setup  ## benchmarks: ratios measured in one run, alternating
	@for b in $$(cd tests/benchmarks && find . -name 'bench_*.py' | sort); do \
	  echo "== $$b"; $(PY) tests/benchmarks/$$b; done

.PHONY: bench-peers
bench-peers: setup  ## the same big raw log through tlparse and tlhub, each in its own environment
	$(PY) tests/benchmarks/recording/peers.py

.PHONY: fuzz
fuzz: setup  ## ten minutes of mutated logs and recordings
	$(PY) tests/benchmarks/recording/fuzz.py --minutes 5
	$(PY) tests/benchmarks/recording/fuzz_commands.py --minutes 5

.PHONY: samples
samples: setup  ## make reports/samples and the pictures of the documentation again
	$(PY) tools/samples --pictures

.PHONY: docs
docs: setup  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

.PHONY: clean
clean:  ## remove what the targets made
	rm -rf $(VENV) build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
