# `make help` lists the targets. They need python3 ≥ 3.11 and install into .venv* in this folder.

PYTHON ?= python3
bin := .venv/bin
ARGS ?=

# Trust the certificates of the system, not only uv's own: needed behind a proxy that inspects TLS.
export UV_SYSTEM_CERTS ?= true

# Modules are compiled once, not by each of the hundreds of processes that tests start, also where the shell says else.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow explore test-on check lint types imports prose docs catalog catalog-check catalog-lint measure measure-check lock release clean

usual := demo test check page catalog store-key deploy smoke publish logs

help: ## list the targets, the usual ones first
	@for target in $(usual); do grep -hE "^$$target:.*## " $(MAKEFILE_LIST); done | $(as_lines)
	@echo && echo "all others:"
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | grep -vE '^($(subst $(space),|,$(usual))):' | sort | $(as_lines)

space := $(subst ,, )
as_lines := awk -F ':.*\#\# ' '{printf "  make %-16s %s\n", $$1, $$2}'

# uv installs the rest, with the same hash checks as pip, in a tenth of the time.
.venv/bin/uv: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "toolfold needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(bin)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	touch $@

# The packages that toolfold needs to run; the demo needs no others.
.venv/.package: .venv/bin/uv requirements/package.txt pyproject.toml
	VIRTUAL_ENV=.venv $(bin)/uv pip install --quiet --require-hashes -r requirements/package.txt
	echo "$(CURDIR)/layers/core" > "$$($(bin)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/toolfold.pth"
	touch $@

# The packages for tests and checks, and toolfold itself with its console script.
.venv/.dev: .venv/.package requirements/dev.txt
	VIRTUAL_ENV=.venv $(bin)/uv pip install --quiet --require-hashes -r requirements/dev.txt
	VIRTUAL_ENV=.venv $(bin)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: .venv/.package ## answer "give me aapl price" in two calls, offline
	@$(bin)/python -m toolfold demo

# The tests of these folders have targets of their own; importing them takes as long as a hundred tests.
elsewhere := --ignore=tests/browser --ignore=tests/conformance

test: .venv/.dev ## run the tests (under five minutes)
	$(bin)/python -m pytest -n auto --dist worksteal $(elsewhere) -m "not e2e and not clients and not slow and not semantic" $(ARGS)

.PHONY: postgresql
postgresql: .venv/.dev ## find the programs of PostgreSQL for the tests, or install them
	scripts/install-postgresql

test-slow: .venv/.dev .venv-sam/.installed postgresql ## run the slow tests; part of `check`
	$(bin)/python -m pytest -n auto --dist worksteal -m "slow and not e2e and not clients" $(ARGS)

explore: .venv/.dev postgresql ## run the property tests with many more examples, different ones each time
	$(bin)/python -m pytest -n auto --dist worksteal -m "hypothesis and not e2e and not clients" --hypothesis-profile=long $(ARGS)

# `test` runs on the oldest supported Python; the fast tests show differences of newer ones.
TESTS ?= tests/unit tests/integration
test-on: .venv/bin/uv ## run the fast tests on another Python: make test-on VERSION=3.13
	python="$$(scripts/find-python $(VERSION))" && $(bin)/uv venv --quiet --allow-existing --python "$$python" .venv-$(VERSION)
	VIRTUAL_ENV=.venv-$(VERSION) $(bin)/uv pip install --quiet --require-hashes -r requirements/dev.txt
	VIRTUAL_ENV=.venv-$(VERSION) $(bin)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	.venv-$(VERSION)/bin/python -m pytest -n auto --dist worksteal -m "not e2e and not clients and not slow and not semantic" \
		$(TESTS) $(ARGS)

# On 3.11 coverage takes a third of the time of a test; from 3.12 on the interpreter counts lines almost for free.
coverage: ## run the fast tests on Python 3.13, and fail below 90 % of the lines
	COVERAGE_CORE=sysmon $(MAKE) test-on VERSION=3.13 ARGS="--cov --cov-report=term:skip-covered --cov-fail-under=90"

