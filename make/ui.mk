# The page of the web explorer: web/ is its source, web/README.md describes it. Needs Node.js 20 or newer, with npm.
# Included by the Makefile.

web_static := layers/core/toolfold/explorer/static
web_sources := $(wildcard web/*.mjs web/tsconfig.json web/src/* web/src/*/* web/src/*/*/* web/test/*)

web/node_modules/.installed: web/package-lock.json web/.npmrc
	@command -v npm > /dev/null || { echo "make ui needs Node.js 20 or newer, with npm." >&2; exit 2; }
	cd web && npm ci --loglevel=error
	touch $@

# index.html is written last, so an interrupted build is repeated.
$(web_static)/index.html: web/node_modules/.installed $(web_sources)
	cd web && npm run --silent lint && npm run --silent types && npm run --silent build

.PHONY: page ui ui-with-npm ui-test ui-watch lock-ui clean-ui

ui: $(web_static)/index.html ## build the page of the web explorer (needs npm)

# What is deployed without the MCP App answers requests as well.
ui-with-npm:
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory ui; \
	else echo "Built without the MCP App: npm (Node.js 20 or newer) is missing." >&2; fi

page: .venv/.dev ui ## build the page and open it, with the catalog of this checkout: make page ARGS="--port 0"
	@$(bin)/toolfold ui $(ARGS)

ui-test: web/node_modules/.installed ## check the page's source and run its unit tests (needs npm)
	cd web && npm run --silent check

ui-watch: web/node_modules/.installed ## build the page again after each change of its source
	cd web && node build.mjs --watch

lock-ui: ## pin again what the page's packages depend on
	cd web && npm update --package-lock-only --loglevel=error

clean: clean-ui
clean-ui:
	rm -rf web/node_modules $(web_static)
