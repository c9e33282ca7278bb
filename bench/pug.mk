# SPDX-License-Identifier: MIT
# pug.mk - how fast the container is, from events in memory
$(B)/bench/bench_pug: bench/bench_pug.c $(B)/libpugmark.a | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/libpugmark.a $(LDLIBS)

PUGDATA := $(B)/bench/data/gzip.pug $(B)/bench/data/cc1.pug

$(B)/bench/data/gzip.pug: | all
	@bench/inputs $(B)/bench/data
	@cd $(@D) && $(CURDIR)/$(B)/pugmark run -q -o gzip.pug -t pug:fast -- gzip -9c small > out
$(B)/bench/data/cc1.pug: | all
	@bench/inputs $(B)/bench/data
	@cd $(@D) && $(CURDIR)/$(B)/pugmark run -q -o cc1.pug -t pug:fast -- $$(gcc -print-prog-name=cc1) -quiet -w -O2 other.c -o out.s

.PHONY: bench-pug
bench-pug: $(B)/bench/bench_pug $(PUGDATA)	## millions of instructions per second into and out of .pug
	$(B)/bench/bench_pug $(PUGDATA)

bench: bench-pug
