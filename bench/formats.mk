# SPDX-License-Identifier: MIT
# formats.mk - how fast every format is read, written and converted
$(B)/bench/bench_formats: bench/bench_formats.c $(B)/libpugmark.a | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/libpugmark.a $(LDLIBS)

.PHONY: bench-formats
bench-formats: $(B)/bench/bench_formats	## formats read, written, converted; F='penn byu' some
	$(B)/bench/bench_formats -d $(B)/bench/formats -s tests/data/formats \
		-j $(B)/bench/formats.json $(filter-out -q,$(BENCHFLAGS)) $(F)
