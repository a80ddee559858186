# Lapwing: everything a fresh machine with Python, make and a network needs.
# .venv holds the library and its tools, .venv-bench the peers we measure ourselves against.

BIN := .venv/bin
CORE := .venv/.installed-core
WEB := .venv/.installed-web
DEV := .venv/.installed-dev
PEERS := .venv-bench/.installed-bench
PYODIDE := tools/pyodide/node_modules/.package-lock.json
PROJECT := pyproject.toml uv.lock tools/setup
FRONTEND := src/lapwing/web/frontend
ASSETS := src/lapwing/web/static/manifest.json
IN_THE_BROWSER := $(addprefix src/lapwing/,*.py noise/*.py privacy/*.py mechanisms/*.py adversary/*.py web/school/judge.py)

# Set where nothing may be written beside sources: every process would compile Lapwing and all it needs anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all fuzz ready lint format assets docs wheels bench bench-models clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(WEB) $(ASSETS) ## a private analysis of a bundled data set, then the school at http://127.0.0.1:8000
	@$(BIN)/lapwing demo
	@echo "  Now yours: run . $(BIN)/activate and follow \"Private tables and SQL\" in README.md."
	@echo "  A live collection with 10,000 devices: lapwing collect demo. Then a phone of yours: docs/collect.md."
	@echo "  Two servers that answer about rows neither of them sees: lapwing pair demo. Then yours: docs/pair.md."
	@$(BIN)/lapwing serve

test: ready ## set up, then every check and every test that must pass before a change lands
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --effort -m "not sweep"

test-all: ready ## the same and the long sweeps; run it before an issue is resolved
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --effort

fuzz: $(DEV) ## random questions about random tables on every engine, with fresh seeds (FUZZ="--minutes 60 --engine postgres")
	@$(BIN)/python tools/fuzz.py $(FUZZ)

ready: $(DEV)
	@tools/system-packages
	@$(MAKE) --no-print-directory lint $(PYODIDE) $(ASSETS)

lint: $(DEV) ## ruff, mypy --strict, the layers of the house; tsc and prettier for what browsers run
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	tools/frontend .venv check

format: $(DEV) ## let ruff and prettier sort imports, fix what they can and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	tools/frontend .venv format

bench: $(PEERS) $(DEV) $(ASSETS) ## measure us, our peers and the floors side by side: noise, tables, crowds, k-anonymity, streams, hierarchies, the school, the lab, the ledger, the engines, the live collection, two servers, the start, a large model
	@status=0; .venv-bench/bin/python -m bench || status=1; .venv-bench/bin/python -m bench.tables || status=1; .venv-bench/bin/python -m bench.crowd || status=1; .venv-bench/bin/python -m bench.anonymity || status=1; .venv-bench/bin/python -m bench.streams || status=1; .venv-bench/bin/python -m bench.hierarchies || status=1; $(BIN)/python -m bench.web || status=1; $(BIN)/python -m bench.lab || status=1; $(BIN)/python -m bench.hall || status=1; $(BIN)/python -m bench.ledger || status=1; $(BIN)/python -m bench.engines || status=1; $(BIN)/python -m bench.collect || status=1; $(BIN)/python -m bench.pair --labelled || status=1; $(BIN)/python -m bench.start || status=1; $(BIN)/python -m bench.models.large || status=1; exit $$status

bench-models: $(PEERS) ## how good private models are beside diffprivlib's, 20 seeds in every cell
	@.venv-bench/bin/python -m bench.models

assets: $(ASSETS) ## what browsers load, built with Node 20 or newer

docs: $(DEV) $(ASSETS) ## the documentation as a site that can be searched; the school serves it at /docs
	@$(BIN)/python tools/documentation.py

wheels: docs ## dist/lapwing-….whl, the library alone, and dist/lapwing_web-….whl, the web application
	@for project in . src/lapwing/web; do (cd $$project && $(CURDIR)/$(BIN)/hatchling build -t wheel -d $(CURDIR)/dist) || exit 1; done

$(ASSETS): $(FRONTEND)/package-lock.json $(FRONTEND)/build.mjs $(shell find $(FRONTEND)/src -type f) $(wildcard $(IN_THE_BROWSER)) src/lapwing/web/lab/result.py tools/browser-zip tools/frontend tools/kinds.py | $(CORE)
	@tools/frontend .venv

clean: ## remove both environments and every cache
	rm -rf .venv .venv-bench tools/pyodide/node_modules
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +

$(CORE): $(PROJECT)
	@tools/setup .venv && touch $@

$(WEB): $(PROJECT)
	@tools/setup .venv --extra web --extra collect --extra pair --extra plot && touch $(CORE) $@

$(DEV): $(PROJECT)
	@tools/setup .venv --extra dev && touch $(CORE) $(WEB) $@

$(PEERS): $(PROJECT)
	@tools/setup .venv-bench --extra bench && touch $@

# Not fatal: without it the Pyodide test skips with one line (and fails where CI=true forbids skips).
$(PYODIDE): tools/pyodide/package-lock.json
	@if command -v npm > /dev/null; then cd tools/pyodide && npm ci --omit=optional --silent && touch $(notdir $(@D))/$(@F); fi \
		|| echo "npm could not install Pyodide: its test will skip."
