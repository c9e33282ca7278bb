# SPDX-License-Identifier: MIT
# report.mk - the style and the script of every page are in the executable

$(B)/src/report/html.o: $(wildcard src/report/page/*)

# What drives the browser in tests/check-browser: from the npm registry, each package pinned by hash.
BROWSER := .cache/browser

.PHONY: browser-tests
browser-tests: $(BROWSER)/node_modules/.package-lock.json	## fetch what tests of HTML reports need (needs npm)

$(BROWSER)/node_modules/.package-lock.json: tests/browser/package.json tests/browser/package-lock.json
	@mkdir -p $(BROWSER)
	@cp tests/browser/package.json tests/browser/package-lock.json $(BROWSER)
	cd $(BROWSER) && npm ci --silent --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000
	@touch $@
