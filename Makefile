# One word each, the same that continuous integration runs. Everything works from a clean checkout with Python 3.11+.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= auto
DEMO := $(addprefix samples/cases/,xid79-gpu-at-95c nvswitch-sxid-then-xid74-and-gsp-timeouts assertion-error-other-ranks-tcpstore-flag-warnings)

.PHONY: help install demo test lint bench evaluate docs clean

help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | column -t -s "$$(printf '\t')"

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; say PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

install: $(STAMP) ## install the product and its tools into .venv

demo: $(STAMP) ## run all samples end to end into a SQLite database and show the verdicts
	mkdir -p build/demo
	$(BIN)/attribution run --configs samples/configs \
		--connector attribution data build/demo/store \
		--connector output db sqlite path build/demo/attributions.db \
		--connector output table stdout format table > build/demo/verdicts.txt
	tail -n 20 build/demo/verdicts.txt | cut -c -160
	@echo "The rows of all samples are in build/demo/verdicts.txt; three verdicts whole:"
	$(BIN)/attribution explain $(DEMO)

lint: $(STAMP) ## formatting, lint, types, import direction, file sizes, rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy layers/engine/attribution_lib layers/engine/attribution_service layers/blueprint/attribution_blueprint layers/blueprint/attribution_cli dashboard functions
	MYPYPATH=rules $(BIN)/mypy rules
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/attribution rules lint
	$(BIN)/attribution rules lock --check
	$(BIN)/attribution rules docs --check
	$(BIN)/attribution connectors --docs docs/reference/configuration.md --check
	$(BIN)/python scripts/write_dashboard_schemas.py --check
	$(BIN)/python scripts/coverage_page.py --check
	$(BIN)/python scripts/write_cli_reference.py --check
	$(BIN)/python scripts/write_how_it_works.py --check
	$(BIN)/python scripts/third_party_notices.py --check

test: lint ## every test that needs no extra server, a file of them on each processor (WORKERS=0: in one process)
	$(BIN)/attribution rules test
	$(BIN)/pytest --numprocesses=$(WORKERS) --maxprocesses=8 --dist=loadfile

torture: $(STAMP) ## a long run of concurrent sessions with crashes over the local store
	$(BIN)/python tests/service_torture.py --operations 200000

bench: $(STAMP) ## measure; prints JSON and writes bench/results.json
	$(BIN)/python tests/bench/run.py

evaluate: $(STAMP) ## score the samples, and how general the deciding rules are
	$(BIN)/python scripts/evaluate.py

docs: $(STAMP) ## write the generated reference pages
	$(BIN)/attribution rules docs
	$(BIN)/attribution connectors --docs docs/reference/configuration.md
	$(BIN)/python scripts/sample_configs.py
	$(BIN)/python scripts/write_dashboard_schemas.py
	$(BIN)/python scripts/coverage_page.py
	$(BIN)/python scripts/write_cli_reference.py
	$(BIN)/python scripts/write_how_it_works.py
	$(BIN)/python scripts/third_party_notices.py

clean: ## remove what the targets made
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache

# ---- the service on AWS; each tool in an environment of its own, because their requirements exclude one another
SAM := .tools/sam
MINISTACK := .tools/ministack
CONTRACT := .tools/contract
SEAWEED := .tools/seaweed
ASL := .tools/asl
ASL_VALIDATOR := 4.0.0
ARCHITECTURE ?= x86_64
export SAM_CLI_TELEMETRY := 0

.PHONY: build validate serve ministack contract seaweed torture

$(SAM)/.installed: scripts/sam-requirements.txt
	$(call environment,$(SAM),$<)

$(MINISTACK)/.installed: tests/ministack/requirements.txt
	$(call environment,$(MINISTACK),$<)

$(SEAWEED)/.installed: tests/seaweed/requirements.txt
	$(call environment,$(SEAWEED),$<)

$(CONTRACT)/.installed: tests/contract/requirements.txt
	$(call environment,$(CONTRACT),$<)

$(ASL)/.installed: Makefile
	npm install --silent --no-audit --no-fund --prefix $(ASL) asl-validator@$(ASL_VALIDATOR)
	touch $@

define environment
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check -r $(2)
	touch $(1)/.installed
endef

