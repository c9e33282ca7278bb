# SPDX-License-Identifier: MIT
# report.mk - the chart library for HTML reports: Chart.js from the npm registry, pinned by hash
#
# `make charts` fetches it into .cache/; it is put into pugmark if it is there at build time. Without
# it everything else works, and HTML reports say that they have no charts.
CHART_VERSION := 4.6.1
CHART_SHA512  := 849ca78ae72c166abffc4bd762f27a73a99a84fa08de46b1763547f1ac13689f\
                 df0cd59e4aaaaa02b8b13095a458d37a7dc62f3d4dc79de480345358b518bad6
SPACE         := $(subst ,, )
CHART_JS      := .cache/chart-$(CHART_VERSION).js

$(B)/src/report/html.o: src/report/page.css src/report/page.js

ifneq ($(wildcard $(CHART_JS)),)
$(B)/src/report/chart.o: CFLAGS += -DPM_CHART_JS='"$(CHART_JS)"'
$(B)/src/report/chart.o: $(CHART_JS)
endif

.PHONY: charts
charts: $(CHART_JS)	## fetch the chart library for HTML reports (needs npm)

$(CHART_JS):
	@mkdir -p .cache/npm
	cd .cache/npm && npm pack --silent --fetch-retries=1 --fetch-timeout=30000 chart.js@$(CHART_VERSION)
	@echo "$(subst $(SPACE),,$(CHART_SHA512))  .cache/npm/chart.js-$(CHART_VERSION).tgz" | sha512sum -c --quiet
	@tar -xzOf .cache/npm/chart.js-$(CHART_VERSION).tgz package/dist/chart.umd.min.js > $@.tmp
	@! grep -q '</script' $@.tmp
	@mv $@.tmp $@
	@rm -rf .cache/npm
