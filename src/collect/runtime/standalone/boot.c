/* SPDX-License-Identifier: MIT */
/* boot.c - an instrumented executable begins */
#include "standalone.h"

#define AHEAD 0x20000			/* of a trace buffer */
#define RESTARTED 0x80000u	/* FDPIC_FUNCPTRS, which means nothing on x86: we
				 * have exec'd ourselves */
/* Two bits that Linux has not defined: how often we have done so because a place was taken. */
#define TRIED 0x10000000u
#define MOST_TRIES 3u

struct img_boot rt_img_boot __attribute__((section(".data.boot")));

extern word rt_boot_rsp, rt_boot_regs[2];
struct rt_block *rt_boot(void);

struct own_elf_head {
	uint8_t ident[16];
	uint16_t type, machine;
	u32 version;
	word entry, phoff, shoff;
	u32 flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct elf_phdr {
#ifdef __i386__
	u32 type;
	word offset, vaddr, paddr, filesz, memsz;
	u32 flags;
	word align;
#else
	u32 type, flags;
	word offset, vaddr, paddr, filesz, memsz, align;
#endif
};
enum { PT_LOAD = 1, PF_X = 1, PF_W = 2, PF_R = 4 };
enum { AT_NULL, AT_IGNORE, AT_EXECFD, AT_PHDR, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_FLAGS,
       AT_ENTRY,
       AT_EXECFN = 31, AT_SYSINFO, AT_SYSINFO_EHDR };

static word *auxv_of(word sp)
{
	word *p = PTR(sp);

	p += 2 + *p;
	while (*p++)
		;
	return p;
}

static int same_file(const char *a, const char *b)
{
	struct rt_stat x, y;

	return !rt_stat(a, 0, &x) && (rt_stat(b, 0, &y) || (x.dev == y.dev && x.ino == y.ino));
}

static void restart(word sp, word now)
{
	word *argv = (word *)PTR(sp) + 1, *aux = auxv_of(sp);
	const char *name = "/proc/self/exe";

	if (rt_sys(NR_personality, now | RESTARTED | ADDR_NO_RANDOMIZE) < 0)
		return;
	/* by the same name, for the stack's sake, if that is a name of this file */
	for (; *aux; aux += 2)
		if (*aux == AT_EXECFN && same_file(PTR(aux[1]), name))
			rt_sys(NR_execve, aux[1], argv, argv + argv[-1] + 1);
	rt_sys(NR_execve, name, argv, argv + argv[-1] + 1);
}

static word began_with;			/* the personality */

/* The kernel places the stack of a program with rights at random whatever we ask for, also where a
 * library has to be. The next time it will be elsewhere. Returns if that has been tried enough. */
static void try_again(void)
{
	if (began_with & RESTARTED && rt_is_secure() &&
	    began_with / TRIED % (MOST_TRIES + 1) < MOST_TRIES)
		restart(rt_boot_rsp, began_with + TRIED);
}

/* Addresses are fixed; a stack or heap at random places might be in the way: the first instructions
 * have executed the program once more (64-bit programs in start.S). Were we executed by an
 * instrumented program? */
static int without_randomisation(word sp)
{
	const long now = rt_sys(NR_personality, 0xffffffff);
	word mine = EXECED;

	(void)sp;
	if (now < 0)
		return 0;
#ifdef __i386__
	if (!(now & (ADDR_NO_RANDOMIZE | RESTARTED)))	/* else the kernel will not have it, of a
							 * setuid program */
		restart(sp, (word)now);
#endif
	began_with = (word)now;
	if (now & RESTARTED)
		mine |= RESTARTED | ADDR_NO_RANDOMIZE | MOST_TRIES * TRIED;
	rt_sys(NR_personality, (word)now & ~mine);
	return !!(now & EXECED);
}

static const char *executed_name(word sp)
{
	for (const word *a = auxv_of(sp); *a; a += 2)
		if (*a == AT_EXECFN)
			return PTR(a[1]);
	return "";
}

/* Our program headers, and the header that points to them, are not for the program to see. */
static void restore_header(void)
{
	u64 page = MAN->ehdr & ~4095ull;

	if (!MAN->ehdr)
		return;
	rt_sys(NR_mprotect, page, 4096, PROT_READ | PROT_WRITE);
	rt_memcpy(PTR(MAN->ehdr), MAN->header, sizeof MAN->header);
	rt_sys(NR_mprotect, page, 4096, PROT_READ);
}

static void map_segment(const struct elf_phdr *p, u64 bias, long fd, const char *name)
{
	u64 lo = ((u64)p->vaddr & ~4095ull) + bias, prot = 0;
	u64 file = (u64)p->filesz + (p->vaddr & 4095),
	    mem = page_up((u64)p->memsz + (p->vaddr & 4095));

	prot |= p->flags & PF_R ? PROT_READ : 0;
	prot |= p->flags & PF_W ? PROT_WRITE : 0;
	prot |= p->flags & PF_X ? PROT_READ : 0;	/* never executable */
	if (p->filesz)
		rt_image_map(lo, file, prot, MAP_PRIVATE, fd, p->offset & ~4095ul, name);
	if (p->memsz > p->filesz) {
		u64 end = p->vaddr + bias + p->filesz;

		if (p->filesz && prot & PROT_WRITE)
			memset(PTR(end), 0, page_up(end) - end);
		if (lo + mem > page_up(end))
			rt_image_map(page_up(end), lo + mem - page_up(end), prot,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, name);
	}
}

static void map_interpreter(void)
{
	static struct elf_phdr ph[16];
	const struct img_file *f = &FILES[1];
	struct own_elf_head eh;
	long fd = rt_sys(NR_open, f->path, O_CLOEXEC, 0);
	u64 bias = f->base, first = ~0ull;

	if (fd < 0)
		rt_image_stop("cannot open the program's interpreter", f->path);
	rt_file_opened(1, fd);
	if (rt_pread(fd, &eh, sizeof eh, 0) != sizeof eh || eh.phnum > NR_OF(ph) ||
	    rt_pread(fd, ph, eh.phnum * sizeof *ph, eh.phoff) != (long)(eh.phnum * sizeof *ph))
		rt_file_differs(1);
	for (u32 i = 0; i < eh.phnum; i++)
		if (ph[i].type == PT_LOAD && (ph[i].vaddr & ~4095ul) < first)
			first = ph[i].vaddr & ~4095ul;
	bias -= first;
	for (u32 i = 0; i < eh.phnum; i++)
		if (ph[i].type == PT_LOAD)
			map_segment(&ph[i], bias, fd, f->path);
	rt_sys(NR_close, fd);
}

static void fix_auxv(word sp)
{
	for (word *a = auxv_of(sp); *a; a += 2)
		switch (*a) {
		case AT_PHDR: a[1] = (word)MAN->phdr; break;
		case AT_PHNUM: a[1] = (word)MAN->phnum; break;
		case AT_BASE: a[1] = MAN->interp ? (word)FILES[1].base : 0; break;
		case AT_ENTRY: a[1] = (word)MAN->entry; break;
		case AT_SYSINFO: case AT_SYSINFO_EHDR: a[0] = AT_IGNORE; break;
		}
}

/* The vDSO's code differs from kernel to kernel, and without an interpreter of the
 * kernel's choosing it is where the interpreter goes. Its data pages lie in front of it;
 * nothing else is near yet. */
#define VDSO_PAGES 3
#define VVAR_PAGES 8

static void drop_vdso(word sp)
{
	if (!MAN->interp)
		return;
	for (word *a = auxv_of(sp); *a; a += 2)
		if (*a == AT_SYSINFO_EHDR)
			rt_sys(NR_munmap, a[1] - 4096 * VVAR_PAGES,
			       4096 * (VVAR_PAGES + VDSO_PAGES));
}

static void map_texts(long fd)
{
	for (u32 i = 0; i < MAN->ntext; i++) {
		const struct img_text *t = &TEXTS[i];

		if (t->file > MAN->interp)
			continue;
		rt_range_add(t->lo, t->hi, t->prot, 0);
		if (t->file == 0) {
			rt_sys(NR_mprotect, t->lo, t->hi - t->lo,
			       (t->prot & ~(u64)PROT_EXEC) | PROT_READ);
			rt_text_attach(i, fd);
		} else {
			rt_library_text(i);
		}
	}
}

/* Of the interpreter nearly all will be executed. */
static void fill_interpreter(void)
{
	for (u32 i = 0; i < MAN->ntext; i++)
		if (rt_live[i] && TEXTS[i].file && TEXTS[i].code_len <= SMALL / 8)
			rt_shadow_fill(i, 0, TEXTS[i].hi - TEXTS[i].lo);
}

/* What will be touched soon comes in few calls. */
static void populate_block(struct rt_block *b)
{
	const word at = (word)b;

	rt_sys(NR_madvise, at, 4096, MADV_POPULATE_WRITE);
	rt_sys(NR_madvise, at + RT_STACK_TOP - 8192, 8192, MADV_POPULATE_WRITE);
	rt_sys(NR_madvise, at + RT_ALT_STACK + RT_ALT_SIZE - 8192, 8192 + 4096,
	       MADV_POPULATE_WRITE);
	if (MAN->kind != IMG_PROFILE)
		rt_sys(NR_madvise, at + TRACE_AT, AHEAD, MADV_POPULATE_WRITE);
	for (u32 i = 0; i < MAN->ntext; i++)
		if (rt_live[i])
			rt_populate_counters(b, i);
}

struct rt_block *rt_boot(void)
{
	const long fd = (long)rt_img_boot.fd;
	struct rt_block *b;
	int execed;

