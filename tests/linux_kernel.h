/* SPDX-License-Identifier: MIT */
/* linux_kernel.h - makes images of a kernel that is nothing but its tables: symbols and types */
#ifndef PM_TESTS_LINUX_KERNEL_H
#define PM_TESTS_LINUX_KERNEL_H

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define KERNEL_BASE	0xffffffff81000000ull
#define KERNEL_RODATA	0xffffffff82000000ull

/* before by_name, with it, and from Linux 6.4 on */
enum kernel_layout { LAYOUT_6_1, LAYOUT_BY_NAME, LAYOUT_6_4, LAYOUTS };

static const char *const kernel_functions[] = {
	"x86_64_start_kernel", "__switch_to_asm", "wake_up_new_task", "membarrier_exec_mmap",
	"finalize_exec", "do_exit", "exit_sem", "copy_page_range", "mmap_region", "do_brk_flags",
	"insert_vm_struct", "expand_downwards", "unmap_vmas", "move_page_tables",
	"__x64_sys_mremap", "vma_to_resize", "__x64_sys_madvise", "zap_page_range_single",
	"handle_mm_fault", "fd_install", "filp_close", "clear_inode", "do_truncate", "shm_destroy",
	"vfs_read", "vfs_readv", "vfs_write", "vfs_writev", "do_splice_direct", "__x64_sys_accept",
	"__x64_sys_accept4", "page_offset_base",
	"init_task",
};

/* A structure, and its members, 8 bytes each; those in parentheses are in an unnamed one. */
static const char *const kernel_types[][10] = {
	{ "task_struct", "state", "pid", "tgid", "mm", "utime", "stime" },
	{ "mm_struct", "(pgd" }, { "linux_binprm", "file", "filename" },
	{ "file", "f_inode", "f_path" }, { "path", "mnt", "dentry" },
	{ "dentry", "d_name", "d_inode" }, { "qstr", "hash", "name" },
	{ "inode", "i_ino", "i_sb", "i_mode", "(i_nlink", "i_size" },
	{ "super_block", "s_dev", "s_flags" },
	{ "vm_area_struct", "(vm_start", "vm_end", "vm_mm", "vm_pgoff", "vm_file", "vm_ops",
	  "vm_private_data", "vm_flags" },
	{ "vm_special_mapping", "name" }, { "pt_regs", "di", "si", "dx", "ip" },
	{ "kern_ipc_perm", "id" }, { "cpuinfo_x86", "x86_capability" },
};

static inline void kernel_put(struct pm_buf *b, uint64_t v, unsigned bytes)
{
	pm_buf_add(b, &v, bytes);
}

static inline void kernel_align(struct pm_buf *b)
{
	while (b->n % 8)
		kernel_put(b, 0, 1);
}

/* Symbol @i's address: one in 16 is a processor's own. */
static inline uint64_t kernel_address(unsigned i)
{
	return i % 16 == 15 ? 0x100 + i : KERNEL_BASE + 64 * (uint64_t)i;
}

static inline void kernel_name(char *to, size_t size, unsigned i)
{
	if (i < NR(kernel_functions))
		snprintf(to, size, "%s", kernel_functions[i]);
	else
		snprintf(to, size, "do_%0*u", i % 50 == 49 ? 200 : 1, i);	/* some are long */
}

static inline void kernel_offsets(struct pm_buf *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t a = kernel_address(i);

		kernel_put(b, a < KERNEL_BASE ? a : (uint32_t)(KERNEL_BASE - 1 - a), 4);
	}
	kernel_align(b);
	kernel_put(b, KERNEL_BASE, 8);
}

static inline void kernel_names(struct pm_buf *b, unsigned n)
{
	struct pm_buf marks = { 0 };
	size_t begin;
	char name[256];

	kernel_put(b, n, 4);
	kernel_align(b);
	begin = b->n;
	for (unsigned i = 0; i < n; i++) {
		size_t len;
		const char *p = name;

		if (i % 256 == 0)
			kernel_put(&marks, b->n - begin, 4);
		kernel_name(name, sizeof name, i);
		/* token 1 is "do_" */
		len = strlen(name) + 1;
		if (!strncmp(name, "do_", 3))
			len -= 2;
		if (len > 127)
			kernel_put(b, (len & 127) | 128 | len >> 7 << 8, 2);
		else
			kernel_put(b, len, 1);
		kernel_put(b, i % 16 == 15 ? 'A' : 'T', 1);
		if (!strncmp(name, "do_", 3)) {
			kernel_put(b, 1, 1);
			p += 3;
		}
		pm_buf_add(b, p, strlen(p));
	}
	kernel_align(b);
	pm_buf_add(b, marks.p, marks.n);
	kernel_align(b);
	pm_buf_release(&marks);
}

static inline void kernel_tokens(struct pm_buf *b)
{
	const size_t begin = b->n;
	uint16_t at[256];

	for (unsigned i = 0; i < 256; i++) {
		at[i] = (uint16_t)(b->n - begin);
		if (i == 1)
			pm_buf_add(b, "do_", 4);
		else if (i < 32 || i > 126)
			pm_buf_add(b, "zz", 3);
		else
			kernel_put(b, i, 2);
	}
	kernel_align(b);
	pm_buf_add(b, at, sizeof at);
}

