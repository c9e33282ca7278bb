# SPDX-License-Identifier: MIT
# check.mk - tests. `make check` runs all of them; T='tests/trace build/tests/unit/test_cur' some.
#
#   tests/**/*.t, examples/**/*.t   case files (format: tests/run.c)
#   tests/unit/test_*.c             cmocka programs, linked with libpugmark.a
#   tests/fuzz/fuzz_*.c             fuzzers (tests/fuzz/driver.c): a fixed number of inputs
#   tests/check-*                   scripts that speak TAP: layers, style, the runtime, the manual...
#   tests/matrix/run                real programs, native against traced
#   make stress                     everything at once, by chance, for MINUTES; tests/check-stress is short
#   make oracle                     real programs, single-stepped against traced, totals against lackey:
#                                   long; small ones are in tests/oracle/compare.t, tests/process/trace.t

STRESS := $(B)/tests/stress/stress

UNIT  := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
FUZZ  := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
TOOLS := $(patsubst %.c,$(B)/%,$(filter-out tests/run.c,$(wildcard tests/oracle/*.c)))
TESTLIBS := $(B)/libpugmark.a

FUZZ_SECONDS ?= 60

$(B)/tests/run: tests/run.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -o $@ $<

$(STRESS): tests/stress/stress.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -o $@ $<

# Tests are many and run once: to compile them well takes longer than they do. For a debugger: TEST_OPT='-O0 -g'.
# REST_OPT=-O0: tests, and what does not trace processes, are compiled without optimization.
TEST_OPT ?= -O1 -g1
TEST_CFLAGS = $(CFLAGS) $(or $(REST_OPT),$(TEST_OPT))
ifdef REST_OPT
REST := analyse cli report sweep transform library collect/citcat \
        collect/instrument collect/machine collect/qemu collect/query collect/record
$(foreach d,$(REST),$(B)/src/$d/%.o): override OPT := $(REST_OPT)
endif

$(B)/tests/unit/%: tests/unit/%.c $(TESTLIBS) | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(TEST_CFLAGS) $(ROOM) -Itests -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(TESTLIBS) $(LDLIBS) -lcmocka

$(B)/tests/fuzz/driver.o: CFLAGS += -Itests

# The driver is in an archive: a fuzzer may bring a main() of its own.
$(B)/tests/fuzz/driver.a: $(B)/tests/fuzz/driver.o
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(B)/tests/fuzz/%: tests/fuzz/%.c $(TESTLIBS) $(B)/tests/fuzz/driver.a | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(TEST_CFLAGS) $(ROOM) -Itests -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/tests/fuzz/driver.a \
		$(TESTLIBS) $(LDLIBS)

# Oracles are independent of what they check: they link nothing of pugmark's.
$(B)/tests/oracle/%: tests/oracle/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -Itests -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(LDLIBS)

# ... and the sink that writes what the stepper writes sees the public header only.
STEPS := $(B)/tests/oracle/steps.so
$(STEPS): tests/oracle/sink/steps.c include/pugmark/pugmark.h
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -shared -fPIC $(OPT) $(WARN) -Iinclude -o $@ $<

STILL := $(B)/tests/oracle/still.so
$(STILL): tests/oracle/preload/still.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -shared -fPIC $(OPT) $(WARN) -o $@ $<

.PHONY: check-compile check-build check bless fuzz
# Each source once. For the second compiler that is all: what libpugmark.so is made of are the same sources, as -fPIC.
check-compile: all $(UNIT) $(FUZZ) $(TOOLS) $(STEPS) $(STILL) $(B)/tests/run $(STRESS) programs
check-build: check-compile man lib

MATRIX := 'tests/matrix/run 1/2' 'tests/matrix/run 2/2'

# Long ones first, so that all processors are busy to the end; one more at a time than there are, as some wait.
T ?= $(MATRIX) $(FUZZ) $(UNIT) $(wildcard tests/check-*) tests \
     $(wildcard examples)
check:			## set up, build and run every test
	@$(SET_UP)
	@$(NOW) check-build
	@$(B)/tests/run -j $$(($$(nproc) + 1)) $(if $(V),-v) $(if $(SAN),-x 5) $(T)

.PHONY: stress
stress: $(B)/pugmark $(STRESS) programs	## what may go wrong, by chance: SEED=N MINUTES=5, ONE=K for one scenario
	@seed=$(or $(SEED),$$(date +%s)); echo "seed $$seed"; \
	nice $(STRESS) -s $$seed $(if $(ONE),-1 $(ONE),-m $(or $(MINUTES),5)) $(if $(SAN),-x 600) $(if $(V),-v)

.PHONY: oracle
oracle: check-build	## real programs of more than a million instructions against a single-stepper and lackey
	tests/oracle/compare-all all
	tests/oracle/compare-all -c all
	tests/oracle/compare-lackey

bless: check-build	## write what the case files print into them; review with git diff
	$(B)/tests/run --bless $(if $(filter command,$(origin T)),$(T),tests $(wildcard examples))

fuzz:			## run the fuzzers with sanitizers, FUZZ_SECONDS each
	$(MAKE) SAN=1 fuzz-now
.PHONY: fuzz-now
fuzz-now: $(FUZZ)
	@for f in $(FUZZ); do $$f -t $(FUZZ_SECONDS) || exit 1; done

.PHONY: parquet-readers
parquet-readers:		## fetch what tests/check-parquet reads Parquet with (needs npm)
	@mkdir -p .cache/parquet
	@cp tests/parquet/package.json tests/parquet/package-lock.json .cache/parquet
	cd .cache/parquet && npm ci --silent --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000
