# SPDX-License-Identifier: MIT
# The runtime: freestanding, linked at its fixed address, carried inside the controller as bytes.
RT_DIR  := src/collect/runtime
RT_SRCS := $(wildcard $(RT_DIR)/*.c) $(RT_DIR)/entry.S
RT_B    := build/rt
RT_FLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-parameter -ffreestanding -fno-stack-protector \
            -fpie -fno-builtin -fno-asynchronous-unwind-tables -fcf-protection=none -mno-red-zone \
            -mgeneral-regs-only -fno-tree-loop-distribute-patterns -I$(RT_DIR)
EXTRA_OBJS += $(RT_B)/image.o $(RT_B)/rti-image.o

$(RT_B)/rt.elf: $(RT_SRCS) $(wildcard $(RT_DIR)/*.h) $(RT_DIR)/rt.ld
	@mkdir -p $(@D)
	$(CC) $(RT_FLAGS) -nostdlib -static -no-pie -Wl,-T,$(RT_DIR)/rt.ld -Wl,--build-id=none \
		-Wl,-z,noexecstack -o $@ $(RT_SRCS)

$(RT_B)/image.o: $(RT_B)/rt.elf $(RT_DIR)/image.inc.s
	objcopy -O binary -j .text $< $(RT_B)/rt.text
	objcopy -O binary -j .data $< $(RT_B)/rt.data
	$(CC) -c -I$(RT_B) -Wa,-I$(RT_B) -o $@ $(RT_DIR)/image.inc.s

# The same for instrumented executables, which have no controller (image.c), and their first page.
$(RT_B)/rti.elf: $(RT_SRCS) $(wildcard $(RT_DIR)/*.h) $(RT_DIR)/rt.ld
	@mkdir -p $(@D)
	$(CC) $(RT_FLAGS) -DRT_IDT -nostdlib -static -no-pie -Wl,-T,$(RT_DIR)/rt.ld -Wl,--build-id=none \
		-Wl,-z,noexecstack -o $@ $(RT_SRCS)

$(RT_B)/start.elf: $(RT_DIR)/start.S $(RT_DIR)/image.h $(RT_DIR)/abi.h
	@mkdir -p $(@D)
	$(CC) -I$(RT_DIR) -nostdlib -static -no-pie -Wl,-Ttext=0x10000 -Wl,--build-id=none -Wl,-z,noexecstack \
		-o $@ $<

$(RT_B)/rti-image.o: $(RT_B)/rti.elf $(RT_B)/start.elf $(RT_DIR)/rti.inc.s
	objcopy -O binary -j .text $< $(RT_B)/rti.text
	objcopy -O binary -j .data $< $(RT_B)/rti.data
	objcopy -O binary -j .text $(RT_B)/start.elf $(RT_B)/start.text
	$(CC) -c -I$(RT_B) -Wa,-I$(RT_B) -o $@ $(RT_DIR)/rti.inc.s
