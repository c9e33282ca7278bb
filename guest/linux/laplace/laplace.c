// SPDX-License-Identifier: GPL-2.0
/*
 * laplace - tells a monitor of the bus what this kernel does
 *
 * Each event is a few uncached stores to the monitor's window: its arguments, then its tag. So an
 * event stands in the stream of references at its place, and has their clock. Nothing is kept in
 * memory. The events and their fields are Laplace's; what they mean is in pugmark's
 * docs/formats/laplace.md. When the module is loaded it reports what exists: tasks, address
 * spaces, mappings. 'e' is the last.
 *
 * For kernels 6.1 of MIPS, 32 bits, one processor.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/binfmts.h>
#include <linux/io.h>
#include <linux/ipc.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <asm/addrspace.h>
#include <asm/inst.h>
#include <asm/syscall.h>

#define WINDOW		((volatile u32 *)CKSEG1ADDR(0x1f030000))
#define WIN_SPACE	0x30
#define WIN_ARG		0xb00
#define WIN_NAME	0xb40
#define WIN_EVENT	0xb80
#define NAME_MAX_	63

static bool on;
static unsigned long spaces_lost;

/* ---- events --------------------------------------------------------------------------------- */
static void store_name(const char *name)
{
	u32 w = 0;
	unsigned int i;

	for (i = 0; name[i] && i < NAME_MAX_; i++) {
		w |= (u32)(u8)name[i] << 8 * (i & 3);
		if ((i & 3) == 3) {
			WINDOW[(WIN_NAME + i - 3) / 4] = w;
			w = 0;
		}
	}
	if (i & 3)
		WINDOW[(WIN_NAME + (i & ~3u)) / 4] = w;
}

static void emit(char tag, char type, const char *name, unsigned int n, const u64 *arg)
{
	unsigned long flags;
	unsigned int i;

	if (!on)
		return;
	local_irq_save(flags);
	for (i = 0; i < n; i++) {
		WINDOW[WIN_ARG / 4 + 2 * i] = (u32)arg[i];
		if (arg[i] >> 32)
			WINDOW[WIN_ARG / 4 + 2 * i + 1] = (u32)(arg[i] >> 32);
	}
	if (name)
		store_name(name);
	WINDOW[WIN_EVENT / 4] = (u8)tag | (u32)(u8)type << 8;
	local_irq_restore(flags);
}

#define ARGS(...)	(sizeof((u64[]){ __VA_ARGS__ }) / sizeof(u64)), (u64[]){ __VA_ARGS__ }
#define EVENT(tag, ...)	emit(tag, 0, NULL, ARGS(__VA_ARGS__))

static u32 context(const struct mm_struct *mm)
{
	return (u32)(virt_to_phys(mm->pgd) >> PAGE_SHIFT);
}

static u32 major_of(const struct inode *i) { return MAJOR(i->i_sb->s_dev); }
static u32 minor_of(const struct inode *i) { return MINOR(i->i_sb->s_dev); }

/* ---- address spaces: which process reported each -------------------------------------------- */
static struct space {
	const struct mm_struct *mm;
	u32 pid;
	bool forked;		/* shares pages with another that nobody has written to yet */
} spaces[1024];

static struct space *find_space(const struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; mm && i < ARRAY_SIZE(spaces); i++)
		if (spaces[i].mm == mm)
			return &spaces[i];
	return NULL;
}

static void add_space(const struct mm_struct *mm, u32 pid)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++)
		if (!spaces[i].mm) {
			spaces[i] = (struct space){ mm, pid, false };
			EVENT('A', pid, context(mm));
			return;
		}
	spaces_lost++;
}

/* ---- mappings ------------------------------------------------------------------------------- */
/* The part of @vma in [@start, @end), for process @pid. */
static void describe(u32 pid, struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	struct file *f = vma->vm_file;
	u64 offset;

	start = max(start, vma->vm_start);
	end = min(end, vma->vm_end);
	offset = vma->vm_pgoff + ((start - vma->vm_start) >> PAGE_SHIFT);
	if (f) {
		const char *name = f->f_path.dentry->d_name.name;
		struct inode *i = file_inode(f);
		bool kernels = i->i_sb->s_flags & SB_KERNMOUNT;

		if (kernels && !strncmp(name, "SYSV", 4))
			EVENT('s', pid, start, end - start, i->i_ino);
		else if (kernels && !strcmp(name, "dev/zero"))
			EVENT('m', pid, start, end - start);
		else
			emit('M', 0, name, ARGS(pid, start, end - start, i->i_ino, major_of(i),
						minor_of(i), offset));
	} else if (!vma_is_anonymous(vma)) {
		/* the kernel's own pages, the same for everybody: a file of no device */
		const struct vm_special_mapping *sm = vma->vm_private_data;

		emit('M', 0, sm ? sm->name : NULL,
		     ARGS(pid, start, end - start, (unsigned long)sm, 0, 0,
			  (start - vma->vm_start) >> PAGE_SHIFT));
	} else {
		EVENT('m', pid, start, end - start);
	}
}

