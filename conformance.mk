# Clients that others wrote, run against toolfold. Included by the Makefile; tests/conformance/README.md says what they
# are. Node 22.19 or newer comes with them on Linux x64; elsewhere: make clients NODE=/path/to/node

conformance := tests/conformance
# For pytest. Exported only when it is given: an empty NODE would mean "no Node".
ifdef NODE
export NODE
endif

# npm itself runs on the machine's Node, of whatever age; it warns that the packages want a newer one, which they get.
$(conformance)/node_modules/.installed: $(conformance)/package-lock.json $(conformance)/.npmrc
	cd $(conformance) && npm ci --loglevel=error
	touch $@

.venv-clients/.installed: .venv/bin/uv requirements/clients.txt
	$(bin)/uv venv --quiet --clear --python $(bin)/python .venv-clients
	VIRTUAL_ENV=.venv-clients $(bin)/uv pip install --quiet --require-hashes -r requirements/clients.txt
	touch $@

.PHONY: clients lock-clients clean-clients

clients: .venv/.dev .venv-clients/.installed $(conformance)/node_modules/.installed ## run clients that others wrote against toolfold (needs npm)
	$(bin)/python -m pytest -m clients $(conformance) --durations=10 $(ARGS)

lock-clients: ## pin again what the npm packages of tests/conformance depend on
	cd $(conformance) && npm update --package-lock-only --loglevel=error

clean-clients: ## remove the clients' packages
	rm -rf .venv-clients $(conformance)/node_modules
