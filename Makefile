# Both commands of the README do all set-up themselves; what they need from the machine: Python 3.11+, Java 17+, Maven.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The pip that Python 3.11 brings looks at every file of every project for twice as long as the rest takes.
PIP := 26.3
CYCLONEDX := 7.5.0
DEMO := $(VENV)/.installed-demo
TEST := $(VENV)/.installed-test

.DEFAULT_GOAL := help
.PHONY: help demo quick test long simulate lint style types layers docstrings format reference bench experiments install constraints clean
.DELETE_ON_ERROR:

help:  ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO)  ## Run the whole system on a local Kafka with real data
	$(BIN)/python -m stream_app demo

# What one process of a run compiled, no other one compiles again, whatever the caller's environment says of it.
quick test long: export PYTHONDONTWRITEBYTECODE :=
quick test long: export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
# Every process that imports numpy would start a thread of linear algebra for each core: half of what the import costs.
quick test long: export OPENBLAS_NUM_THREADS := 1

# A file stays in one process. Tests with a broker wait for much of their time: more processes than small machines have cores.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder
quick: $(TEST)  ## Test what needs no Kafka: pure code, and the twin in memory with few seeds
	$(PYTEST) --numprocesses auto --maxprocesses 4 --speed quick $(ARGS)

test: $(TEST)  ## Check and test everything, with a real Kafka broker
	$(PYTEST) --numprocesses 4 --speed test --durations 25 --durations-min 5 $(ARGS)

long: $(TEST)  ## Test what takes hours: every row, page and kill, and 1,000,000 draws
	$(PYTEST) --numprocesses 4 --speed long --durations 25 $(ARGS)

SEEDS ?= 10000
FIRST ?= 1
simulate: $(TEST)  ## Run whole lives of workers in virtual time: make simulate SEEDS=10000 FIRST=1
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) --first $(FIRST)

lint: style types layers docstrings spelling  ## Check style, types, layers, docstrings and spelling

style: $(TEST)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

TYPED ?= stream_app landmark_stream benchmarks experiments docs tests examples
types: $(TEST)
	$(BIN)/mypy $(TYPED)

layers: $(TEST)
	$(BIN)/lint-imports --no-cache

docstrings: $(TEST)
	$(BIN)/interrogate --quiet stream_app landmark_stream benchmarks experiments docs tests deploy

spelling: $(TEST)
	$(BIN)/codespell

format: $(TEST)  ## Put the code in the formatter's shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

reference: $(TEST)  ## Write docs/reference anew from the code
	$(BIN)/python -m docs.generator

bench: $(DEMO)  ## Measure against bare clients: make bench NAME=worker ARGS="--events 1000" (without NAME: all)
	@$(BIN)/python -m benchmarks $(NAME) $(ARGS)

experiments: $(DEMO)  ## Repeat the papers' experiments: make experiments ARGS="--help"
	@$(BIN)/python -m experiments $(ARGS)

install: $(TEST)  ## Make the environment alone

constraints:  ## Take the newest versions of all dependencies into constraints.txt
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --quiet pip==$(PIP)
	build/constraints/bin/pip install --quiet .[demo,test,notebook]
	build/constraints/bin/pip freeze --exclude landmark-stream > constraints.txt
	$(MAKE) hashes LOCKER=build/constraints/bin/python

LOCKER ?= $(BIN)/python
hashes:  ## Write the image's hashed locks from constraints.txt
	$(LOCKER) deploy/image/lock.py

SBOM := build/sbom
sbom:  ## Install as the image does and write build/sbom/sbom.json, a bill of materials in CycloneDX
	rm -rf $(SBOM)
	mkdir -p $(SBOM)
	PYTHON=$(PYTHON) deploy/image/install . $(SBOM)/environment
	$(PYTHON) -m venv $(SBOM)/tool
	$(SBOM)/tool/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom==$(CYCLONEDX)
	$(SBOM)/tool/bin/cyclonedx-py environment --output-reproducible --validate --pyproject pyproject.toml \
		--output-format JSON --output-file $(SBOM)/sbom.json $(SBOM)/environment/bin/python

clean:  ## Remove what this file made; data and keys of the demo stay
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' \
		|| { echo "Python's venv is missing: sudo apt-get install --yes python3-venv"; exit 1; }
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check pip==$(PIP)

# The demo needs half of what the tests need. Not compiling halves the time: Python compiles what it really imports.
$(DEMO): INSTALL := .[demo]
$(TEST): INSTALL := .[demo,test]
$(DEMO) $(TEST): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/pip install -qq --no-compile --disable-pip-version-check -c constraints.txt -e '$(INSTALL)'
	@touch $(if $(findstring test,$(INSTALL)),$(DEMO)) $@
