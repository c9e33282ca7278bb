# SPDX-License-Identifier: MIT
# The runtime: freestanding, linked at its fixed address, carried inside the controller as bytes; once
# for 64-bit programs and once for i386's.
RT_DIR  := src/collect/runtime
RT_SRCS := $(addprefix $(RT_DIR)/,elements.c from_translated.c resume.c library.c memory_calls.c proc_self.c exec_ranges.c signal.c sigstate.c single_steps.c \
           syscall.c trace_buffer.c)
RT_LIVE := $(addprefix $(RT_DIR)/,begin.c address_limit.c mailbox.c without_controller.c odd_insns.c to_log.c \
           shared_files.c shared_segments.c group_token.c robust.c from_log.c clock.c token.c stop_here.c \
           replay_start.c replay_filter.c)
RT_DEPS := $(wildcard $(RT_DIR)/*.h $(RT_DIR)/*/*.h) $(wildcard $(RT_DIR)/*.inc) $(RT_DIR)/rt.ld src/collect/runtime.mk
RT_B    := $(B)/rt
RT_WARN := -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror)
RT_FLAGS := -std=gnu11 -O2 -g $(RT_WARN) -ffreestanding -fno-stack-protector \
            -fno-builtin -fno-asynchronous-unwind-tables -fcf-protection=none \
            -mgeneral-regs-only $(if $(filter clang%,$(CC)),,-fno-tree-loop-distribute-patterns) -I$(RT_DIR)
# Instrumented executables are not run by a sanitizer: they have room.
RT_ROOM := $(if $(filter thread,$(SAN)),-DRT_LITTLE_ROOM)
rt_at = $(shell sed -n 's/^\#define $1[[:space:]]*\(0x[0-9a-f]*\).*/\1/p' $(RT_DIR)/abi.h)
RT_LINK := -nostdlib -static -Wl,--build-id=none -Wl,-z,noexecstack
RT_FLAGS64 := $(RT_FLAGS) -fpie -mno-red-zone $(RT_LINK) -Wl,-T,$(RT_DIR)/rt.ld \
              -Wl,--defsym=rt_base=$(call rt_at,RT_IMAGE)
RT_FLAGS32 := $(RT_FLAGS) -m32 -fno-pie $(RT_LINK) -Wl,-T,$(RT_DIR)/rt.ld \
              -Wl,--defsym=rt_base=$(call rt_at,RT32_IMAGE)
RT_ALL  := $(addprefix $(RT_B)/,rt.elf rt32.elf rti.elf rti32.elf start.elf start32.elf)
EXTRA_OBJS += $(RT_B)/image.o $(RT_B)/image32.o $(RT_B)/rti-image.o $(RT_B)/rti32-image.o

$(RT_B)/rt.elf: $(RT_SRCS) $(RT_LIVE) \
		$(addprefix $(RT_DIR)/,x86_64.c contexts.c map_program.c entry_x86_64.S) $(RT_DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(RT_FLAGS64) $(RT_ROOM) -o $@ $(filter %.c %.S,$^)

$(RT_B)/rt32.elf: $(RT_SRCS) $(RT_LIVE) $(addprefix $(RT_DIR)/,i386.c calls32.c sub_calls32.c entry_i386.S) $(RT_DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(RT_FLAGS32) $(RT_ROOM) -o $@ $(filter %.c %.S,$^)

# The same for instrumented executables, which have no controller (standalone/), and their first page. Each has a copy,
# which counts in a small program.
RTI_FLAGS := -DRT_IDT -fno-inline-functions -falign-functions=1 $(if $(filter clang%,$(CC)),,-falign-loops=1 -falign-jumps=1 -falign-labels=1 \
             -fno-tree-ch)
RTI_SRCS := $(RT_SRCS) $(sort $(wildcard $(RT_DIR)/standalone/*.c))
$(RT_B)/rti.elf: $(RTI_SRCS) $(addprefix $(RT_DIR)/,x86_64.c entry_x86_64.S) $(RT_DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(RT_FLAGS64) $(RTI_FLAGS) -o $@ $(filter %.c %.S,$^)

$(RT_B)/rti32.elf: $(RTI_SRCS) $(addprefix $(RT_DIR)/,i386.c calls32.c entry_i386.S) $(RT_DEPS)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(RT_FLAGS32) $(RTI_FLAGS) -o $@ $(filter %.c %.S,$^)

$(RT_B)/start.elf: $(RT_DIR)/standalone/start.S $(RT_DIR)/standalone/start_page.h $(RT_DIR)/image.h \
                   $(RT_DIR)/abi.h
	@mkdir -p $(@D)
	$(call say,AS,$@)$(CC) -I$(RT_DIR) $(RT_LINK) -Wl,-Ttext=0x10000 -o $@ $<

$(RT_B)/start32.elf: $(RT_DIR)/standalone/start32.S $(RT_DIR)/standalone/start_page.h $(RT_DIR)/image.h \
                   $(RT_DIR)/abi.h
	@mkdir -p $(@D)
	$(call say,AS,$@)$(CC) -m32 -I$(RT_DIR) $(RT_LINK) -Wl,-Ttext=0x10000 -o $@ $<

# What is carried: text and data as they lie in memory.
$(RT_B)/%.text: $(RT_B)/%.elf
	$(call say,BIN,$@)objcopy -O binary -j .text $< $@
$(RT_B)/%.data: $(RT_B)/%.elf
	$(call say,BIN,$@)objcopy -O binary -j .data $< $@
.SECONDARY: $(RT_ALL:.elf=.text) $(RT_ALL:.elf=.data)

$(RT_B)/image.o: $(RT_B)/rt.text $(RT_B)/rt.data $(RT_DIR)/embed.S
	$(call say,AS,$@)$(CC) -c -DRT=pm_rt -DFILE=rt -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
$(RT_B)/image32.o: $(RT_B)/rt32.text $(RT_B)/rt32.data $(RT_DIR)/embed.S
	$(call say,AS,$@)$(CC) -c -DRT=pm_rt32 -DFILE=rt32 -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
$(RT_B)/rti-image.o: $(RT_B)/rti.text $(RT_B)/rti.data $(RT_B)/start.text $(RT_DIR)/embed.S
	$(call say,AS,$@)$(CC) -c -DRT=pm_rti -DFILE=rti -DSTUB=start -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
$(RT_B)/rti32-image.o: $(RT_B)/rti32.text $(RT_B)/rti32.data $(RT_B)/start32.text $(RT_DIR)/embed.S
	$(call say,AS,$@)$(CC) -c -DRT=pm_rti32 -DFILE=rti32 -DSTUB=start32 -Wa,-I$(RT_B) -o $@ $(RT_DIR)/embed.S