	execed = without_randomisation(rt_boot_rsp);
	rt_place_is_taken = try_again;
	rt_image_map(MANIFEST_AT, rt_img_boot.manifest_len, PROT_READ,
		     MAP_PRIVATE | (rt_img_boot.manifest_len <= SMALL / 64 ? MAP_POPULATE : 0), fd,
		     rt_img_boot.manifest, 0);
	if (MAN->abi != RT_ABI || MAN->ntext > MAX_TEXTS)
		rt_image_stop("this instrumented program is damaged", 0);
	rt_image_texts = PTR(MANIFEST_AT + MAN->texts);
	rt_names_find(executed_name(rt_boot_rsp));
	rt_image_map_data(MAN);
	restore_header();
	drop_vdso(rt_boot_rsp);
	if (MAN->interp)
		map_interpreter();
	rt_keep_places();
	map_texts(fd);
	rt_place_is_taken = 0;		/* from here on others may know of us */
	rt_sys(NR_close, fd);
	fix_auxv(rt_boot_rsp);
	rt_sys(NR_munmap, MAN->stub, IMG_STUB_SIZE);
	b = rt_block_map(1);
	if (!b)
		rt_image_stop("no shared memory for the counters", 0);
	populate_block(b);
	fill_interpreter();
	b->links = MANIFEST_AT + MAN->links;
	rt_block_begin(b, MAN->interp ? MAN->interp_entry : MAN->entry);
	LEDGER->owner[1] = b->pid;
	LEDGER->used = 2;
	rt_watch(b->pid);
	rt_root = execed ? 0 : b->pid;
	SHARED->translated = execed;
	if (MAN->kind != IMG_PROFILE && !MAN->no_trace && !execed)
		rt_open_fifo();
	rt_trace_begin(b);
	rt_trace_start(b);
	rt_resume(b);
	return b;
}
