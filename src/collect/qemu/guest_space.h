/* SPDX-License-Identifier: MIT */
/* guest_space.h - address spaces of an x86 guest by the kernel's address of their description
 * (struct mm_struct): whose each is, and mappings of those that are nobody's yet
 *
 * An execve maps the new program's stack before the process gets the address space.
 *
 * Ownership  guest_spaces_release(). Zeroes are an empty one. */
#ifndef PM_QEMU_GUEST_SPACE_H
#define PM_QEMU_GUEST_SPACE_H

#include <stdbool.h>

#include "base/mem.h"

struct guest_area {			/* a mapping, or a part of one */
	uint64_t start, end;
	uint64_t file;			/* 0: none */
	uint64_t inode, dev, offset;	/* of the file; in pages */
	bool kernels;			/* the file is in a file system of the kernel's own */
	bool special;			/* the kernel's own pages; inode: which */
	char name[256];
};

struct guest_spaces {
	struct pm_map of;		/* description -> pid, and in bit 32 whether it forked */
	struct kept_area { uint64_t mm; struct guest_area a; } *kept;
	size_t n, cap;
};

void guest_spaces_add(struct guest_spaces *s, uint64_t mm, uint64_t pid);
void guest_spaces_forked(struct guest_spaces *s, uint64_t mm);
void guest_spaces_remove(struct guest_spaces *s, uint64_t mm);
/* False: it is nobody's. @pid and @forked, whether it may share pages with another, may be NULL. */
bool guest_spaces_find(const struct guest_spaces *s, uint64_t mm, uint64_t *pid, bool *forked);
/* A mapping of one that is nobody's. */
void guest_spaces_keep(struct guest_spaces *s, uint64_t mm, const struct guest_area *a);
/* The first that is kept, which is forgotten; false: there is none. */
bool guest_spaces_kept(struct guest_spaces *s, uint64_t mm, struct guest_area *a);
void guest_spaces_release(struct guest_spaces *s);

#endif
