# SPDX-License-Identifier: MIT
# programs.mk - the victims: small programs that the tests trace, built as their authors would. One
# file each in tests/programs; what else the linker needs is in a "flags:" line at its top. They
# are the same for every kind of build, so they live in build/programs.
P := build/programs

VICTIMS := $(patsubst tests/programs/%,$(P)/%,$(basename $(shell grep -lE "^int main|^_start:" \
	tests/programs/*.c tests/programs/*.cc tests/programs/*.S)))
# The same programs, linked in other ways.
VICTIMS += $(P)/threads-static $(P)/signals-static-pie $(P)/forks-nopie $(P)/jumps-stripped \
	$(P)/exceptions-static $(P)/signals-O0 $(P)/vector-static $(P)/segv-nopie
ifneq ($(shell command -v musl-gcc 2>/dev/null),)
VICTIMS += $(P)/signals-musl $(P)/threads-musl $(P)/forks-musl-static $(P)/segv-musl
endif

.PHONY: programs
programs: $(VICTIMS) $(P)/libalpha.so $(P)/libbeta.so $(P)/libthrow.so

victim_flags = $(shell sed -n 's,^/[/*] flags: \([^*]*\).*,\1,p' $<)
# No warnings: some of these do on purpose what compilers warn of.
VCC   = gcc -O2 -g -w -D_GNU_SOURCE
VCXX  = g++ -O2 -g -w
VDEPS = tests/programs/check.h

$(P)/%: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(VCC) -o $@ $< $(victim_flags)
$(P)/%: tests/programs/%.S $(VDEPS)
	@mkdir -p $(@D)
	$(VCC) -o $@ $< $(victim_flags)
$(P)/%: tests/programs/%.cc $(P)/libthrow.so $(VDEPS)
	@mkdir -p $(@D)
	$(VCXX) -o $@ $< $(victim_flags)
$(P)/lib%.so: tests/programs/lib/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(VCC) -shared -fPIC -o $@ $<
$(P)/lib%.so: tests/programs/lib/%.cc $(VDEPS)
	@mkdir -p $(@D)
	$(VCXX) -shared -fPIC -o $@ $<
$(P)/%-static: tests/programs/%.c $(VDEPS)
	$(VCC) -static -o $@ $< $(victim_flags)
$(P)/%-static-pie: tests/programs/%.c $(VDEPS)
	$(VCC) -static-pie -o $@ $< $(victim_flags)
$(P)/%-nopie: tests/programs/%.c $(VDEPS)
	$(VCC) -no-pie -fno-pie -o $@ $< $(victim_flags)
$(P)/%-stripped: tests/programs/%.c $(VDEPS)
	$(VCC) -s -o $@ $< $(victim_flags)
$(P)/%-O0: tests/programs/%.c $(VDEPS)
	$(VCC) -O0 -o $@ $< $(victim_flags)
$(P)/%-musl: tests/programs/%.c $(VDEPS)
	musl-gcc -O2 -g -w -D_GNU_SOURCE -o $@ $< $(victim_flags)
$(P)/%-musl-static: tests/programs/%.c $(VDEPS)
	musl-gcc -O2 -g -w -D_GNU_SOURCE -static -o $@ $< $(victim_flags)
$(P)/exceptions-static: tests/programs/exceptions.cc tests/programs/lib/throw.cc $(VDEPS)
	$(VCXX) -static -o $@ $< tests/programs/lib/throw.cc -pthread
