# SPDX-License-Identifier: MIT
# programs.mk - the victims: small programs that the tests trace, built as their authors would. One
# file each in tests/programs; what else the linker needs is in a "flags:" line at its top. They
# are the same for every kind of build, so they live in build/programs.
P := build/programs

VICTIMS := $(patsubst tests/programs/%,$(P)/%,$(basename $(shell grep -lE "^int main|^_start:" \
	tests/programs/*.c tests/programs/*.cc tests/programs/*.S)))
# The same programs, linked in other ways.
VICTIMS += $(P)/threads-static $(P)/signals-static-pie $(P)/forks-nopie $(P)/jumps-stripped \
	$(P)/exceptions-static $(P)/signals-O0 $(P)/vector-static $(P)/segv-nopie $(P)/faults-static \
	$(P)/cursor-static $(P)/exits-static
ifneq ($(shell command -v musl-gcc 2>/dev/null),)
VICTIMS += $(P)/signals-musl $(P)/threads-musl $(P)/forks-musl-static $(P)/segv-musl $(P)/moved-musl-static
endif

# ... and as 32-bit programs, in a folder of their own, where the 32-bit libc is installed: tests that
# need one of them are skipped elsewhere. gcc-multilib, whose /usr/include/asm this stands in for,
# does not go with cross compilers. Those in tests/programs/i386 have no 64-bit twin.
M32FLAGS := -m32 -idirafter /usr/include/$(shell uname -m)-linux-gnu -O2 -g -w -D_GNU_SOURCE \
            -D_FILE_OFFSET_BITS=64 -Itests/programs
M32   = $(call say,CC,$@)gcc $(M32FLAGS)
M32XX = $(call say,CXX,$@)g++ $(M32FLAGS)
P32 := $(P)/i386
ifneq ($(wildcard /usr/lib32/libc.a /usr/lib/i386-linux-gnu/libc.a),)
VICTIMS += $(addprefix $(P32)/,args cuts dispatch dl exits faults finds forks holes jumps medley pending persona seccomp segv self signals smc stops threads timer widths \
	threads-static signals-static signals-static-pie signals-O0 forks-nopie segv-nopie jumps-stripped \
	libalpha.so libbeta.so) $(patsubst tests/programs/i386/%,$(P32)/%,$(basename $(wildcard tests/programs/i386/*.[cS])))
ifneq ($(wildcard $(dir $(shell gcc -print-libgcc-file-name))32/libstdc++.a),)
VICTIMS += $(P32)/exceptions $(P32)/exceptions-static
endif
endif

.PHONY: programs
programs: $(VICTIMS) $(P)/libalpha.so $(P)/libbeta.so $(P)/libthrow.so

victim_flags = $(subst build/programs,$(@D),$(shell sed -n 's,^/[/*] flags: \([^*]*\).*,\1,p' $<))
# No warnings: some of these do on purpose what compilers warn of.
VCC   = $(call say,CC,$@)gcc -O2 -g -w -D_GNU_SOURCE
VCXX  = $(call say,CXX,$@)g++ -O2 -g -w
MUSL  = $(call say,CC,$@)musl-gcc -O2 -g -w -D_GNU_SOURCE
VDEPS = tests/programs/self_check.h tests/programs/cursor.h
# These write where the runtime does.
$(P)/scribble $(P)/hostile: src/collect/runtime/abi.h
$(P32)/stepped: tests/programs/stepped.h

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
	$(MUSL) -o $@ $< $(victim_flags)
$(P)/%-musl-static: tests/programs/%.c $(VDEPS)
	$(MUSL) -static -o $@ $< $(victim_flags)
$(P)/exceptions-static: tests/programs/exceptions.cc tests/programs/lib/throw.cc $(VDEPS)
	$(VCXX) -static -o $@ $< tests/programs/lib/throw.cc -pthread

$(P32)/%: tests/programs/i386/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -o $@ $< $(victim_flags)
$(P32)/%: tests/programs/i386/%.S
	@mkdir -p $(@D)
	$(M32) -o $@ $< $(victim_flags)
$(P32)/lib%.so: tests/programs/lib/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -shared -fPIC -o $@ $<
$(P32)/libthrow.so: tests/programs/lib/throw.cc $(VDEPS)
	@mkdir -p $(@D)
	$(M32XX) -shared -fPIC -o $@ $<
$(P32)/exceptions: tests/programs/exceptions.cc $(P32)/libthrow.so $(VDEPS)
	$(M32XX) -o $@ $< $(victim_flags)
$(P32)/exceptions-static: tests/programs/exceptions.cc tests/programs/lib/throw.cc $(VDEPS)
	@mkdir -p $(@D)
	$(M32XX) -static -o $@ $< tests/programs/lib/throw.cc -pthread
# absolute addresses in its assembly
$(P32)/faults: tests/programs/faults.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -no-pie -fno-pie -o $@ $< $(victim_flags)
$(P32)/%: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -o $@ $< $(victim_flags)
$(P32)/%-static: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -static -o $@ $< $(victim_flags)
$(P32)/%-static-pie: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -static-pie -o $@ $< $(victim_flags)
$(P32)/%-nopie: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -no-pie -fno-pie -o $@ $< $(victim_flags)
$(P32)/%-stripped: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -s -o $@ $< $(victim_flags)
$(P32)/%-O0: tests/programs/%.c $(VDEPS)
	@mkdir -p $(@D)
	$(M32) -O0 -o $@ $< $(victim_flags)
