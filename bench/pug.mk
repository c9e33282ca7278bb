# SPDX-License-Identifier: MIT
# pug.mk - how fast the container is, from events in memory
$(B)/bench/bench_pug: bench/bench_pug.c $(B)/libpugmark.a | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/libpugmark.a $(LDLIBS)
