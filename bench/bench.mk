# SPDX-License-Identifier: MIT
# bench.mk - measurements, side by side with native and with other tools. Status 1 is a missed target, 2 a run that failed,
# which ends all.

$(B)/bench/bench: bench/bench.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -o $@ $<

.PHONY: bench accuracy bench-record bench-servers idtrace-tables bench-cachegrind bench-profiles
.PHONY: bench-traces bench-predictors bench-idt
ROUNDS ?= 5
bench: all $(B)/bench/bench	## measure against native, valgrind and qemu; ROUNDS=5, W='gzip cc1'
	@bench/inputs $(B)/bench/data
	@CC1=$$(gcc -print-prog-name=cc1) $(B)/bench/bench -n $(ROUNDS) -d $(B)/bench/data -p $(B)/pugmark \
		-j $(B)/bench/result.json $(BENCHFLAGS) $(W); status=$$?; \
		echo "# README's table is made of that: bench/readme $(B)/bench/result.json README.md"; [ $$status -le 1 ]
	@$(MAKE) --no-print-directory bench-formats
	@bench/traces $(filter -q,$(BENCHFLAGS)) $(B)/pugmark $(B)/bench/data || [ $$? = 1 ]
	@bench/cachegrind $(B)/pugmark $(B)/bench/data || [ $$? = 1 ]
	@bench/profiles $(B)/pugmark $(B)/bench/data || [ $$? = 1 ]

bench-profiles: all		## what edges (--bolt, --lcov) and calling-context trees (--folded) cost
	@bench/inputs $(B)/bench/data
	@bench/profiles $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

bench-traces: all		## what live traces cost: branch, execution, counted, into .pug
	@bench/inputs $(B)/bench/data
	@bench/traces $(filter -q,$(BENCHFLAGS)) $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

bench-cachegrind: all		## live simulation against valgrind's cachegrind
	@bench/inputs $(B)/bench/data
	@bench/cachegrind $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

accuracy: check-build		## the core model against this processor's counters, and against ChampSim (CHAMPSIM=, PRESET=)
	@bench/inputs $(B)/bench/data
	@bench/accuracy $(CURDIR)/$(B)/pugmark $(B)/bench/data

bench-record: all		## what recording and replaying cost
	@bench/inputs $(B)/bench/data
	@bench/record $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

bench-servers: all		## how many requests recorded servers handle
	@bench/inputs $(B)/bench/data
	@bench/servers $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

bench-idt: all			## instrumented executables against their limits: sizes, times (Q=-q: small inputs; ROOT32=DIR)
	@bench/inputs $(B)/bench/data
	@bench/instrumented $(Q) $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

idtrace-tables: all		## the IDtrace report's nine tables, today beside 1994 (minutes; Q=-q: small inputs)
	@bench/idtrace-tables $(Q) $(CURDIR)/$(B)/pugmark

bench-predictors: all		## TAGE-SC-L against gshare of the same bits over whole programs (an hour; N=INSTRUCTIONS of each)
	@bench/inputs $(B)/bench/data
	@bench/predictors $(CURDIR)/$(B)/pugmark $(B)/bench/data $(N)
