# Tests of the web explorer in Chromium. Included by the Makefile; tests/browser/README.md describes them.

browser_tests := tests/browser

$(browser_tests)/node_modules/.installed: $(browser_tests)/package-lock.json $(browser_tests)/.npmrc
	cd $(browser_tests) && npm ci --loglevel=error
	touch $@

.venv-browser/.installed: .venv/bin/uv requirements/dev.txt requirements/browser.txt
	$(bin)/uv venv --quiet --clear --python $(bin)/python .venv-browser
	VIRTUAL_ENV=.venv-browser $(bin)/uv pip install --quiet --require-hashes -r requirements/dev.txt
	VIRTUAL_ENV=.venv-browser $(bin)/uv pip install --quiet --require-hashes -r requirements/browser.txt
	VIRTUAL_ENV=.venv-browser $(bin)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.PHONY: browser browser-setup screenshots lock-browser clean-browser

browser-setup: ui .venv-browser/.installed $(browser_tests)/node_modules/.installed
	scripts/find-chromium

browser: browser-setup ## test the web explorer in Chromium (needs npm)
	.venv-browser/bin/python -m pytest -n 2 --dist loadfile -m browser $(browser_tests) --durations=5 $(ARGS)

# Half a minute.
screenshots: browser-setup ## write the pictures of the web explorer: docs/images/explorer-*.png
	.venv-browser/bin/python -m tests.browser.screenshots

lock: lock-browser
lock-browser: .venv/bin/uv ## pin again what drives the browser, and axe-core
	cd requirements && ../$(bin)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
		--custom-compile-command "make lock" -c dev.txt browser.in -o browser.txt
	cd $(browser_tests) && npm update --package-lock-only --loglevel=error

clean-browser:
	rm -rf .venv-browser $(browser_tests)/node_modules