check: lint prose types imports size-check docs catalog-check catalog-lint measure-check eval-agent test-slow semantic ui-test browser release validate e2e clients clients-built ## run everything else that CI runs

lint: .venv/.dev ## check style and format with ruff
	$(bin)/ruff check .
	$(bin)/ruff format --check .

types: .venv/.dev ## check types with mypy, strict
	$(bin)/mypy

.PHONY: size size-check trace
size: .venv/.dev ## count files and lines of each package beside its budget: ARGS=--write
	@$(bin)/python -m scripts.size $(ARGS)

size-check: .venv/.dev ## fail when a package has grown beyond its record in scripts/size.toml
	@$(bin)/python -m scripts.size --check

trace: .venv/.dev ## count the files and functions that a warm call passes through: ARGS=--files
	@$(bin)/python -m scripts.trace_calls $(ARGS)

imports: .venv/.dev ## check the allowed imports of docs/explanation/architecture.md
	$(bin)/lint-imports --no-cache

prose: .venv/.dev ## check docs, docstrings and comments for refused words, and the subjects of commits
	$(bin)/python -m scripts.check_commits
	$(bin)/python -m scripts.check_prose $(ARGS)

# The built-in theme brings its own fonts and scripts, so that neither the build nor the site needs a network.
docs: .venv/.dev ## build the documentation into build/site, and check its links and anchors
	$(bin)/mkdocs build --quiet --clean --strict

source-reference: .venv/.dev ## write the tables of docs/reference/source-yaml.md from the models
	$(bin)/python -m scripts.source_reference --write

catalog: .venv/.dev ## check the YAML of all sources and compile it
	$(bin)/toolfold catalog compile

catalog-check: .venv/.dev ## fail when the compiled catalog is stale
	$(bin)/toolfold catalog compile --check

catalog-lint: .venv/.dev ## check whether a model can choose from the catalog
	$(bin)/toolfold catalog lint

measure: .venv/.dev ## count tokens and write the tables of docs/reference/measurements.md
	$(bin)/python -m scripts.measure_tokens --write docs/reference/measurements.md

measure-check: .venv/.dev ## fail when the tables of docs/reference/measurements.md are stale
	$(bin)/python -m scripts.measure_tokens --check docs/reference/measurements.md

release: .venv/.dev ui build ## build what a release publishes into dist/; install the wheel, and read its catalog
	rm -rf build/wheel-check
	$(bin)/python -m scripts.release
	$(any_region) $(venv_sam)/sam validate --lint --template dist/aws/template.yaml
	$(bin)/uv venv --quiet --python $(bin)/python build/wheel-check
	VIRTUAL_ENV=build/wheel-check $(bin)/uv pip install --quiet --require-hashes -r requirements/package.txt
	VIRTUAL_ENV=build/wheel-check $(bin)/uv pip install --quiet --no-deps dist/*.whl
	build/wheel-check/bin/toolfold catalog get GLOBAL_QUOTE --json > /dev/null

lock: .venv/bin/uv ## pin every dependency again, with hashes
	cd requirements && export UV_CUSTOM_COMPILE_COMMAND="make lock" && \
	compile="../$(bin)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11" && \
	$$compile uv.in -o uv.txt && \
	$$compile -c uv.txt ../pyproject.toml -o package.txt && \
	$$compile -c package.txt ../pyproject.toml --extra aws --extra build --extra mcp --extra oauth --extra otel --extra scripts --extra serve --extra sql --extra tracer dev.in -o dev.txt && \
	$$compile clients.in -o clients.txt && \
	$$compile --no-deps postgresql.in -o postgresql.txt && \
	$$compile --no-deps semantic.in -o semantic.txt
	$(MAKE) lock-aws

clean: clean-browser ## remove everything that make created
	rm -rf .venv* .aws-sam dist build .coverage .mypy_cache .ruff_cache .pytest_cache tests/conformance/node_modules

include make/aws.mk
include make/conformance.mk
include make/benchmarks.mk
include make/browser.mk
include make/ui.mk