static void describe_range(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct space *s = find_space(mm);
	struct vm_area_struct *vma;
	VMA_ITERATOR(vmi, mm, start);

	if (!s || start >= end)
		return;
	for_each_vma_range(vmi, vma, end)
		describe(s->pid, vma, start, end);
}

struct two { unsigned long a, b; struct mm_struct *mm; };

static int mmap_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	((struct two *)ri->data)->a = regs->regs[6];	/* len; addr is what it returns */
	return 0;
}

static int mmap_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long at = regs_return_value(regs);

	if (!IS_ERR_VALUE(at))
		describe_range(current->mm, at, at + ((struct two *)ri->data)->a);
	return 0;
}

/* do_brk_flags(mas, vma, addr, len, flags) */
static int brk_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct two *d = (void *)ri->data;

	d->a = regs->regs[6];
	d->b = regs->regs[7];
	return 0;
}

static int brk_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct two *d = (void *)ri->data;

	if (!regs_return_value(regs))
		describe_range(current->mm, d->a, d->a + d->b);
	return 0;
}

/* insert_vm_struct(mm, vma): special mappings; a stack before its address space is known */
static int insert_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->regs[5];
	struct two *d = (void *)ri->data;

	d->mm = (void *)regs->regs[4];
	d->a = vma->vm_start;
	d->b = vma->vm_end;
	return 0;
}

static int insert_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct two *d = (void *)ri->data;

	if (!regs_return_value(regs))
		describe_range(d->mm, d->a, d->b);
	return 0;
}

/* expand_downwards(vma, address): a stack grows */
static int grow_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->regs[4];
	struct two *d = (void *)ri->data;

	d->mm = vma->vm_mm;
	d->a = regs->regs[5] & PAGE_MASK;
	d->b = vma->vm_start;
	return 0;
}

static int grow_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct two *d = (void *)ri->data;

	if (!regs_return_value(regs))
		describe_range(d->mm, d->a, d->b);
	return 0;
}

static u32 stack_arg(const struct pt_regs *regs, unsigned int n)
{
	return ((u32 *)regs->regs[29])[n];
}

/* unmap_vmas(tlb, mt, vma, start, end): of all when an address space ends */
static void unmap(const struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->regs[6];
	unsigned long start = regs->regs[7], end = stack_arg(regs, 4);
	struct space *s = find_space(vma->vm_mm);

	if (end == ULONG_MAX) {
		EVENT('u', context(vma->vm_mm));
		if (s)
			s->mm = NULL;
	} else if (s && start < end) {
		EVENT('U', s->pid, start, end - start);
	}
}

/* move_page_tables(vma, old, new_vma, new, len, ...) of mremap, and of a stack that execve
 * places */
static void move(const struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->regs[4];
	unsigned long old = regs->regs[5], to = regs->regs[7], len = stack_arg(regs, 4), now = len;
	struct space *s = find_space(vma->vm_mm);
	const struct pt_regs *user = task_pt_regs(current);

	if (syscall_get_nr(current, NULL) == __NR_mremap && (u32)user->regs[4] == old)
		now = PAGE_ALIGN(user->regs[6]);
	if (s && len)
		EVENT('@', s->pid, to, now, old, len);
}

static void mremap_done(const struct pt_regs *regs, unsigned long at)
{
	unsigned long old = regs->regs[4], old_len = PAGE_ALIGN(regs->regs[5]);
	unsigned long len = PAGE_ALIGN(regs->regs[6]), flags = regs->regs[26];

	if (at == old)
		describe_range(current->mm, at + old_len, at + len);
	else if (!old_len)
		describe_range(current->mm, at, at + len);
	else if (flags & MREMAP_DONTUNMAP)
		describe_range(current->mm, old, old + old_len);
}

