/* SPDX-License-Identifier: MIT */
/* physical.h - physical addresses of what a guest executes and references
 *
 * The guest's memory is a memory file that QEMU maps once. Where an instruction lies in that mapping
 * is where it is in the guest, which has less memory than would have to go around the hole below 4 GiB.
 * QEMU says where a reference is, but only of its first byte: the rest of one that crosses into the
 * next page is where the page tables say.
 *
 * Call these from call-backs of the virtual processor that may read registers. */
#ifndef PUGMARK_QEMU_PHYSICAL_H
#define PUGMARK_QEMU_PHYSICAL_H

#include <stdbool.h>
#include <stdint.h>

struct qemu_plugin_hwaddr;

/* The guest's memory is the file @fd. False: it cannot be. */
bool physical_open(int fd);
/* Where the byte is that QEMU has at @host; the guest knows it as @addr. */
uint64_t physical_code(const void *host, uint64_t addr);
/* Say where a reference of @size bytes at @addr is, of which @h is what QEMU knows. */
void physical_say(const struct qemu_plugin_hwaddr *h, uint64_t addr, unsigned size);
/* Memory has been mapped: watch it for physical_say_touched(). */
void physical_watch(void);
/* Which pages of the guest's memory QEMU has looked at since it was filled: a bit for each, from the
 * lowest one on, in the file @fd, which stays empty if that is not known. -1: nobody asks. */
void physical_say_touched(int fd);

#endif
