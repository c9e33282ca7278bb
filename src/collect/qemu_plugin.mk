# SPDX-License-Identifier: MIT
# The plug-in for QEMU: a shared object that QEMU loads, carried in the executable as bytes. QEMU's headers are not needed.
QP_SRCS  := $(sort $(wildcard plugins/qemu/*.c))
QP_WARN  := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
QP_FLAGS := -std=gnu11 -O2 -g $(QP_WARN) -D_GNU_SOURCE -Isrc -fPIC -fvisibility=hidden -shared
EXTRA_OBJS += $(B)/plugins/qemu.o

$(B)/plugins/qemu.so: $(QP_SRCS) $(wildcard plugins/qemu/*.h) src/collect/qemu/stream.h src/collect/qemu_plugin.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(QP_FLAGS) -o $@ $(QP_SRCS)
	@objcopy --strip-debug $@

$(B)/plugins/qemu.o: $(B)/plugins/qemu.so plugins/qemu/embed.S
	$(call say,AS,$@)$(CC) -c -Wa,-I$(B)/plugins -o $@ plugins/qemu/embed.S