/* ---- processes ------------------------------------------------------------------------------ */
/* copy_page_range(dst_vma, src_vma) of fork */
static void copy(const struct pt_regs *regs)
{
	struct vm_area_struct *to = (void *)regs->regs[4], *from = (void *)regs->regs[5];

	EVENT('D', context(from->vm_mm), context(to->vm_mm), from->vm_start, from->vm_end);
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct space *s;

	EVENT('F', child->pid, parent->pid);
	if (child->mm && child->mm != parent->mm) {
		struct vm_area_struct *vma;
		VMA_ITERATOR(vmi, child->mm, 0);

		s = find_space(parent->mm);
		if (s)
			s->forked = true;
		add_space(child->mm, child->tgid);
		s = find_space(child->mm);
		if (s)
			s->forked = true;
		for_each_vma(vmi, vma)
			if (vma->vm_flags & VM_WIPEONFORK)
				describe(child->tgid, vma, vma->vm_start, vma->vm_end);
	}
}

/* membarrier_exec_mmap(mm): a new image's address space is about to be used */
static void exec_mmap(const struct pt_regs *regs)
{
	struct mm_struct *mm = (void *)regs->regs[4];

	add_space(mm, current->tgid);
	describe_range(mm, 0, TASK_SIZE);
	WINDOW[WIN_SPACE / 4] = context(mm);
}

static void on_exec(void *data, struct task_struct *t, pid_t old, struct linux_binprm *bprm)
{
	struct inode *i = file_inode(bprm->file);

	emit('X', 0, kbasename(bprm->filename), ARGS(t->pid, i->i_ino, major_of(i), minor_of(i)));
}

static void on_exit(void *data, struct task_struct *t)
{
	EVENT('T', t->pid, div_u64(t->utime, 1000), div_u64(t->stime, 1000));
}

static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int state)
{
	if (next->mm)
		WINDOW[WIN_SPACE / 4] = context(next->mm);
	EVENT('S', next->pid);
}

/* ---- faults --------------------------------------------------------------------------------- */
struct fault {
	struct mm_struct *mm;
	unsigned long address, pfn;
	bool present, private, file;
};

static bool page_at(struct mm_struct *mm, unsigned long address, unsigned long *pfn)
{
	pgd_t *pgd = pgd_offset(mm, address);
	p4d_t *p4d = p4d_offset(pgd, address);
	pud_t *pud = pud_offset(p4d, address);
	pmd_t *pmd = pmd_offset(pud, address);
	pte_t pte;

	if (pmd_none(*pmd) || pmd_bad(*pmd))
		return false;
	pte = *pte_offset_kernel(pmd, address);
	*pfn = pte_pfn(pte);
	return pte_present(pte);
}

/* handle_mm_fault(vma, address, flags, regs): called as often as /proc/vmstat's pgfault says */
static int fault_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs->regs[4];
	struct fault *f = (void *)ri->data;
	unsigned long flags = regs->regs[6];
	const struct pt_regs *at = (void *)regs->regs[7];

	f->mm = vma->vm_mm;
	f->address = regs->regs[5];
	f->present = page_at(f->mm, f->address, &f->pfn);
	f->private = !(vma->vm_flags & VM_SHARED) && flags & FAULT_FLAG_WRITE;
	f->file = vma->vm_file;
	EVENT('&', current->pid, f->address, at ? at->cp0_epc : 0, flags);
	return 0;
}

static int fault_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct fault *f = (void *)ri->data;
	struct space *s;
	unsigned long pfn;

	if (!f->private || regs_return_value(regs) & (VM_FAULT_ERROR | VM_FAULT_RETRY))
		return 0;
	s = find_space(f->mm);
	if (!s || !page_at(f->mm, f->address, &pfn))
		return 0;
	/* another page than before; or the first one, where there were a file's bytes, or bytes
	 * that a relative still sees */
	if (f->present ? pfn != f->pfn : f->file || s->forked)
		EVENT('C', s->pid, f->address);
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */
static char type_of(umode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: case S_IFDIR: case S_IFLNK: return 'f';
	case S_IFIFO: return 'p';
	case S_IFCHR: case S_IFBLK: return 'd';
	case S_IFSOCK: return 's';
	}
	return 'o';
}

/* fd_install(fd, file) */
static void open_(const struct pt_regs *regs)
{
	struct file *f = (void *)regs->regs[5];
	struct inode *i = file_inode(f);

	emit('(', type_of(i->i_mode), f->f_path.dentry->d_name.name,
	     ARGS(current->pid, i->i_ino, major_of(i), minor_of(i), i_size_read(i)));
}

