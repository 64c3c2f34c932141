# Clients that others wrote, run against toolfold. Included by the Makefile; tests/conformance/README.md says what they
# are. Node 22.19 or newer comes with them on Linux x64; elsewhere: make clients NODE=/path/to/node

conformance := tests/conformance
# For pytest. Exported only when it is given: an empty NODE would mean "no Node".
ifdef NODE
export NODE
endif

# npm runs on the machine's Node of any version; it warns that the packages need a newer one, which is installed.
$(conformance)/node_modules/.installed: $(conformance)/package-lock.json $(conformance)/.npmrc
	cd $(conformance) && npm ci --loglevel=error
	touch $@

.venv-clients/.installed: .venv/bin/uv requirements/clients.txt
	$(bin)/uv venv --quiet --clear --python $(bin)/python .venv-clients
	VIRTUAL_ENV=.venv-clients $(bin)/uv pip install --quiet --require-hashes -r requirements/clients.txt
	touch $@

.PHONY: clients clients-built lock-clients lock-peers clean-clients

clients: .venv/.dev .venv-clients/.installed $(conformance)/node_modules/.installed ## run clients that others wrote against toolfold (needs npm)
	$(bin)/python -m pytest -m "clients and not e2e" $(conformance) --durations=10 $(ARGS)

clients-built: .venv/.dev $(conformance)/node_modules/.installed build-e2e .venv-lambda/.installed ## run the official suite against the built package
	RUN_E2E=1 $(bin)/python -m pytest -m "clients and e2e" $(conformance) $(ARGS)

lock: lock-peers
lock-peers: .venv/bin/uv ## pin again what toolfold is compared with
	cd requirements && ../$(bin)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
		--custom-compile-command "make lock" peers.in -o peers.txt

lock-clients: ## pin again what the npm packages of tests/conformance depend on
	cd $(conformance) && npm update --package-lock-only --loglevel=error

clean-clients: ## remove the clients' packages
	rm -rf .venv-clients $(conformance)/node_modules
