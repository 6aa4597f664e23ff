# Every target sets up what it needs: a virtual environment in .venv, and kfeat installed into it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed
DOCS_READY := .venv/.docs-installed
# A process for each core, each on one thread, up to eight (each needs half a gigabyte or more); one that has
# no test left takes some from another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses logical --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help quickstart test test-slow fuzz lint format data reproduce-fast reproduce-all reproduce-papers \
	reproduce-survey reproduce-own check pages bench docs clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

quickstart: $(READY)  ## run the main job on generated data: table and figure in half a minute
	$(BIN)/kfeat run configs/quickstart.yaml

test: $(READY)  ## run the tests and the examples in docstrings (no network; real data where KFEAT_MIRROR is set)
	$(PYTEST) -m "not slow"

test-slow: $(DOCS_READY)  ## run the slow tests: statistics over many draws, large files, clusters, the documentation in a browser
	$(PYTEST) -m slow

fuzz: $(READY)  ## attack configs, rows, data files and the library with thousands of mutations
	KFEAT_FUZZ=5000 $(PYTEST) tests/fuzz

lint: $(READY)  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

data: $(READY)  ## download and verify every dataset
	$(BIN)/kfeat data fetch --all

# Two configs that cost little and say much, and two tables without their exact machines, once.
FAST := configs/quickstart.yaml configs/pham_pagh_2013/lemmas.yaml configs/pham_pagh_2013/figure1.yaml
FAST_TABLES := configs/pham_pagh_2013/table1_adult.yaml configs/pham_pagh_2013/table1_gisette_mnist.yaml

reproduce-fast: $(READY)  ## a subset in under ten minutes, and its verdicts
	$(BIN)/kfeat run $(FAST)
	$(BIN)/kfeat run $(FAST_TABLES) --no-exact --repeats 1
	$(BIN)/kfeat check $(FAST)
	$(BIN)/kfeat check $(FAST_TABLES) --no-exact --repeats 1

# What the papers print: their tables and figures, the slides, and what was run of Wu et al. REPEATS=1 draws each map once
# and ends exact machines after ten minutes, with a bound in the place of their time: 2.4 hours on two cores before Wu et
# al. were added (results/reproduce_all.md).
PAPERS := $(sort $(wildcard configs/*/figure*.yaml configs/*/table*.yaml configs/bellet_2020/[!_]*.yaml configs/wu_2016/[!_]*.yaml))
# The study of the maps: what each method chose, its rows, and the rules of thumb that advice is held against.
SURVEY := $(sort $(wildcard configs/survey/choices_*.yaml configs/survey/study_*.yaml configs/survey/rules_*.yaml))
OWN := $(filter-out $(PAPERS) $(SURVEY),$(sort $(shell find configs -name '[!_]*.yaml')))
LIMITS := $(if $(REPEATS),--repeats $(REPEATS) --time-limit 10m,--time-limit 1h)
# Run on all cores, then one at a time for times (not with REPEATS), and compare with the paper and with results/.
reproduce = @trap "exit 130" INT; began=$$(date +%s); status=0; \
	$(BIN)/kfeat run $(1) --jobs auto $(LIMITS) || status=$$?; \
	$(if $(REPEATS),,$(BIN)/kfeat run $(1) --timed-runs 1 $(LIMITS) || status=$$?;) \
	$(BIN)/kfeat check --all $(1) --details $(if $(REPEATS),--repeats $(REPEATS)) || status=$$?; \
	$(BIN)/kfeat plan $(1) --missing $(if $(REPEATS),--repeats $(REPEATS)); \
	took=$$(( $$(date +%s) - began )); \
	echo "make $@ took $$(( took / 3600 )) hours and $$(( took % 3600 / 60 )) minutes"; exit $$status

reproduce-all: $(READY)  ## run all that the papers print, and the study; REPEATS=1 draws each map once
	$(call reproduce,$(PAPERS) $(SURVEY))

reproduce-papers: $(READY)  ## run all that the papers print
	$(call reproduce,$(PAPERS))

reproduce-survey: $(READY)  ## run the study of the maps
	$(call reproduce,$(SURVEY))

reproduce-own: $(READY)  ## run kfeat's other experiments
	$(call reproduce,$(OWN))

check: $(READY)  ## the scoreboard: every printed number and claim of the papers, and what is published
	$(BIN)/kfeat check --all

# The texts that configs quote come before the tables that show them, and these before the pages that show the tables.
pages: $(READY)  ## make all pages of results/ and docs/ anew from the published rows; ALL=1 also draws every figure
	$(BIN)/python -m scripts.study answers $(if $(ALL),--all)
	$(BIN)/python -m scripts.wu_answers
	$(BIN)/python -m scripts.readme
	$(BIN)/python -m scripts.redraw $(if $(ALL),--all)
	$(BIN)/python -m scripts.readme

bench: $(READY)  ## speed beside what people use now, in about 20 minutes; pages in runs/bench/
	$(BIN)/python -m scripts.bench --save runs/bench

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

docs: $(DOCS_READY)  ## build the documentation into docs/_build
	$(BIN)/sphinx-build -W --keep-going --jobs auto -c docs . docs/_build

clean:  ## remove the environment and the caches; runs/ and results/ stay
	rm -rf docs/_build docs/generated docs/gallery
	rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache
