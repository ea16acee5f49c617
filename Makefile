# Everything that a fresh machine with Python 3.11 needs: see README.md.

PYTHON ?= python3.11
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: setup setup-demo demo report test check lint clean

# The demo needs no PyTorch.
$(VENV)/.demo: requirements/demo.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(VENV)/.all: requirements/all.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@ $(VENV)/.demo

setup: $(VENV)/.all

setup-demo: $(VENV)/.demo

# The main job on the embedded sample: tables and figures in results/.
demo: setup-demo
	$(BIN)/snakemake --cores all
	$(BIN)/snakemake --report report.html

# All tests. `make check` leaves out the slow ones.
test: setup
	$(BIN)/python -m pytest -n auto

check: setup
	$(BIN)/python -m pytest -n auto -m "not slow"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

clean:
	rm -rf results logs benchmarks journal report.html .snakemake
