# SPDX-License-Identifier: MIT
# guest.mk - nano, the small guest of the tests: only where a MIPS cross compiler is installed. It is
# the same for every kind of build, so it lives in build/guest.
MIPSEL ?= mipsel-linux-gnu-
NANO   := build/guest/nano.elf build/guest/nano-be.elf
NANO_CC = $(MIPSEL)gcc -march=mips3 -mabi=32 -mfp32 -mno-abicalls -fno-pic -G0 -O2 -ffreestanding \
          -fno-builtin -fno-stack-protector -fno-toplevel-reorder -Wall -Wextra -Wno-parentheses

ifneq ($(shell command -v $(MIPSEL)gcc 2>/dev/null),)
check-build: $(NANO)
endif

# both byte orders from one compiler: nothing of a library is linked
NANO_OBJS := start.o kernel.o user.o citcat-begin.o
vpath %.c guest/nano
vpath %.S guest/nano guest/citcat
define nano
build/guest/$(1)/%.o: %.c guest/guest.mk
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)$$(NANO_CC) -$(2) -c -o $$@ $$<

build/guest/$(1)/%.o: %.S guest/guest.mk
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)$$(NANO_CC) -$(2) -c -o $$@ $$<

build/guest/$(3).elf: $(NANO_OBJS:%=build/guest/$(1)/%) guest/nano/nano.ld
	$$(call say,LINK,$$@)$$(MIPSEL)ld -$(2) -T guest/nano/nano.ld -o $$@ $$(filter %.o,$$^)
endef
$(eval $(call nano,el,EL,nano))
$(eval $(call nano,eb,EB,nano-be))

# A bare program for comparing with another R4000.
BARE := build/guest/bare.elf
ifneq ($(shell command -v $(MIPSEL)gcc 2>/dev/null),)
check-build: $(BARE)
endif
BARE_LINK = -nostdlib -static -Wl,-e,_start -Wl,-Ttext-segment=0x80100000 -Wl,--build-id=none
$(BARE): tests/programs/mips/start.S tests/programs/mips/bare.c guest/guest.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)$(NANO_CC) $(BARE_LINK) -o $@ $(filter %.S %.c,$^)

# The same of a known length, ended by a store to what powers the board off: ours, QEMU's Malta, GXemul's.
build/guest/bench-pugmark.elf: BENCH_EXIT = -DEXIT_AT=0xbf020000 -DEXIT_WITH=0x5555
build/guest/bench-malta.elf: BENCH_EXIT = -DEXIT_AT=0xbf000500 -DEXIT_WITH=0x42
build/guest/bench-testmips.elf: BENCH_EXIT = -DEXIT_AT=0xb0000010 -DEXIT_WITH=1
build/guest/bench-%.elf: tests/programs/mips/start.S tests/programs/mips/bare.c guest/guest.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)$(NANO_CC) -DROUNDS=300 $(BENCH_EXIT) $(BARE_LINK) -o $@ $(filter %.S %.c,$^)

.PHONY: guests
guests:			## set up, build Linux for the machine and fetch Debian: from the network, minutes
	@$(if $(filter no,$(SETUP)),:,scripts/setup.sh build guests)
	@$(NOW) all
	@guest/linux/build.sh $(CURDIR)/build/guest/linux
	@echo 'DEBIAN build/guest/debian'
	@$(B)/pugmark machine fetch-debian build/guest/debian
	@guest/debian/laplace.sh build/guest/debian
	@echo 'DEBIAN build/guest/amd64'
	@guest/debian/fetch-x86.sh amd64 build/guest/amd64
	@echo 'DEBIAN build/guest/i386'
	@guest/debian/fetch-x86.sh i386 build/guest/i386