/* filp_close(file, id) */
static void close_(const struct pt_regs *regs)
{
	struct inode *i = file_inode((struct file *)regs->regs[4]);

	EVENT(')', current->pid, i->i_ino, major_of(i), minor_of(i));
}

/* clear_inode(inode): nothing of it is left */
static void inode_gone(const struct pt_regs *regs)
{
	struct inode *i = (void *)regs->regs[4];

	if (S_ISREG(i->i_mode) && !i->i_nlink)
		EVENT('-', i->i_ino, major_of(i), minor_of(i));
}

/* do_truncate(mnt_userns, dentry, length, ...): length is in a2 and a3 */
struct cut { struct inode *i; u64 length; };

static int truncate_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct cut *c = (void *)ri->data;

	c->i = d_inode((struct dentry *)regs->regs[5]);
#ifdef __MIPSEB__
	c->length = (u64)(u32)regs->regs[6] << 32 | (u32)regs->regs[7];
#else
	c->length = (u64)(u32)regs->regs[7] << 32 | (u32)regs->regs[6];
#endif
	return 0;
}

static int truncate_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct cut *c = (void *)ri->data;

	if (!regs_return_value(regs))
		EVENT('t', c->i->i_ino, major_of(c->i), minor_of(c->i), c->length);
	return 0;
}

/* shm_destroy(ns, shp): a struct shmid_kernel begins with its permissions */
static void shm_gone(const struct pt_regs *regs)
{
	const struct kern_ipc_perm *perm = (void *)regs->regs[5];

	EVENT('/', current->pid, (u32)perm->id);
}

static void transfer(char tag, unsigned int fd, bool positioned, loff_t at, long n)
{
	struct file *f = fget_raw(fd);
	struct inode *i;

	if (!f)
		return;
	i = file_inode(f);
	if (!positioned)
		at = f->f_pos - n;
	if (at < 0 || !(S_ISREG(i->i_mode) || S_ISBLK(i->i_mode)))
		at = 0;
	EVENT(tag, current->pid, i->i_ino, major_of(i), minor_of(i), at, n);
	fput(f);
}

/* The 64-bit argument that is the fifth and sixth word: on the user's stack. */
static loff_t position(const struct pt_regs *regs)
{
	loff_t at = 0;

	if (copy_from_user_nofault(&at, (void __user *)(regs->regs[29] + 16), sizeof at))
		return 0;
	return at;
}

static loff_t position_pair(const struct pt_regs *regs)
{
	u32 high = 0;

	if (copy_from_user_nofault(&high, (void __user *)(regs->regs[29] + 16), sizeof high))
		high = 0;
	return (loff_t)high << 32 | (u32)regs->regs[26];
}

static void sendfile_done(const struct pt_regs *regs, long n, unsigned int bytes)
{
	void __user *where = (void __user *)regs->regs[6];
	loff_t at = 0;

	if (where && copy_from_user_nofault(&at, where, bytes))
		at = 0;
	transfer('<', regs->regs[5], where, at - n, n);
	transfer('>', regs->regs[4], false, 0, n);
}

static void on_syscall_exit(void *data, struct pt_regs *regs, long ret)
{
	long nr = syscall_get_nr(current, regs);

	if (regs->regs[7])		/* it failed; the fourth argument is in regs[26] */
		return;
	switch (nr) {
	case __NR_mremap:
		mremap_done(regs, ret);
		return;
	case __NR_madvise:		/* the pages are fresh again */
		if (regs->regs[6] == MADV_DONTNEED)
			describe_range(current->mm, regs->regs[4],
				       regs->regs[4] + PAGE_ALIGN(regs->regs[5]));
		return;
	}
	if (ret <= 0)
		return;
	switch (nr) {
	case __NR_read: case __NR_readv:
		transfer('<', regs->regs[4], false, 0, ret);
		break;
	case __NR_write: case __NR_writev:
		transfer('>', regs->regs[4], false, 0, ret);
		break;
	case __NR_pread64:
		transfer('<', regs->regs[4], true, position(regs), ret);
		break;
	case __NR_pwrite64:
		transfer('>', regs->regs[4], true, position(regs), ret);
		break;
	case __NR_preadv:
		transfer('<', regs->regs[4], true, position_pair(regs), ret);
		break;
	case __NR_pwritev:
		transfer('>', regs->regs[4], true, position_pair(regs), ret);
		break;
	case __NR_sendfile:
		sendfile_done(regs, ret, 4);
		break;
	case __NR_sendfile64:
		sendfile_done(regs, ret, 8);
		break;
	}
}