build: $(SAM)/.installed ## build functions and layer for deployment (ARCHITECTURE=arm64 for Graviton); no Docker
	LAYER_ARCHITECTURE=$(ARCHITECTURE) $(SAM)/bin/sam build --parameter-overrides Architecture=$(ARCHITECTURE)

validate: $(SAM)/.installed $(ASL)/.installed $(STAMP) ## check template, state machines and the API document, offline
	$(SAM)/bin/sam validate --lint --region us-east-1
	$(BIN)/python scripts/lint_state_machines.py $(SAM)/bin/cfn-lint $(ASL)/node_modules/.bin/asl-validator statemachines/*.asl.json
	ATTRIBUTION_CFN_LINT=$(CURDIR)/$(SAM)/bin/cfn-lint ATTRIBUTION_ASL_VALIDATOR=$(CURDIR)/$(ASL)/node_modules/.bin/asl-validator \
		$(BIN)/pytest -p no:randomly tests/asl
	$(BIN)/python scripts/write_openapi.py --check

serve: $(STAMP) ## serve the v2 API and the dashboard on http://127.0.0.1:8000
	$(BIN)/attribution serve

ministack: $(SAM)/.installed $(MINISTACK)/.installed $(STAMP) ## deploy the template to an emulator and drive it over HTTP
	$(BIN)/python tests/ministack/check.py $(SAM) $(MINISTACK)

seaweed: $(SEAWEED)/.installed $(STAMP) ## the object store's contract, uploads and torture on a real S3 server
	$(BIN)/python tests/seaweed/check.py $(SEAWEED)

contract: $(CONTRACT)/.installed $(STAMP) ## fuzz the local server by its API document; drive it by a generated client
	$(BIN)/python tests/contract/check.py $(CONTRACT)

# ---- real schedulers and telemetry on this machine; as root on Debian, since they are installed from there
.PHONY: slurm
REAL ?= /tmp/attribution-real

slurm: $(STAMP) ## jobs that really fail on a real Slurm of two nodes, attributed by `attribution run`
	scripts/slurm_up.sh $(REAL)/slurm
	trap 'scripts/slurm_up.sh $(REAL)/slurm --down' EXIT; \
	export SLURM_CONF=$(REAL)/slurm/etc/slurm.conf ATTRIBUTION_REAL_SLURM=1; \
	$(BIN)/pytest -p no:randomly -rP tests/slurm; \
	SLURM_MEMORY=look scripts/slurm_up.sh $(REAL)/slurm; \
	ATTRIBUTION_SLURM_KINDS=oomstep $(BIN)/pytest -p no:randomly -rP tests/slurm -k verdict_that_was_expected

.PHONY: prometheus
prometheus: $(STAMP) ## metrics of a real Prometheus with an exporter that misbehaves
	ATTRIBUTION_REAL_PROMETHEUS=1 $(BIN)/pytest -p no:randomly -rP tests/prometheus

KUBECTL := .tools/kubectl
.PHONY: kubernetes
$(KUBECTL)/.installed: tests/kubernetes/requirements.txt
	$(call environment,$(KUBECTL),$<)

kubernetes: $(KUBECTL)/.installed $(STAMP) ## the real kubectl against an API server that replays Kueue, JobSet and Pods
	ATTRIBUTION_KUBECTL=$(CURDIR)/$(KUBECTL)/bin/kubectl $(BIN)/pytest -p no:randomly tests/kubernetes

# ---- the dashboard in a real browser; Chromium is Debian's package, installed as root where it is missing
BROWSER := .tools/browser
AXE_VERSION := 4.14.1
.PHONY: browser
$(BROWSER)/.installed: tests/browser/requirements.txt
	test -x /usr/bin/chromium || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; }
	$(call environment,$(BROWSER),$<)

$(BROWSER)/axe.min.js: | $(BROWSER)/.installed
	cd $(BROWSER) && npm pack --silent axe-core@$(AXE_VERSION) && tar -xzf axe-core-$(AXE_VERSION).tgz package/axe.min.js && mv package/axe.min.js . && rm -r package axe-core-$(AXE_VERSION).tgz

browser: $(BROWSER)/.installed $(BROWSER)/axe.min.js $(STAMP) ## every page of the dashboard in Chromium: used, photographed (build/browser), checked by axe-core
	ATTRIBUTION_PYTHON=$(BIN)/python $(BROWSER)/bin/python -m pytest -p no:cacheprovider -rP tests/browser
