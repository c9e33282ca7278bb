/* SPDX-License-Identifier: MIT */
/* guest_events.c - which functions of the kernel are watched, and which events their calls are
 *
 * What each event is said of, and in which order, is as guest/linux/laplace has it for the R4400.
 * Where that one goes through a process's mappings, the function that makes them is watched here.
 * */
#include "collect/qemu/guest_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/qemu/guest_space.h"
#include "collect/qemu/stream.h"
#include "collect/qemu/watch_plan.h"

#define PAGE		4096u
#define VALUES		24		/* of a record, at most */
#define TEXTS		2

/* of the kernel's interface inside, the same since Linux 4.10 or longer */
#define FLAG_WRITE	1u		/* of a page fault */
#define VM_SHARED	8u
#define FAULT_FAILED	0xc73u		/* VM_FAULT_ERROR, VM_FAULT_RETRY */
#define DONTNEED	4u		/* of madvise */
#define SB_KERNMOUNT	(1u << 22)
#define CAP_PTI		(1u << 11)	/* of the eighth word of the processor's features */

struct values {
	uint64_t v[VALUES];
	char text[TEXTS][QS_TEXT * 8];
};

struct task {				/* what a task is doing */
	bool exiting;
	uint64_t advice;		/* of madvise, 0 none */
	uint64_t old, size;		/* of mremap; 0 none */
	struct guest_area resized;	/* the mapping that mremap is about */
};

struct guest_events {
	struct qs_plan plan;
	void (*event)(void *self, const struct pm_rare *r, uint8_t type);
	void *self;
	struct guest_spaces spaces;
	struct pm_map tasks;		/* pid -> struct task */
	struct pm_map directories;	/* of processes: page -> nothing */
	uint64_t pid, tgid, mm;		/* of the task that runs */
	bool any;			/* there was an event */
	bool two_directories;
};

/* ---- events ---------------------------------------------------------------------------------- */

static void emit_file(struct guest_events *g, char tag, uint8_t type, const char *name, uint32_t n,
		      const uint64_t *arg)
{
	struct pm_rare r = { .code = (uint8_t)tag, .nargs = n, .name = name };

	memcpy(r.arg, arg, n * sizeof *arg);
	g->any = true;
	g->event(g->self, &r, type);
}

#define EMIT(g, tag, ...)	emit_file(g, tag, 0, NULL,					\
					  sizeof((uint64_t[]){ __VA_ARGS__ }) / 8,		\
					  (uint64_t[]){ __VA_ARGS__ })
#define EMIT_FILE(g, tag, type, name, ...)							\
	emit_file(g, tag, type, name, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8,			\
		  (uint64_t[]){ __VA_ARGS__ })

static uint64_t major_of(uint64_t dev) { return dev >> 20; }
static uint64_t minor_of(uint64_t dev) { return dev & 0xfffff; }

static struct task *task(struct guest_events *g, uint64_t pid)
{
	uint64_t *at = pm_map_put(&g->tasks, pid, NULL);

	if (!*at)
		*at = (uint64_t)(uintptr_t)pm_alloc(sizeof(struct task));
	return (struct task *)(uintptr_t)*at;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void describe(struct guest_events *g, uint64_t pid, const struct guest_area *a)
{
	const uint64_t bytes = a->end - a->start;

	if (a->file && a->kernels && !strncmp(a->name, "SYSV", 4))
		EMIT(g, 's', pid, a->start, bytes, a->inode);
	else if (!a->special && (!a->file || (a->kernels && !strcmp(a->name, "dev/zero"))))
		EMIT(g, 'm', pid, a->start, bytes);
	else
		EMIT_FILE(g, 'M', 0, a->name, pid, a->start, bytes, a->inode,
			  a->special ? 0 : major_of(a->dev), a->special ? 0 : minor_of(a->dev),
			  a->offset);
}

/* It is there from now on: said of a process, or kept until it is one's. */
static void add_area(struct guest_events *g, uint64_t mm, const struct guest_area *a)
{
	uint64_t pid;

	if (a->start >= a->end)
		return;
	if (guest_spaces_find(&g->spaces, mm, &pid, NULL))
		describe(g, pid, a);
	else
		guest_spaces_keep(&g->spaces, mm, a);
}

/* The part of the mapping in [@start, @end). VMA() below, from v[0] on, its texts from t[0] on. */
static struct guest_area part(const struct values *x, unsigned at, uint64_t start, uint64_t end)
{
	const uint64_t *v = x->v + at;
	struct guest_area a = {
		.start = v[1] > start ? v[1] : start, .end = v[2] < end ? v[2] : end,
		.file = v[4], .special = !v[4] && v[5], .inode = v[7], .dev = v[8],
		.kernels = v[9] & SB_KERNMOUNT,
	};