static void on_syscall_enter(void *data, struct pt_regs *regs, long nr)
{
	if (nr == __NR_accept || nr == __NR_accept4)
		EVENT('a', current->pid);
}

/* ---- probes --------------------------------------------------------------------------------- */
/*
 * The kernel of MIPS executes a probed instruction out of line, and takes a second exception behind
 * it with interrupts enabled. An interrupt there that frees a dead task forgets which probe is
 * under way, and the kernel dies. So the instruction is executed here, and there is no second
 * exception. False: not one of those that functions begin with.
 */
static bool execute(union mips_instruction i, unsigned long *r, bool try)
{
	unsigned long none[32] = { 0 };
	unsigned int rs = i.i_format.rs, rt = i.i_format.rt;
	long imm = i.i_format.simmediate;

	r = try ? none : r;
	switch (i.i_format.opcode) {
	case addiu_op:
		r[rt] = r[rs] + imm;
		break;
	case lui_op:
		r[rt] = imm << 16;
		break;
	case andi_op:
		r[rt] = r[rs] & (u16)imm;
		break;
	case sltiu_op:
		r[rt] = r[rs] < (unsigned long)imm;
		break;
	case lw_op:
		if (!try)
			r[rt] = *(unsigned long *)(r[rs] + imm);
		break;
	case sw_op:		/* what is below the stack pointer is the exception's */
		if (rs == 29)
			return false;
		if (!try)
			*(unsigned long *)(r[rs] + imm) = r[rt];
		break;
	case spec_op:
		if (i.r_format.func == addu_op)
			r[i.r_format.rd] = r[rs] + r[rt];
		else if (i.r_format.func == or_op)
			r[i.r_format.rd] = r[rs] | r[rt];
		else if (i.r_format.func == sltu_op)
			r[i.r_format.rd] = r[rs] < r[rt];
		else if (i.r_format.func == sll_op)
			r[i.r_format.rd] = r[rt] << i.r_format.re;
		else
			return false;
		break;
	default:
		return false;
	}
	r[0] = 0;
	return true;
}

static int step(struct kprobe *p, struct pt_regs *regs)
{
	execute(p->opcode, regs->regs, false);
	regs->cp0_epc += 4;
	return 1;
}

/* What kprobes call: our handler, or that of return probes, which has no other place. */
static int (*enter_return)(struct kprobe *p, struct pt_regs *regs);

static int on_return_probe(struct kprobe *p, struct pt_regs *regs)
{
	enter_return(p, regs);
	return step(p, regs);
}

/* ---- the module ----------------------------------------------------------------------------- */
#define PROBE(handler)									\
static int handler##_probe(struct kprobe *p, struct pt_regs *regs)			\
{											\
	handler(regs);									\
	return step(p, regs);								\
}
PROBE(unmap) PROBE(move) PROBE(copy) PROBE(exec_mmap)
PROBE(open_) PROBE(close_) PROBE(inode_gone) PROBE(shm_gone)

static struct kprobe probes[] = {
	{ .symbol_name = "unmap_vmas", .pre_handler = unmap_probe },
	/* compilers put the test for an empty range into its callers, and leave this of it */
	{ .symbol_name = "move_page_tables.part.0", .pre_handler = move_probe },
	{ .symbol_name = "copy_page_range", .pre_handler = copy_probe },
	{ .symbol_name = "membarrier_exec_mmap", .pre_handler = exec_mmap_probe },
	{ .symbol_name = "fd_install", .pre_handler = open__probe },
	{ .symbol_name = "filp_close", .pre_handler = close__probe },
	{ .symbol_name = "clear_inode", .pre_handler = inode_gone_probe },
	{ .symbol_name = "shm_destroy", .pre_handler = shm_gone_probe },
};

#define RET(symbol, enter, leave, type)	{						\
	.kp.symbol_name = symbol, .entry_handler = enter, .handler = leave,		\
	.data_size = sizeof(type), .maxactive = 128 }

