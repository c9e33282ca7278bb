/* SPDX-License-Identifier: MIT */
/* guest_memory.h - a guest's memory as files of saved guests have it: CATX_MEMORY of
 * trace/cat_x86.h, where pages that are all zero are not there
 *
 * Errors     any bytes may come, of which the error names the place; but guest_memory_fill() and
 *            guest_memory_keep() get what guest_memory_check() has found to be right.
 * Threads    none. */
#ifndef PM_QEMU_GUEST_MEMORY_H
#define PM_QEMU_GUEST_MEMORY_H

#include "base/err.h"
#include "base/mem.h"

#define GUEST_PAGE	4096u

/* Is it that, of a memory of @size bytes? */
enum pm_status guest_memory_check(const struct pm_buf *from, uint64_t size, struct pm_err *err);
/* All of the file @fd, which has @size bytes. */
enum pm_status guest_memory_pack(int fd, uint64_t size, struct pm_buf *to, struct pm_err *err);
/* The file @fd gets that, and has @size bytes: all else in it is zero. */
enum pm_status guest_memory_fill(const struct pm_buf *from, int fd, uint64_t size,
				 struct pm_err *err);
/* Of @from those pages whose bit is set, from the lowest one on, in the @n bytes at @bits. */
enum pm_status guest_memory_keep(const struct pm_buf *from, const uint8_t *bits, size_t n,
				 struct pm_buf *to, struct pm_err *err);

#endif
