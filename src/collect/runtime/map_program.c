/* SPDX-License-Identifier: MIT */
/* map_program.c - load the program, as the kernel would have, where ptrace() is refused
 *
 * The kernel has executed a file that holds nothing but the runtime (control/loader.c): the stack,
 * the arguments and the vDSO are the program's, and the auxiliary vector is once it says where the
 * program is. The heap begins behind the program, where the kernel lets us say so: programs that
 * have saved their heap rely on it. What remains different: /proc/self/exe is the runtime, which
 * rt_exe hides from who reads the link. */
#include <elf.h>

#include "rt.h"

#define LOAD ((const struct rt_load *)RT_LOAD)
#define MAX_SEGMENTS 64
#define PIE_BASE 0x555555554000ull	/* two thirds of the address space, as the kernel's
					 * ELF_ET_DYN_BASE */

extern word rt_boot_rsp;
char rt_exe[4096];

struct loaded {
	u64 bias, entry, headers;	/* addresses */
	u64 code, code_end, data, data_end, end;
	u32 nheader;
};

__attribute__((noreturn)) static void fail(void)
{
	rt_fail("pugmark: cannot load the program\n");
}

static word prot_of(const Elf64_Phdr *p)
{
	return (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
	       (p->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Anywhere, or near @hint: room for [lo, hi) that nobody has. Returns its distance from there. */
static u64 room_for(u64 lo, u64 hi, u64 align, u64 hint)
{
	const u64 size = hi - lo + align - 4096;
	const long at = rt_sys(NR_mmap, hint, size, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

	if (rt_failed(at))
		fail();
	rt_sys(NR_munmap, at, size);
	return (((u64)at + align - 1) & ~(align - 1)) - lo;
}

static void map_segment(long fd, const Elf64_Phdr *p, u64 bias)
{
	const u64 at = page_down(bias + p->p_vaddr), off = page_down(p->p_offset);
	const u64 file_end = bias + p->p_vaddr + p->p_filesz,
		  end = page_up(bias + p->p_vaddr + p->p_memsz);
	const word flags = MAP_PRIVATE | 0x100000;	/* MAP_FIXED_NOREPLACE */
	u64 zero = page_up(file_end);

	if (p->p_filesz &&
	    rt_sys(NR_mmap, at, page_up(file_end) - at, prot_of(p), flags, fd, off) != (long)at)
		fail();
	if (!p->p_filesz)
		zero = at;
	else if (p->p_memsz > p->p_filesz && p->p_flags & PF_W)
		memset(PTR(file_end), 0, zero - file_end);
	if (end > zero &&
	    rt_sys(NR_mmap, zero, end - zero, prot_of(p), flags | MAP_ANONYMOUS, -1,
		   0) != (long)zero)
		fail();
}

/* What of the program is code and what is data, by the rules of the kernel's load_elf_binary(). */
static void note_extent(struct loaded *l, const Elf64_Phdr *p)
{
	const u64 at = l->bias + p->p_vaddr, file_end = at + p->p_filesz;

	if (p->p_flags & PF_X && (!l->code || at < l->code))
		l->code = at;
	if (p->p_flags & PF_X && l->code_end < file_end)
		l->code_end = file_end;
	if (l->data < at)
		l->data = at;
	if (l->data_end < file_end)
		l->data_end = file_end;
	if (l->end < at + p->p_memsz)
		l->end = at + p->p_memsz;
}

static void load(const char *path, u64 hint, struct loaded *l)
{
	const long fd = rt_sys(NR_open, path, 02000000 /* O_CLOEXEC */, 0);
	Elf64_Phdr p[MAX_SEGMENTS];
	u64 lo = ~0ull, hi = 0, align = 4096;
	Elf64_Ehdr h;

	if (fd < 0 || rt_sys(NR_pread, fd, &h, sizeof h, 0) != sizeof h ||
	    h.e_phnum > MAX_SEGMENTS || h.e_phentsize != sizeof *p ||
	    rt_sys(NR_pread, fd, p, sizeof *p * h.e_phnum,
		   h.e_phoff) != (long)(sizeof *p * h.e_phnum))
		fail();
	for (u32 i = 0; i < h.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (lo > page_down(p[i].p_vaddr))
			lo = page_down(p[i].p_vaddr);
		if (hi < p[i].p_vaddr + p[i].p_memsz)
			hi = page_up(p[i].p_vaddr + p[i].p_memsz);
		if (align < p[i].p_align && !(p[i].p_align & (p[i].p_align - 1)))
			align = p[i].p_align;
	}
	if (lo >= hi)
		fail();
	l->bias = h.e_type == ET_DYN ? room_for(lo, hi, align, hint) : 0;
	l->entry = l->bias + h.e_entry;
	l->nheader = h.e_phnum;
	for (u32 i = 0; i < h.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		map_segment(fd, &p[i], l->bias);
		note_extent(l, &p[i]);
		if (p[i].p_offset <= h.e_phoff && h.e_phoff < p[i].p_offset + p[i].p_filesz)
			l->headers = l->bias + p[i].p_vaddr + h.e_phoff - p[i].p_offset;
	}
	rt_sys(NR_close, fd);
}

/* The auxiliary vector is behind the arguments' and the environment's ends. */
static Elf64_auxv_t *find_auxv(void)
{
	word *v = PTR(rt_boot_rsp + 8);

	for (u32 ends = 0; ends < 2; v++)
		ends += !*v;
	return (Elf64_auxv_t *)v;
}

static void set_auxiliary_vector(const struct loaded *program, u64 interpreter, char *name)
{
	for (Elf64_auxv_t *a = find_auxv(); a->a_type != AT_NULL; a++)
		switch (a->a_type) {
		case AT_PHDR:
			a->a_un.a_val = program->headers;
			break;
		case AT_PHNUM:
			a->a_un.a_val = program->nheader;
			break;
		case AT_BASE:
			a->a_un.a_val = interpreter;
			break;
		case AT_ENTRY:
			a->a_un.a_val = program->entry;
			break;
		case AT_EXECFN:
			a->a_un.a_val = (word)name;
			break;
		case AT_RANDOM:
			if (LOAD->fix_random)
				rt_memcpy(PTR(a->a_un.a_val), "pugmark-random-0", 16);
			break;
		case AT_SYSINFO_EHDR:
			if (LOAD->no_vdso)
				a->a_type = AT_IGNORE;
			break;
		}
}

/* 32 bits of the kernel's own randomisation, from byte @at of its 16; 0 if the process has none. */
static u64 random_bits(u32 at)
{
	const long persona = rt_sys(NR_personality, 0xffffffff);
	u64 random = 0;

	for (const Elf64_auxv_t *a = find_auxv(); a->a_type != AT_NULL; a++)
		if (a->a_type == AT_RANDOM && !(persona & ADDR_NO_RANDOMIZE))
			rt_memcpy(&random, PTR(a->a_un.a_val + at), 4);
	return random;
}

static u64 pie_hint(void)
{
	return PIE_BASE + (random_bits(8) & 0xfffffff) * 4096;
}

/* The strings at @v, up to a null pointer, end there. */
static u64 strings_end(const word *v, u64 none)
{
	const char *end = (const char *)none;

	for (; *v; v++) {
		end = PTR(*v);
		while (*end++)
			;
	}
	return (u64)end;
}

/* Tells the kernel, which thinks that it has started the runtime, where the program is. Above all
 * where the heap begins: at most 32 MiB behind the program (the kernel's arch_randomize_brk()).
 * A kernel without CONFIG_CHECKPOINT_RESTORE refuses; then the heap is behind the runtime. */
static void set_memory_layout(const struct loaded *program)
{
	struct {			/* struct prctl_mm_map of linux/prctl.h */
		u64 start_code, end_code, start_data, end_data, start_brk, brk, start_stack;
		u64 arg_start, arg_end, env_start, env_end;
		Elf64_auxv_t *auxv;
		u32 auxv_size;
		int exe_fd;
	} map = { 0 };
	const word *arguments = PTR(rt_boot_rsp + 8), *environment = arguments;
	Elf64_auxv_t *const auxv = find_auxv();
	u32 n = 0;

	while (*environment++)
		;
	while (auxv[n++].a_type != AT_NULL)
		;
	map.start_code = program->code;
	map.end_code = program->code_end;
	map.start_data = program->data;
	map.end_data = program->data_end;
	map.brk = page_up(program->end) + (random_bits(12) & 0x1fff) * 4096;
	map.start_brk = map.brk;
	map.start_stack = rt_boot_rsp;
	map.env_start = *environment ? *environment : strings_end(arguments, rt_boot_rsp);
	map.env_end = strings_end(environment, map.env_start);
	map.arg_start = *arguments ? *arguments : map.env_start;
	map.arg_end = strings_end(arguments, map.arg_start);
	map.auxv = auxv;
	map.auxv_size = n * (u32)sizeof *auxv;
	map.exe_fd = -1;
	rt_sys(NR_prctl, 35 /* PR_SET_MM */, 14 /* PR_SET_MM_MAP */, &map, sizeof map, 0);
}

u64 rt_load(void)
{
	static char name[sizeof LOAD->name];
	struct loaded program = { 0 }, interpreter = { 0 };
	const char *comm = name;
	long n;

	rt_memcpy(name, LOAD->name, sizeof name);
	for (const char *c = name; *c; c++)
		if (*c == '/')
			comm = c + 1;
	n = rt_sys(NR_readlink, LOAD->program, rt_exe, sizeof rt_exe - 1);
	rt_exe[n > 0 ? n : 0] = 0;
	load(LOAD->program, pie_hint(), &program);
	if (*LOAD->interpreter)
		load(LOAD->interpreter, 0, &interpreter);
	set_auxiliary_vector(&program, interpreter.bias, name);
	set_memory_layout(&program);
	rt_sys(NR_prctl, 15 /* PR_SET_NAME */, comm);
	rt_sys(NR_munmap, RT_LOAD, page_up(sizeof *LOAD));
	return interpreter.entry ? interpreter.entry : program.entry;
}

/* ---- what the program executes --------------------------------------------------------------- */
long rt_load_open(struct rt_block *b)
{
	if (!rt_boot_info.load || b->syscall != NR_execve)
		return -1;
	return rt_app_sys(NR_open, ARG0, 02000000 /* O_CLOEXEC */, 0, 0, 0, 0);
}

/* The arguments at @argv, the first of them replaced by the @n strings at @string and
 * @path. NULL: no memory. */
static word *new_arguments(u64 argv, u32 n, const char *string, word path, word *size)
{
	word count = 0, one, *v;
	long at;

	while (!rt_get(&one, argv + count * sizeof one, sizeof one) && one)
		count++;
	*size = (count + n + 2) * sizeof *v;
	at = rt_sys(NR_mmap, 0, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rt_failed(at))
		return 0;
	v = PTR(at);
	for (u32 i = 0; i < n; i++) {
		v[i] = (word)string;
		while (*string++)
			;
	}
	v[n] = path;
	if (count > 1)
		rt_get(v + n + 1, argv + sizeof *v, (count - 1) * sizeof *v);
	return v;
}

long rt_load_exec(struct rt_block *b)
{
	const u32 n = (u32)b->mail.r[2];
	word *argv = 0, size = 0;
	char path[48];
	long r;

	rt_controllers_file(path, (u32)b->mail.r[1]);
	if (n && !(argv = new_arguments(ARG1, n, (const char *)b->mail.cmd, (word)ARG0, &size)))
		return -ENOMEM;
	r = rt_app_sys(NR_execve, (word)path, n ? (word)argv : (word)ARG1, ARG2, 0, 0, 0);
	if (argv)
		rt_sys(NR_munmap, argv, size);
	return r;
}