	a.offset = v[3] + (a.start - v[1]) / PAGE;
	snprintf(a.name, sizeof a.name, "%s", x->text[a.special]);
	if (a.special) {
		a.inode = v[6];
		a.offset = (a.start - v[1]) / PAGE;
	}
	return a;
}

/* In the table of functions: its values. */
#define INODE(i)	i ">inode.i_ino " i ">inode.i_sb>super_block.s_dev/4 "
#define MODE(i)		i ">inode.i_mode/2 "
#define FLAGS(i)	i ">inode.i_sb>super_block.s_flags "
#define FILE_OF(f)	f ">file.f_inode"
#define NAME(f)		f ">file.f_path+path.dentry>dentry.d_name+qstr.name$ "
#define PGD(mm)		mm ">mm_struct.pgd# "
#define MM(vma)		vma ">vm_area_struct.vm_mm"
#define VMA(a)		MM(a) " " a ">vm_area_struct.vm_start " a ">vm_area_struct.vm_end "	\
			a ">vm_area_struct.vm_pgoff " a ">vm_area_struct.vm_file "		\
			a ">vm_area_struct.vm_ops " a ">vm_area_struct.vm_private_data "	\
			INODE(FILE_OF(a ">vm_area_struct.vm_file"))				\
			FLAGS(FILE_OF(a ">vm_area_struct.vm_file"))				\
			NAME(a ">vm_area_struct.vm_file")					\
			a ">vm_area_struct.vm_private_data>vm_special_mapping.name$ "
#define KEPT_VMA	"=0 =1 =2 =3 =4 =5 =6 =7 =8 =9 =10$ =11$ "

static void on_mmap(struct guest_events *g, const struct values *x)
{
	const uint64_t *v = x->v;
	struct guest_area a = {
		.start = v[0], .end = v[0] + v[5], .file = v[4], .inode = v[1], .dev = v[2],
		.kernels = v[3] & SB_KERNMOUNT, .offset = v[6],
	};

	snprintf(a.name, sizeof a.name, "%s", x->text[0]);
	if (v[0] < -(uint64_t)PAGE)		/* not an error's number */
		add_area(g, g->mm, &a);
}

static void on_brk(struct guest_events *g, const struct values *x)
{
	struct guest_area a = { .start = x->v[1], .end = x->v[1] + x->v[2] };

	if (!(uint32_t)x->v[0])
		add_area(g, g->mm, &a);
}

static void on_insert(struct guest_events *g, const struct values *x)
{
	struct guest_area a = part(x, 1, 0, UINT64_MAX);

	if (!(uint32_t)x->v[0])
		add_area(g, x->v[11], &a);
}

static void on_grow(struct guest_events *g, const struct values *x)
{
	struct guest_area a = { .start = x->v[2] & -(uint64_t)PAGE, .end = x->v[3] };

	if (!(uint32_t)x->v[0])
		add_area(g, x->v[1], &a);
}

static void on_unmap(struct guest_events *g, const struct values *x)
{
	const uint64_t mm = x->v[0], start = x->v[2], end = x->v[3];
	uint64_t pid;

	if (end == UINT64_MAX) {
		if (guest_spaces_find(&g->spaces, mm, NULL, NULL))
			EMIT(g, 'u', x->v[1]);
		guest_spaces_remove(&g->spaces, mm);
		pm_map_del(&g->directories, x->v[1]);
	} else if (guest_spaces_find(&g->spaces, mm, &pid, NULL) && start < end) {
		EMIT(g, 'U', pid, start, end - start);
	}
}

static void on_move(struct guest_events *g, const struct values *x)
{
	const uint64_t old = x->v[1], to = x->v[2], len = x->v[3];
	const struct task *t = task(g, g->pid);
	uint64_t pid;

	if (guest_spaces_find(&g->spaces, x->v[0], &pid, NULL) && len)
		EMIT(g, '@', pid, to, t->old == old && t->size ? t->size : len, old, len);
}

static void on_mremap(struct guest_events *g, const struct values *x)
{
	struct task *t = task(g, g->pid);

	t->old = x->v[0];
	t->size = (x->v[2] + PAGE - 1) & -(uint64_t)PAGE;
	t->resized = (struct guest_area){ 0 };
}

static void on_resized(struct guest_events *g, const struct values *x)
{
	struct task *t = task(g, g->pid);

	if (t->size && x->v[0] < -(uint64_t)PAGE)
		t->resized = part(x, 1, 0, UINT64_MAX);
}

/* What has come to the mapping where it was, or a second one of the same pages. */
static void on_mremap_done(struct guest_events *g, const struct values *x)
{
	const uint64_t at = x->v[0], old = x->v[1],
		       old_len = (x->v[2] + PAGE - 1) & -(uint64_t)PAGE;
	struct task *t = task(g, g->pid);
	struct guest_area a = t->resized;

	if (at < -(uint64_t)PAGE && a.end && (at == old || !old_len)) {
		uint64_t begin = at == old ? old + old_len : old;

		a.offset += (begin - a.start) / PAGE;
		a.start = at == old ? begin : at;
		a.end = at + t->size;
		add_area(g, g->mm, &a);
	}
	t->old = t->size = 0;
}

static void on_madvise(struct guest_events *g, const struct values *x)
{
	task(g, g->pid)->advice = x->v[0];
}

static void on_madvise_done(struct guest_events *g, const struct values *x)
{
	task(g, g->pid)->advice = 0;
}

/* The pages are fresh again. */
static void on_zapped(struct guest_events *g, const struct values *x)
{
	struct guest_area a = part(x, 0, x->v[10], x->v[10] + x->v[11]);

	if (task(g, g->pid)->advice == DONTNEED)
		add_area(g, x->v[0], &a);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void on_switch(struct guest_events *g, const struct values *x)
{
	g->pid = x->v[0];
	g->tgid = x->v[1];
	g->mm = x->v[2];
	EMIT(g, 'S', g->pid);
}

static void add_space(struct guest_events *g, uint64_t mm, uint64_t pid, uint64_t directory)
{
	guest_spaces_add(&g->spaces, mm, pid);
	pm_map_put(&g->directories, directory, NULL);
	EMIT(g, 'A', pid, directory);
}

static void on_fork(struct guest_events *g, const struct values *x)
{
	const uint64_t pid = x->v[0], tgid = x->v[1], mm = x->v[2];

	*task(g, pid) = (struct task){ 0 };
	EMIT(g, 'F', pid, g->pid);
	if (!mm || mm == g->mm)
		return;
	guest_spaces_forked(&g->spaces, g->mm);
	add_space(g, mm, tgid, x->v[3]);
	guest_spaces_forked(&g->spaces, mm);
}

static void on_exec_mmap(struct guest_events *g, const struct values *x)
{
	const uint64_t mm = x->v[0];
	struct guest_area a;

	g->two_directories = x->v[2] & CAP_PTI;
	g->pid = g->tgid;		/* the other threads are gone */
	g->mm = mm;
	add_space(g, mm, g->tgid, x->v[1]);
	while (guest_spaces_kept(&g->spaces, mm, &a))
		describe(g, g->tgid, &a);
}

static void on_exec(struct guest_events *g, const struct values *x)
{
	const char *slash = strrchr(x->text[0], '/');

	EMIT_FILE(g, 'X', 0, slash ? slash + 1 : x->text[0], g->pid, x->v[0], major_of(x->v[1]),
		  minor_of(x->v[1]));
}

static void on_do_exit(struct guest_events *g, const struct values *x)
{
	task(g, g->pid)->exiting = true;
}

/* The kernel's own event is here, behind the end of the address space. */
static void on_exit_done(struct guest_events *g, const struct values *x)
{
	struct task *t = task(g, g->pid);

	if (!t->exiting || x->v[0] != g->pid)
		return;
	t->exiting = false;
	EMIT(g, 'T', x->v[0], x->v[1] / 1000, x->v[2] / 1000);
}

static void on_copy(struct guest_events *g, const struct values *x)
{
	EMIT(g, 'D', x->v[0], x->v[1], x->v[2], x->v[3]);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void on_fault(struct guest_events *g, const struct values *x)
{
	EMIT(g, '&', g->pid, x->v[1], x->v[3], (uint32_t)x->v[2]);
}

/* Another page than before; or the first one, where there were a file's bytes, or bytes that a
 * relative still sees. */
static void on_fault_done(struct guest_events *g, const struct values *x)
{
	const uint64_t *v = x->v, was = v[6], is = v[7];
	uint64_t pid;
	bool forked;

	if (v[4] & VM_SHARED || !(v[3] & FLAG_WRITE) || v[0] & FAULT_FAILED || !(is & 1) ||
	    !guest_spaces_find(&g->spaces, v[1], &pid, &forked))
		return;
	if (was & 1 ? was >> 12 != is >> 12 : v[5] || forked)
		EMIT(g, 'C', pid, v[2]);
}

/* ---- files ----------------------------------------------------------------------------------- */

#define TYPE(mode)	((mode) >> 12 & 15)
enum { FIFO = 1, CHARACTERS = 2, DIRECTORY = 4, BLOCKS = 6, REGULAR = 8, LINK = 10, SOCKET = 12 };

static uint8_t letter(uint64_t mode)
{
	switch (TYPE(mode)) {
	case REGULAR: case DIRECTORY: case LINK: return 'f';
	case FIFO: return 'p';
	case CHARACTERS: case BLOCKS: return 'd';
	case SOCKET: return 's';
	}
	return 'o';
}

static void on_open(struct guest_events *g, const struct values *x)
{
	EMIT_FILE(g, '(', letter(x->v[2]), x->text[0], g->pid, x->v[0], major_of(x->v[1]),
		  minor_of(x->v[1]), x->v[3]);
}

static void on_close(struct guest_events *g, const struct values *x)
{
	EMIT(g, ')', g->pid, x->v[0], major_of(x->v[1]), minor_of(x->v[1]));
}

static void on_clear(struct guest_events *g, const struct values *x)
{
	if (TYPE(x->v[2]) == REGULAR && !x->v[3])
		EMIT(g, '-', x->v[0], major_of(x->v[1]), minor_of(x->v[1]));
}

static void on_truncated(struct guest_events *g, const struct values *x)
{
	if (!(uint32_t)x->v[0])
		EMIT(g, 't', x->v[1], major_of(x->v[2]), minor_of(x->v[2]), x->v[3]);
}

static void on_shm_gone(struct guest_events *g, const struct values *x)
{
	EMIT(g, '/', g->pid, x->v[0]);
}

/* @v: inode, device, mode, position. */
static void transfer(struct guest_events *g, char tag, const uint64_t *v, uint64_t n)
{
	const bool positioned = TYPE(v[2]) == REGULAR || TYPE(v[2]) == BLOCKS;

	if ((int64_t)n > 0)
		EMIT(g, tag, g->pid, v[0], major_of(v[1]), minor_of(v[1]),
		     positioned && (int64_t)v[3] > 0 ? v[3] : 0, n);
}

static void on_read(struct guest_events *g, const struct values *x)
{
	transfer(g, '<', x->v + 1, x->v[0]);
}

static void on_write(struct guest_events *g, const struct values *x)
{
	transfer(g, '>', x->v + 1, x->v[0]);
}

static void on_splice(struct guest_events *g, const struct values *x)
{
	transfer(g, '<', x->v + 1, x->v[0]);
	transfer(g, '>', x->v + 5, x->v[0]);
}

static void on_accept(struct guest_events *g, const struct values *x)
{
	EMIT(g, 'a', g->pid);
}

/* ---- the table of functions ------------------------------------------------------------------ */

#define TRANSFER(f, at)	INODE(FILE_OF(f)) MODE(FILE_OF(f)) at ">0 "

static const struct watched {
	struct watch_row row;
	void (*call)(struct guest_events *g, const struct values *x);
	void (*ret)(struct guest_events *g, const struct values *x);
} watched[] = {
	{ { "__switch_to_asm", "rsi>task_struct.pid/4 rsi>task_struct.tgid/4 rsi>task_struct.mm",
	    NULL, false }, on_switch, NULL },
	{ { "wake_up_new_task", "rdi>task_struct.pid/4 rdi>task_struct.tgid/4 rdi>task_struct.mm "
	    PGD("rdi>task_struct.mm"), NULL, false }, on_fork, NULL },
	{ { "membarrier_exec_mmap", "rdi " PGD("rdi")
	    "&boot_cpu_data>cpuinfo_x86.x86_capability+28/4", NULL, false }, on_exec_mmap, NULL },
	{ { "finalize_exec", INODE(FILE_OF("rdi>linux_binprm.file")) "rdi>linux_binprm.filename$",
	    NULL, false }, on_exec, NULL },
	{ { "do_exit", "", NULL, false }, on_do_exit, NULL },
	{ { "exit_sem|exit_files", "rdi>task_struct.pid/4 rdi>task_struct.utime "
	    "rdi>task_struct.stime", NULL, false }, on_exit_done, NULL },
	{ { "copy_page_range", PGD(MM("rsi")) PGD(MM("rdi"))
	    "rsi>vm_area_struct.vm_start rsi>vm_area_struct.vm_end", NULL, false }, on_copy, NULL },
	{ { "mmap_region", INODE(FILE_OF("rdi")) FLAGS(FILE_OF("rdi")) "rdi rdx r8 " NAME("rdi"),
	    "rax =0 =1 =2 =3 =4 =5 =6$", false }, NULL, on_mmap },
	{ { "do_brk_flags", "rdx rcx", "rax =0 =1", false }, NULL, on_brk },
	{ { "insert_vm_struct", VMA("rsi") "rdi", "rax " KEPT_VMA "=12", false }, NULL, on_insert },
	{ { "expand_downwards", MM("rdi") " rsi rdi>vm_area_struct.vm_start", "rax =0 =1 =2",
	    false }, NULL, on_grow },
	{ { "unmap_vmas", MM("rdx") " " PGD(MM("rdx")) "rcx r8", NULL, false }, on_unmap, NULL },
	{ { "move_page_tables", MM("rdi") " rsi rcx r8", NULL, false }, on_move, NULL },
	{ { "__x64_sys_mremap", "rdi>pt_regs.di rdi>pt_regs.si rdi>pt_regs.dx", "rax =0 =1 =2",
	    false }, on_mremap, on_mremap_done },
	{ { "vma_to_resize", "", "rax " VMA("rax"), true }, NULL, on_resized },
	{ { "__x64_sys_madvise", "rdi>pt_regs.dx", "", false }, on_madvise, on_madvise_done },
	{ { "zap_page_range_single|zap_page_range", VMA("rdi") "rsi rdx", KEPT_VMA "=12 =13",
	    true }, NULL, on_zapped },
	{ { "handle_mm_fault", MM("rdi") " rsi rdx rcx>pt_regs.ip rdi>vm_area_struct.vm_flags "
	    "rdi>vm_area_struct.vm_file " MM("rdi") ">mm_struct.pgd =6@1",
	    "rax =0 =1 =2 =4 =5 =7 =6@1", false }, on_fault, on_fault_done },
	{ { "fd_install", INODE(FILE_OF("rsi")) MODE(FILE_OF("rsi")) FILE_OF("rsi") ">inode.i_size "
	    NAME("rsi"), NULL, false }, on_open, NULL },
	{ { "filp_flush|filp_close", INODE(FILE_OF("rdi")), NULL, false }, on_close, NULL },
	{ { "clear_inode", INODE("rdi") MODE("rdi") "rdi>inode.i_nlink/4", NULL, false }, on_clear,
	  NULL },
	{ { "do_truncate", INODE("rsi>dentry.d_inode") "rdx", "rax =0 =1 =2", false }, NULL,
	  on_truncated },
	{ { "shm_destroy", "rsi>kern_ipc_perm.id/4", NULL, true }, on_shm_gone, NULL },
	{ { "vfs_read", TRANSFER("rdi", "rcx"), "rax =0 =1 =2 =3", false }, NULL, on_read },
	{ { "vfs_readv", TRANSFER("rdi", "rcx"), "rax =0 =1 =2 =3", true }, NULL, on_read },
	{ { "vfs_write", TRANSFER("rdi", "rcx"), "rax =0 =1 =2 =3", false }, NULL, on_write },
	{ { "vfs_writev", TRANSFER("rdi", "rcx"), "rax =0 =1 =2 =3", true }, NULL, on_write },
	{ { "do_splice_direct", TRANSFER("rdi", "rsi") TRANSFER("rdx", "rcx"),
	    "rax =0 =1 =2 =3 =4 =5 =6 =7", true }, NULL, on_splice },
	{ { "__x64_sys_accept", "", NULL, true }, on_accept, NULL },
	{ { "__x64_sys_accept4", "", NULL, true }, on_accept, NULL },
};

struct guest_events *guest_events_of(const struct linux_image *k, struct pm_err *err)
{
	struct guest_events *g = pm_alloc(sizeof *g);
	struct watch_row row[NR(watched)];

	_Static_assert(NR(watched) <= QS_WATCHES, "all fit");
	for (unsigned i = 0; i < NR(watched); i++)
		row[i] = watched[i].row;
	if (watch_plan_make(&g->plan, row, NR(row), k, err) == PM_OK)
		return g;
	guest_events_free(g);
	return NULL;
}

struct guest_events *guest_events_new(const char *kernel, struct pm_err *err)
{
	struct linux_image *k = linux_image_open(kernel, err);
	struct guest_events *g = NULL;

	if (!k)
		return NULL;
	err->file = kernel;
	g = guest_events_of(k, err);
	if (g)
		err->file = NULL;
	linux_image_free(k);
	return g;
}

void guest_events_free(struct guest_events *g)
{
	uint64_t key, val;

	if (!g)
		return;
	for (size_t i = 0; pm_map_next(&g->tasks, &i, &key, &val); )
		free((void *)(uintptr_t)val);
	pm_map_release(&g->tasks);
	pm_map_release(&g->directories);
	guest_spaces_release(&g->spaces);
	free(g);
}

const struct qs_plan *guest_events_plan(const struct guest_events *g)
{
	return &g->plan;
}

void guest_events_to(struct guest_events *g,
		     void (*event)(void *self, const struct pm_rare *r, uint8_t type), void *self)
{
	g->event = event;
	g->self = self;
}

/* Names are one line's end. */
static void copy_text(char *to, const uint64_t *w)
{
	memcpy(to, w, QS_TEXT * 8);
	to[QS_TEXT * 8 - 1] = 0;
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 127)
			*to = '?';
}

bool guest_events_read(struct guest_events *g, uint32_t number, const uint64_t *w, size_t n)
{
	const bool leave = number & QS_LEAVE;
	const uint32_t which = number & ~QS_LEAVE;
	const struct qs_watch *p;
	struct values x = { 0 };
	unsigned first, count, nv = 0, nt = 0;
	size_t at = 0;

	if (which >= NR(watched))
		return false;
	p = &g->plan.watch[which];
	first = leave ? p->first + p->enter : p->first;
	count = leave ? p->leave : p->enter;
	for (unsigned i = 0; i < count; i++) {
		const bool text = g->plan.value[first + i].kind == QS_STRING;
		const size_t words = text ? QS_TEXT : 1;

		if (words > n - at || (text ? nt == TEXTS : nv == VALUES))
			return false;
		if (text)
			copy_text(x.text[nt++], w + at);
		else
			x.v[nv++] = w[at];
		at += words;
	}
	if (at != n)
		return false;
	if (leave && watched[which].ret)
		watched[which].ret(g, &x);
	else if (!leave && watched[which].call)
		watched[which].call(g, &x);
	return true;
}

uint64_t guest_events_space(const struct guest_events *g, uint64_t page)
{
	if (g->two_directories)
		page &= ~1ull;
	return pm_map_get(&g->directories, page) ? page : 0;
}

void guest_events_end(struct guest_events *g)
{
	const uint64_t none = 0;

	if (g->any)
		emit_file(g, 'e', 0, NULL, 0, &none);
}