static inline void kernel_kallsyms(struct pm_buf *b, enum kernel_layout layout, unsigned n)
{
	/* something before it, in which no table begins */
	pm_buf_add(b, "Linux version 0", 16);
	if (layout != LAYOUT_6_4)
		kernel_offsets(b, n);
	kernel_names(b, n);
	for (unsigned i = 0; layout == LAYOUT_BY_NAME && i < n; i++)
		kernel_put(b, n - i, 3);
	kernel_align(b);
	kernel_tokens(b);
	if (layout == LAYOUT_6_4)
		kernel_offsets(b, n);
}

/* Type 1 is an integer; a structure with an unnamed one follows that. */
static inline void kernel_btf(struct pm_buf *b)
{
	struct pm_buf types = { 0 }, names = { 0 };
	uint32_t id = 1;

	kernel_put(&names, 0, 1);
	for (unsigned k = 0; k < 4; k++)
		kernel_put(&types, (uint32_t[]){ 0, 1u << 24, 8, 64 }[k], 4);
	for (unsigned i = 0; i < NR(kernel_types); i++) {
		uint32_t members = 0, inner = 0;

		for (unsigned m = 1; m < 10 && kernel_types[i][m]; m++, members++)
			if (*kernel_types[i][m] == '(') {
				kernel_put(&types, 0, 4);
				kernel_put(&types, 1 | 4u << 24, 4);
				kernel_put(&types, 8, 4);
				kernel_put(&types, names.n, 4);
				kernel_put(&types, 1, 4);
				kernel_put(&types, 0, 4);
				pm_buf_add(&names, kernel_types[i][m] + 1,
					   strlen(kernel_types[i][m]));
				inner = ++id;
			}
		kernel_put(&types, names.n, 4);
		kernel_put(&types, members | 4u << 24, 4);
		kernel_put(&types, 8 * members, 4);
		pm_buf_add(&names, kernel_types[i][0], strlen(kernel_types[i][0]) + 1);
		id++;
		for (unsigned m = 1; m <= members; m++) {
			const bool unnamed = *kernel_types[i][m] == '(';

			kernel_put(&types, unnamed ? 0 : names.n, 4);
			kernel_put(&types, unnamed ? inner : 1, 4);
			kernel_put(&types, 64 * (m - 1), 4);
			if (!unnamed)
				pm_buf_add(&names, kernel_types[i][m],
					   strlen(kernel_types[i][m]) + 1);
		}
	}
	kernel_put(b, 0xeb9f, 2);
	kernel_put(b, 1, 2);
	kernel_put(b, 24, 4);
	kernel_put(b, 0, 4);
	kernel_put(b, types.n, 4);
	kernel_put(b, types.n, 4);
	kernel_put(b, names.n, 4);
	pm_buf_add(b, types.p, types.n);
	pm_buf_add(b, names.p, names.n);
	pm_buf_release(&types);
	pm_buf_release(&names);
}

/* A vmlinux with @n symbols (0: none), and types if @btf. */
static inline struct pm_buf kernel_vmlinux(enum kernel_layout layout, unsigned n, bool btf)
{
	static const char names[] = "\0.rodata\0.BTF\0.shstrtab";
	struct pm_buf b = { 0 };
	Elf64_Ehdr h = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 }, .e_type = ET_EXEC,
		.e_machine = EM_X86_64, .e_version = 1, .e_ehsize = sizeof h,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3,
	};
	Elf64_Shdr s[4] = { 0 };

	pm_buf_add(&b, &h, sizeof h);
	s[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
			     .sh_addr = KERNEL_RODATA, .sh_offset = b.n };
	if (n)
		kernel_kallsyms(&b, layout, n);
	s[1].sh_size = b.n - s[1].sh_offset;
	kernel_align(&b);
	s[2] = (Elf64_Shdr){ .sh_name = 9, .sh_type = SHT_PROGBITS, .sh_offset = b.n };
	if (btf)
		kernel_btf(&b);
	s[2].sh_size = b.n - s[2].sh_offset;
	s[3] = (Elf64_Shdr){ .sh_name = 14, .sh_type = SHT_STRTAB, .sh_offset = b.n,
			     .sh_size = sizeof names };
	pm_buf_add(&b, names, sizeof names);
	kernel_align(&b);
	h.e_shoff = b.n;
	pm_buf_add(&b, s, sizeof s);
	memcpy(b.p, &h, sizeof h);
	return b;
}

/* A bzImage around what is packed. */
static inline struct pm_buf kernel_bzimage(const void *packed, size_t n)
{
	struct pm_buf b = { 0 };

	memset(pm_buf_room(&b, 0x400), 0, 0x400);
	b.n = 0x400;
	b.p[0x1f1] = 1;
	memcpy(b.p + 0x202, "HdrS\x0f\x02", 6);
	memcpy(b.p + 0x24c, &(uint32_t){ (uint32_t)n }, 4);
	pm_buf_add(&b, packed, n);
	return b;
}

#endif
