# SPDX-License-Identifier: MIT
# The runtime: freestanding, linked at its fixed address, carried inside the controller as bytes; once
# for 64-bit programs and once for i386's.
RT_DIR  := src/collect/runtime
RT_SRCS := $(addprefix $(RT_DIR)/,enter.c signal.c syscall.c trace_buffer.c)
RT_STANDALONE := $(addprefix standalone/,image.c translator.c drain.c)
RT_DEPS := $(wildcard $(RT_DIR)/*.h) $(RT_DIR)/rt.ld
RT_B    := build/rt
RT_FLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-parameter -ffreestanding -fno-stack-protector \
            -fno-builtin -fno-asynchronous-unwind-tables -fcf-protection=none \
            -mgeneral-regs-only $(if $(filter clang%,$(CC)),,-fno-tree-loop-distribute-patterns) -I$(RT_DIR)
rt_at = $(shell sed -n 's/^\#define $1[[:space:]]*\(0x[0-9a-f]*\).*/\1/p' $(RT_DIR)/abi.h)
RT_LINK := -nostdlib -static -no-pie -Wl,-T,$(RT_DIR)/rt.ld -Wl,--build-id=none -Wl,-z,noexecstack
EXTRA_OBJS += $(RT_B)/image.o $(RT_B)/image32.o $(RT_B)/rti-image.o $(RT_B)/rti32-image.o

$(RT_B)/rt.elf: $(RT_SRCS) $(RT_DIR)/x86_64.c $(RT_DIR)/map_program.c $(RT_DIR)/entry_x86_64.S $(RT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(RT_FLAGS) -fpie -mno-red-zone $(RT_LINK) -Wl,--defsym=rt_base=$(call rt_at,RT_IMAGE) -o $@ \
		$(filter %.c %.S,$^)

$(RT_B)/rt32.elf: $(RT_SRCS) $(RT_DIR)/i386.c $(RT_DIR)/entry_i386.S $(RT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(RT_FLAGS) -m32 -fno-pie $(RT_LINK) -Wl,--defsym=rt_base=$(call rt_at,RT32_IMAGE) -o $@ \
		$(filter %.c %.S,$^)

$(RT_B)/image%.o: $(RT_B)/rt%.elf $(RT_DIR)/embed.S
	objcopy -O binary -j .text $< $(RT_B)/rt$*.text
	objcopy -O binary -j .data $< $(RT_B)/rt$*.data
	$(CC) -c -DRT=pm_rt$* -DFILE=rt$* -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
$(RT_B)/image.o: $(RT_B)/rt.elf $(RT_DIR)/embed.S
	objcopy -O binary -j .text $< $(RT_B)/rt.text
	objcopy -O binary -j .data $< $(RT_B)/rt.data
	$(CC) -c -DRT=pm_rt -DFILE=rt -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S

# The same for instrumented executables, which have no controller (standalone/), and their first page. Each has a copy,
# which counts in a small program.
RTI_FLAGS := $(RT_FLAGS) -DRT_IDT -fno-inline-functions -falign-functions=1 -falign-loops=1
$(RT_B)/rti.elf: $(RT_SRCS) $(addprefix $(RT_DIR)/,x86_64.c $(RT_STANDALONE) entry_x86_64.S) $(RT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(RTI_FLAGS) -fpie -mno-red-zone $(RT_LINK) -Wl,--defsym=rt_base=$(call rt_at,RT_IMAGE) -o $@ \
		$(filter %.c %.S,$^)

$(RT_B)/start.elf: $(RT_DIR)/standalone/start.S $(RT_DIR)/image.h $(RT_DIR)/abi.h
	@mkdir -p $(@D)
	$(CC) -I$(RT_DIR) -nostdlib -static -no-pie -Wl,-Ttext=0x10000 -Wl,--build-id=none -Wl,-z,noexecstack \
		-o $@ $<

$(RT_B)/rti32.elf: $(RT_SRCS) $(addprefix $(RT_DIR)/,i386.c $(RT_STANDALONE) entry_i386.S) $(RT_DEPS)
	@mkdir -p $(@D)
	$(CC) $(RTI_FLAGS) -m32 -fno-pie $(RT_LINK) -Wl,--defsym=rt_base=$(call rt_at,RT32_IMAGE) -o $@ \
		$(filter %.c %.S,$^)

$(RT_B)/start32.elf: $(RT_DIR)/standalone/start32.S $(RT_DIR)/image.h $(RT_DIR)/abi.h
	@mkdir -p $(@D)
	$(CC) -m32 -I$(RT_DIR) -nostdlib -static -no-pie -Wl,-Ttext=0x10000 -Wl,--build-id=none \
		-Wl,-z,noexecstack -o $@ $<

$(RT_B)/rti%-image.o: $(RT_B)/rti%.elf $(RT_B)/start%.elf $(RT_DIR)/embed.S
	objcopy -O binary -j .text $< $(RT_B)/rti$*.text
	objcopy -O binary -j .data $< $(RT_B)/rti$*.data
	objcopy -O binary -j .text $(RT_B)/start$*.elf $(RT_B)/start$*.text
	$(CC) -c -DRT=pm_rti$* -DFILE=rti$* -DSTUB=start$* -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
$(RT_B)/rti-image.o: $(RT_B)/rti.elf $(RT_B)/start.elf $(RT_DIR)/embed.S
	objcopy -O binary -j .text $< $(RT_B)/rti.text
	objcopy -O binary -j .data $< $(RT_B)/rti.data
	objcopy -O binary -j .text $(RT_B)/start.elf $(RT_B)/start.text
	$(CC) -c -DRT=pm_rti -DFILE=rti -DSTUB=start -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
