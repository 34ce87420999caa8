# The one door. `make run` and `make test` set everything up themselves; a second call sets nothing up again.
SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

# The first interpreter that is new enough; override with `make PYTHON=...`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: help run test check coverage format generate rights cluster bench bench-build bench-quick clean
help: ## what this file can do
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "dynamo_ctrl needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3"; exit 2; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: $(STAMP) ## the main job on the embedded engine: a sample graph from apply to Ready, then a rolling image change
	@$(BIN)/dynamo-manager run --engine memory --until-ready --timeout 60s --log-level warning \
		--apply config/samples/graph.yaml --apply config/samples/graph-new-frontend.yaml

test: $(STAMP) ## every test; with CI=1 nothing that can run may be skipped
	@$(BIN)/python -m pytest

check: $(STAMP) ## format, lint, types, import contract, docstrings
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP) ## rewrite the code in the one format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

coverage: $(STAMP) ## branch coverage of dynamo_ctrl (a run of its own: no cluster, no million keys, few numbers of each sweep)
	@$(BIN)/python -m coverage run -m pytest -q -m "not cluster" --every 40 --ignore tests/dynamo_ctrl/queue/test_workqueue_scale.py \
		tests/dynamo_ctrl tests/conformance tests/simulation
	@$(BIN)/python -m coverage report

generate: $(STAMP) ## write config/crd from the models and a kube-apiserver's own types
	@$(BIN)/python -m envtest.openapi
	@$(BIN)/dynamo-manager crds --output config/crd

rights: $(STAMP) ## write the roles in config/ from what the manager is seen to need on a real cluster
	@$(BIN)/python -m envtest.rights

cluster: $(STAMP) ## a real test cluster; prints its kubeconfig path, stops on Ctrl-C
	@$(BIN)/python -m envtest

bench: $(STAMP) ## side by side with controller-runtime, kube-rs and kopf; single rows: make bench ROWS=fill-10k,get
	@$(BIN)/python -m tests.benchmarks $(if $(ROWS),--rows $(ROWS)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SERVER),--kubeconfig $(SERVER))

bench-build: $(STAMP) ## build what bench needs into the cache folder, so that a run only measures
	@$(BIN)/python -m tests.benchmarks --build

bench-quick: $(STAMP) ## the in-process benchmarks of ours alone, small, to see that they run
	@$(BIN)/python -m tests.benchmarks --quick

clean: ## forget the virtual environment and every cache in the checkout
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
