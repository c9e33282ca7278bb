# SPDX-License-Identifier: MIT
# guest.mk - nano, the small guest of the tests: only where a MIPS cross compiler is installed. It is
# the same for every kind of build, so it lives in build/guest.
MIPSEL ?= mipsel-linux-gnu-
NANO   := build/guest/nano.elf
NANO_CC = $(MIPSEL)gcc -march=mips3 -mabi=32 -mfp32 -mno-abicalls -fno-pic -G0 -O2 -ffreestanding \
          -fno-builtin -fno-stack-protector -fno-toplevel-reorder -Wall -Wextra -Wno-parentheses

ifneq ($(shell command -v $(MIPSEL)gcc 2>/dev/null),)
check-build: $(NANO)
endif

build/guest/%.o: guest/nano/%.c guest/guest.mk
	@mkdir -p $(@D)
	$(NANO_CC) -c -o $@ $<

build/guest/%.o: guest/nano/%.S guest/guest.mk
	@mkdir -p $(@D)
	$(NANO_CC) -c -o $@ $<

build/guest/begin.o: guest/citcat/citcat-begin.S guest/guest.mk
	@mkdir -p $(@D)
	$(NANO_CC) -c -o $@ $<

$(NANO): build/guest/start.o build/guest/kernel.o build/guest/user.o build/guest/begin.o guest/nano/nano.ld
	$(MIPSEL)ld -EL -T guest/nano/nano.ld -o $@ $(filter %.o,$^)

# A bare program for comparing with another R4000.
BARE := build/guest/bare.elf
ifneq ($(shell command -v $(MIPSEL)gcc 2>/dev/null),)
check-build: $(BARE)
endif
$(BARE): tests/programs/mips/start.S tests/programs/mips/bare.c guest/guest.mk
	@mkdir -p $(@D)
	$(NANO_CC) -nostdlib -static -Wl,-e,_start -Wl,-Ttext-segment=0x80100000 -Wl,--build-id=none -o $@ $(filter %.S %.c,$^)
