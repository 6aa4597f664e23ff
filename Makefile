# Every target sets up what it needs: a virtual environment in .venv, and kfeat installed into it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help quickstart test lint format data reproduce-all check bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

quickstart: $(READY)  ## run the main job on bundled data: table and figure in half a minute
	$(BIN)/kfeat run configs/quickstart.yaml

test: $(READY)  ## run all tests (no network; real data where KFEAT_MIRROR is set)
	$(BIN)/python -m pytest

lint: $(READY)  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

data: $(READY)  ## download and verify every dataset
	$(BIN)/kfeat data fetch --all

reproduce-all: $(READY)  ## run every config, go on where it stopped, and end with the verdicts
	$(BIN)/kfeat run configs
	$(BIN)/kfeat check configs

check: $(READY)  ## hold your rows against the papers and against results/
	$(BIN)/kfeat check configs

bench: $(READY)  ## speed beside scikit-learn and the packages' own bridges, as ratios
	$(BIN)/python -m scripts.bench

clean:  ## remove the environment and the caches; runs/ and results/ stay
	rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache
