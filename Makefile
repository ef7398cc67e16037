# Everything sets itself up: the virtual environment, the npm packages, a browser and the model.
#   make demo    the demo and the API on loopback, and one answer from each tier (ONCE=1: print and stop)
#   make test    every check and test
#   make check   format, lint, types and unit tests, for every commit
PYTHON ?= python3
ONCE ?=

BIN := .venv/bin
VENV := .venv/.ready
NODE := node_modules/.ready
MODEL := build/models/sentiment/edgeinfer.json
MINILM := build/models/minilm/edgeinfer.json
SITE := build/site/.ready

# What the bytes of a packed model depend on, beside its own head and recipe.
PACKING := $(VENV) tools/fetch_sources.py $(wildcard edgeinfer_browser/cli/pack*.py edgeinfer_browser/packing/*.py edgeinfer_browser/quantization/*.py) $(wildcard edgeinfer_browser/manifest/*.*)
MINILM_ATTRIBUTION := --attribution "all-MiniLM-L6-v2 (sentence-transformers), Apache-2.0"
recipe = $(addprefix --quantization ,$(wildcard models/$(1)/quantization.json))
TORCH := .cache/torch-venv

PACKAGE_FILES := $(shell find edgeinfer_browser -name '*.py' -o -name '*.json')
SHIM_FILES := $(wildcard js_shim/*.js)

.PHONY: demo test check setup machine model head site lint unit shim pyodide browser conformance conformance-full torch bench format lock lock-torch clean
.DELETE_ON_ERROR:

demo: setup
	$(BIN)/python tools/demo.py $(if $(ONCE),--once)

test: setup check pyodide conformance torch browser

check: lint unit shim

setup: machine $(VENV) $(NODE) $(MODEL) $(SITE)

machine:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 7))' || { echo "set-up: Python 3.11 or newer is needed"; exit 1; }
	@$(PYTHON) tools/check_machine.py

$(VENV): requirements-dev.txt pyproject.toml package.json | machine
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(NODE): package-lock.json | machine
	npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

model: $(MODEL) $(MINILM)

$(MODEL): models/sentiment/head.json $(wildcard models/sentiment/quantization.json) $(PACKING) | $(SITE)
	$(BIN)/python tools/fetch_sources.py
	$(BIN)/edgeinfer pack .cache/sources/minilm build/models/sentiment --task text-classification --max-length 256 \
	  --head $< $(call recipe,sentiment) --license Apache-2.0 $(MINILM_ATTRIBUTION) \
	  --attribution "Head trained on texts of vaderSentiment (Hutto & Gilbert 2014), MIT"
	@touch $@

$(MINILM): $(wildcard models/minilm/quantization.json) $(PACKING) | $(SITE)
	$(BIN)/python tools/fetch_sources.py
	$(BIN)/edgeinfer pack .cache/sources/minilm build/models/minilm --task feature-extraction --max-length 256 \
	  $(call recipe,minilm) --license Apache-2.0 $(MINILM_ATTRIBUTION)
	@touch $@

# Trains the sentiment head anew, from texts that evaluation does not use.
head: $(VENV)
	$(BIN)/python tools/fetch_sources.py
	$(BIN)/python tools/sentiment_data.py
	$(BIN)/edgeinfer head fit .cache/sentiment/train.jsonl --encoder .cache/sources/minilm --max-length 256 \
	  --name sentiment --group document --out models/sentiment/head.json

site: $(SITE)

$(SITE): $(VENV) $(NODE) $(PACKAGE_FILES) $(SHIM_FILES) $(wildcard demo/*) pyproject.toml package.json
	$(BIN)/python tools/build_site.py
	@touch $@

lint: $(VENV) $(NODE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	npx --no-install prettier --check --log-level warn .
	npx --no-install tsc

unit: $(VENV)
	$(BIN)/python -m pytest tests/unit

shim: $(NODE)
	node --test tests/shim/

pyodide: $(SITE) $(MODEL)
	$(BIN)/python tools/fetch_micropip.py
	$(BIN)/python tools/fetch_tokenizers.py
	$(BIN)/python -m pytest tests/pyodide

conformance: $(VENV) $(MODEL)
	$(BIN)/python tools/fetch_tokenizers.py
	$(BIN)/python -m pytest tests/conformance

# 200,000 random strings of each tokenizer; half an hour on two cores, and goes on where it was stopped.
conformance-full: $(VENV) $(MODEL)
	$(BIN)/python tools/fetch_tokenizers.py --all
	PYTHONPATH=.:tools $(BIN)/python -m tests.conformance.full

# PyTorch is large and only needed where a model is exported: it has a virtual environment of its own.
torch: $(TORCH)/.ready $(MODEL)
	$(BIN)/python tools/fetch_test_models.py minilm_torch
	$(TORCH)/bin/python -m pytest tests/torch

$(TORCH)/.ready: requirements-torch.txt | machine
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/pip install --quiet --disable-pip-version-check -r requirements-torch.txt
	@touch $@

browser: $(SITE) $(MODEL) $(MINILM)
	$(BIN)/python tools/fetch_test_models.py open_nsfw
	$(BIN)/python -m pytest tests/browser

bench: $(SITE) $(MODEL)
	$(BIN)/python tools/fetch_tokenizers.py
	$(BIN)/edgeinfer bench latency
	$(BIN)/edgeinfer bench tokenizers

format: $(VENV) $(NODE)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	npx --no-install prettier --write --log-level warn .

# All packages, pinned, from the direct ones in requirements-dev.in.
lock:
	rm -rf .cache/lock && $(PYTHON) -m venv .cache/lock
	.cache/lock/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.in
	{ echo "# Written by make lock from requirements-dev.in."; .cache/lock/bin/pip freeze; } > requirements-dev.txt

lock-torch:
	rm -rf .cache/lock && $(PYTHON) -m venv .cache/lock
	.cache/lock/bin/pip install --quiet --disable-pip-version-check -r requirements-torch.in
	{ echo "# Written by make lock-torch from requirements-torch.in."; .cache/lock/bin/pip freeze | sed 's/+cpu$$//'; } > requirements-torch.txt

clean:
	rm -rf build .venv node_modules edgeinfer_browser/_shim
