/* SPDX-License-Identifier: MIT */
/* linux_image.h - what a Linux kernel's own image says of it: symbols (kallsyms), members of
 * structures (BTF), and what lies at an address
 *
 * A kernel is linked at one place and may be moved by a multiple of 2 MiB when it starts (KASLR).
 * Addresses here are those of the linker.
 *
 * Ownership  linux_image_open()/linux_image_free().
 * Errors     any bytes may come; what is missing is one sentence. */
#ifndef PM_QEMU_LINUX_IMAGE_H
#define PM_QEMU_LINUX_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct linux_image;

/* A bzImage or vmlinux for x86_64, which is unpacked. NULL and @err. */
struct linux_image *linux_image_open(const char *path, struct pm_err *err);
struct linux_image *linux_image_read(const void *p, size_t n, struct pm_err *err);
void linux_image_free(struct linux_image *k);

/* The address of a symbol; 0: there is none. */
uint64_t linux_image_symbol(const struct linux_image *k, const char *name);
size_t linux_image_symbols(const struct linux_image *k);
/* Where a member is in a structure, bytes; also of unnamed structures within it. False: it has no
 * such one. */
bool linux_image_member(const struct linux_image *k, const char *type, const char *member,
			uint32_t *at);
/* Borrowed: the @n bytes at @addr; NULL if the image has none there. */
const uint8_t *linux_image_bytes(const struct linux_image *k, uint64_t addr, size_t n);
/* Some bytes that are the same whereever the kernel runs, and their address. */
const uint8_t *linux_image_mark(const struct linux_image *k, uint64_t *addr, size_t n);

#endif
