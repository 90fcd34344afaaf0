# Everything a fresh machine needs is Python 3.11+, git and make. Each target sets up what is missing, and does
# nothing about what is there.

PYTHON ?= python3
SEEDS ?= 2000
BIN := .venv/bin
# an installed uv is used; else one is put into .lunora/tools
UV := $(shell command -v uv 2>/dev/null || echo .lunora/tools/bin/uv)
STAMPS := .lunora/stamps
PAGE := src/lunorash/studio/page/studio.js.bin

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help dev demo test check generate studio simulate soak bench lock clean setup
help:
	@echo "make dev       serve the example app on http://localhost:8787"
	@echo "make demo      watch a short story of jobs on a Worker of its own"
	@echo "make test      lint, types, import rules and all tests"
	@echo "make studio    build the studio's page"
	@echo "make simulate  run the simulator, SEEDS=$(SEEDS) seeds on all cores"
	@echo "make soak      jobs that fail and hang, kill -9 and bad weather on real workerd, for some eight minutes"
	@echo "make bench     measure how fast it is: JSON on stdout; BENCH='--only enqueue' measures less"
	@echo "make lock      pin the newest versions that pyproject.toml and package.json allow"
	@echo "make clean     remove what was installed and generated; .dev.vars and local data stay"

dev: setup
	@$(BIN)/lunora dev

demo: setup
	@$(BIN)/lunora demo

test: check
	@echo "==> tests: some twelve minutes, most of them waiting for leases and alarms on real workerd"
	@$(BIN)/python -m tests.browser.chromium
	@$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder
	@$(BIN)/python -m tests.browser.chromium

generate: setup
	@$(BIN)/lunora codegen

check: generate
	@echo "==> lint, types, import rules"
	@$(BIN)/lunora codegen --check
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@cd studio && $(CURDIR)/$(BIN)/npm test --silent >$(CURDIR)/.lunora/studio-tests.log || { cat $(CURDIR)/.lunora/studio-tests.log; exit 1; }
	@$(BIN)/lint-imports --no-cache >.lunora/import-rules.log || { cat .lunora/import-rules.log; exit 1; }

simulate: setup
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS)

soak: setup
	@$(BIN)/python -m tests.soak $(SOAK)

bench: setup
	@$(BIN)/python -m benchmarks $(BENCH)

studio: $(PAGE)

setup: $(STAMPS)/python $(STAMPS)/node $(PAGE)

.lunora/tools/bin/uv: requirements/uv.txt
	@echo "==> uv is not installed: putting it into .lunora/tools"
	@$(PYTHON) -c 'import sys; sys.exit("Lunora needs Python 3.11 or newer; %s is %s" % (sys.executable, sys.version.split()[0]) if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .lunora/tools
	@.lunora/tools/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(STAMPS)/python: requirements/dev.txt pyproject.toml pytest-workers/pyproject.toml | $(UV)
	@echo "==> installing the Python packages, at their pinned versions"
	@test -x $(BIN)/python || $(UV) venv --quiet --python "$(PYTHON)" .venv
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . --editable pytest-workers
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/node: package.json package-lock.json $(STAMPS)/python
	@echo "==> installing wrangler and pyodide, at their pinned versions"
	@$(BIN)/npm ci --silent --no-audit --no-fund
	@touch $@

$(STAMPS)/studio-node: studio/package.json studio/package-lock.json $(STAMPS)/python
	@cd studio && $(CURDIR)/$(BIN)/npm ci --silent --no-audit --no-fund
	@touch $@

$(PAGE): studio/build.mjs studio/tsconfig.json $(wildcard studio/src/*.* studio/src/*/*.*) $(STAMPS)/studio-node
	@echo "==> building the studio's page"
	@cd studio && $(CURDIR)/$(BIN)/npm run --silent build

# uv.lock names the registry it was resolved from, so it stays out of git; these exports do not.
lock: | $(UV)
	@$(UV) lock --upgrade --python "$(PYTHON)"
	@$(UV) export --quiet --frozen --no-header --no-annotate --no-emit-workspace --all-groups --all-extras > requirements/dev.txt
	@$(UV) export --quiet --frozen --no-header --no-annotate --no-emit-workspace --no-dev --package lunorash > requirements/worker.txt
	@cp requirements/worker.txt src/lunorash/template/requirements/worker.txt
	@$(BIN)/npm install --package-lock-only --silent
	@cd studio && $(CURDIR)/$(BIN)/npm install --package-lock-only --silent

clean:
	rm -rf studio/node_modules src/lunorash/studio/page .screenshots
	rm -rf .venv node_modules python_modules .lunora dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
