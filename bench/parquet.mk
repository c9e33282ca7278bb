# SPDX-License-Identifier: MIT
# parquet.mk - how fast traces become tables
$(B)/bench/bench_parquet: bench/bench_parquet.c $(B)/libpugmark.a | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/libpugmark.a $(LDLIBS)

.PHONY: bench-parquet
bench-parquet: $(B)/bench/bench_parquet $(PUGDATA)	## millions of rows per second into Parquet
	$(B)/bench/bench_parquet $(PUGDATA)
