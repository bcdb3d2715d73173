# One word each, the same that continuous integration runs. Everything works from a clean checkout with Python 3.11+.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
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

demo: $(STAMP) ## attribute the sample failures and show the verdicts
	$(BIN)/attribution explain --table samples/cases/*
	$(BIN)/attribution explain $(DEMO)

lint: $(STAMP) ## formatting, lint, types, import direction, file sizes, rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy layers/engine/attribution_lib layers/engine/attribution_service layers/blueprint/attribution_blueprint layers/blueprint/attribution_cli
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/attribution rules lint
	$(BIN)/attribution rules lock --check
	$(BIN)/attribution rules docs --check

test: lint ## every test that needs no extra server
	$(BIN)/attribution rules test
	$(BIN)/pytest

torture: $(STAMP) ## a long run of concurrent sessions with crashes over the local store
	$(BIN)/python tests/service_torture.py --operations 200000

bench: $(STAMP) ## measure; prints JSON and writes bench/results.json
	$(BIN)/python tests/bench/run.py

evaluate: $(STAMP) ## score the samples, and how general the deciding rules are
	$(BIN)/python scripts/evaluate.py

docs: $(STAMP) ## write the generated reference pages
	$(BIN)/attribution rules docs

clean: ## remove what the targets made
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