static struct kretprobe returns[] = {
	RET("mmap_region", mmap_enter, mmap_return, struct two),
	RET("do_brk_flags", brk_enter, brk_return, struct two),
	RET("insert_vm_struct", insert_enter, insert_return, struct two),
	RET("expand_downwards", grow_enter, grow_return, struct two),
	RET("handle_mm_fault", fault_enter, fault_return, struct fault),
	RET("do_truncate", truncate_enter, truncate_return, struct cut),
};

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} points[] = {
	{ "sched_switch", on_switch }, { "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec }, { "sched_process_exit", on_exit },
	{ "sys_enter", on_syscall_enter }, { "sys_exit", on_syscall_exit },
};

static unsigned int nprobes, nreturns, npoints;

static void find_point(struct tracepoint *tp, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (!strcmp(tp->name, points[i].name))
			points[i].tp = tp;
}

static int end(struct notifier_block *nb, unsigned long action, void *data)
{
	emit('e', 0, NULL, 0, NULL);
	if (on)
		WINDOW[WIN_SPACE / 4] = 0;
	on = false;
	return NOTIFY_DONE;
}

static struct notifier_block at_reboot = { .notifier_call = end };

static void take_out(void)
{
	while (npoints)
		npoints--, tracepoint_probe_unregister(points[npoints].tp, points[npoints].probe,
						       NULL);
	while (nreturns)
		unregister_kretprobe(&returns[--nreturns]);
	while (nprobes)
		unregister_kprobe(&probes[--nprobes]);
	tracepoint_synchronize_unregister();
}

/* Can what @p's function begins with be executed here? */
static int known(const struct kprobe *p)
{
	if (execute(p->opcode, NULL, true))
		return 0;
	pr_err("laplace: %s begins with an instruction that is not known: %08x\n", p->symbol_name,
	       p->opcode.word);
	return -EINVAL;
}

static int put_in(void)
{
	int err = 0;

	while (!err && nprobes < ARRAY_SIZE(probes)) {
		struct kprobe *p = &probes[nprobes];

		err = register_kprobe(p);
		if (err == -ENOENT && p->pre_handler == move_probe) {
			p->symbol_name = "move_page_tables";
			err = register_kprobe(p);
		}
		if (err) {
			pr_err("laplace: cannot probe %s: %d\n", p->symbol_name, err);
			return err;
		}
		nprobes++;
		err = known(p);
	}
	while (!err && nreturns < ARRAY_SIZE(returns)) {
		struct kprobe *p = &returns[nreturns].kp;

		err = register_kretprobe(&returns[nreturns]);
		if (err) {
			pr_err("laplace: cannot probe %s: %d\n", p->symbol_name, err);
			return err;
		}
		nreturns++;
		enter_return = p->pre_handler;
		p->pre_handler = on_return_probe;
		err = known(p);
	}
	if (err)
		return err;
	for_each_kernel_tracepoint(find_point, NULL);
	for (; npoints < ARRAY_SIZE(points); npoints++) {
		err = points[npoints].tp ?
			tracepoint_probe_register(points[npoints].tp, points[npoints].probe,
						  NULL) : -ENOENT;
		if (err) {
			pr_err("laplace: cannot follow %s: %d\n", points[npoints].name, err);
			return err;
		}
	}
	return 0;
}

/* A process that was there before: which image it runs. */
static void runs(const struct task_struct *t)
{
	const struct file *f = rcu_access_pointer(t->mm->exe_file);
	struct inode *i;

	if (!f)
		return;
	i = file_inode(f);
	emit('X', 0, t->comm, ARGS(t->tgid, i->i_ino, major_of(i), minor_of(i)));
}

/* What there is, between two instructions of everybody else. */
static void begin(void)
{
	struct task_struct *p, *t;
	unsigned long flags;

	local_irq_save(flags);
	on = true;
	for_each_process_thread(p, t) {
		EVENT('F', t->pid, thread_group_leader(t) ? t->real_parent->pid : t->tgid);
		if (t->mm && !find_space(t->mm)) {
			add_space(t->mm, t->tgid);
			describe_range(t->mm, 0, TASK_SIZE);
			if (find_space(t->mm))
				find_space(t->mm)->forked = true;
			runs(t);
		}
	}
	if (current->active_mm)
		WINDOW[WIN_SPACE / 4] = context(current->active_mm);
	EVENT('S', current->pid);
	local_irq_restore(flags);
}

static int __init laplace_init(void)
{
	int err = put_in();

	if (err) {
		take_out();
		return err;
	}
	register_reboot_notifier(&at_reboot);
	begin();
	return 0;
}

static void __exit laplace_exit(void)
{
	unsigned long missed = spaces_lost;
	unsigned int i;

	end(NULL, 0, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		missed += probes[i].nmissed;
	for (i = 0; i < ARRAY_SIZE(returns); i++)
		missed += returns[i].nmissed + returns[i].kp.nmissed;
	unregister_reboot_notifier(&at_reboot);
	take_out();
	pr_info("laplace: %lu events missed\n", missed);
}

module_init(laplace_init);
module_exit(laplace_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Kernel events for a monitor of the bus");
