# SPDX-License-Identifier: MIT
# sims.mk - how fast the simulators are, from events in memory
$(B)/bench/bench_sims: bench/bench_sims.c $(B)/libpugmark.a | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -Itests -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/libpugmark.a $(LDLIBS)

.PHONY: bench-sims
bench-sims: $(B)/bench/bench_sims	## millions of references per second and simulator
	$(B)/bench/bench_sims

.PHONY: bench-sweep
bench-sweep: all $(B)/bench/bench_sims	## 100 configurations of caches against one, sim -j 2 against -j 1
	@bench/inputs $(B)/bench/data
	@bench/sweep $(CURDIR)/$(B)/pugmark $(B)/bench/bench_sims $(B)/bench/data $(ROUNDS)

.PHONY: bench-results
bench-results: all		## results of caches that a sweep computes in a second, and what a million would take on 16 processors
	@bench/inputs $(B)/bench/data
	@bench/results $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)

.PHONY: bench-samples
bench-samples: all		## sampled cores against whole traces, half an hour (N=INSTRUCTIONS of each, W='gzip cc1', TRAINING='0 50k 200k')
	@bench/inputs $(B)/bench/data
	@bench/samples $(CURDIR)/$(B)/pugmark $(B)/bench/data $(N)

.PHONY: bench-bounds
bench-bounds: all		## how bounds rank cores beside the core itself, and what 1,000 cost (N=INSTRUCTIONS, CORES=200, SEED=1, W='gzip cc1', ROUNDS=0: no times)
	@bench/inputs $(B)/bench/data
	@bench/bounds $(CURDIR)/$(B)/pugmark $(B)/bench/data $(ROUNDS)
