/* SPDX-License-Identifier: MIT */
/* watch.h - the guest kernel's functions that pugmark wants to be told of: when they are called, and
 * some when they return, with values from registers and memory
 *
 * Which these are says a plan (collect/qemu/stream.h) with the kernel's addresses as linked. How far
 * the kernel was moved follows from the first block that may be the early function's; the mark must be
 * where it belongs then.
 *
 * Call these from call-backs of the virtual processor that may read registers. */
#ifndef PUGMARK_QEMU_WATCH_H
#define PUGMARK_QEMU_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Map the memory file @fd. False: it is none of pugmark's. */
bool watch_open(int fd);
/* Does something have to be said whenever a block begins at @pc? Asked when it does for the first
 * time. */
bool watch_wants(uint64_t pc);
/* One such begins. True: a place has become such a one, @became, where blocks may have begun
 * before. */
bool watch_say(uint64_t pc, uint64_t *became);

#endif
