/* SPDX-License-Identifier: MIT */
/* inject.c - put the runtime into a process that stands at its exec stop, or that has been running
 *
 * At an exec stop the program and its interpreter are mapped and nothing has run. A handful of
 * remote system calls map the runtime; the rest of the work it does itself. Names, auxv and brk
 * stay the program's own. A 64-bit program makes the calls in one go, by code that is poked over
 * the beginning of the page of its first instruction and taken back; every stop costs both sides a
 * change of processes. A program that has been running makes them one by one (remote.c): a trap
 * would change what it has said of SIGTRAP, and its stack is not ours to write to. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/temp.h"
#include "collect/control/remote.h"
#include "collect/control/recorder.h"
#include "collect/record/nr_i386.h"

extern const uint8_t pm_rt_text[], pm_rt_text_end[], pm_rt_data[], pm_rt_data_end[];
extern const uint8_t pm_rt32_text[], pm_rt32_text_end[], pm_rt32_data[], pm_rt32_data_end[];

/* The runtime as it lies in its file, and what injecting it needs to know, by width. */
static struct runtime {
	const uint8_t *text, *text_end, *data, *data_end;
	uint64_t image, image_data;
	off_t data_off;			/* page aligned; from the file's start, where the text is */
} runtimes[2] = {
	/* [1]: i386 */
	{ pm_rt_text, pm_rt_text_end, pm_rt_data, pm_rt_data_end, RT_IMAGE, RT_IMAGE_DATA, 0 },
	{ pm_rt32_text, pm_rt32_text_end, pm_rt32_data, pm_rt32_data_end, RT32_IMAGE,
	  RT32_IMAGE_DATA, 0 },
};

/* Write [p, end) to file @fd, from the page at @at on. Returns the page behind; 0: it failed. */
static off_t put_pages(int fd, const uint8_t *p, const uint8_t *end, off_t at)
{
	while (end > p && !end[-1])		/* most of the data is zero */
		end--;
	if (pwrite(fd, p, (size_t)(end - p), at) != end - p)
		return 0;
	return at + ((end - p + 4095) & ~(off_t)4095);
}

/* Write the runtime of the width that is wanted for the first time. All processes execute what is
 * there: nobody changes it any more. */
static bool runtime_ready(struct session *s, struct runtime *rt)
{
	const off_t behind = (rt->data_end - rt->data + 4095) & ~(off_t)4095;
	int *fd = &s->rt_fd[rt - runtimes], made;

	if (*fd >= 0)
		return true;
	made = memfd_create("pugmark-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (made < 0)
		return false;
	rt->data_off = put_pages(made, rt->text, rt->text_end, 0);
	if (rt->data_off && put_pages(made, rt->data, rt->data_end, rt->data_off) &&
	    !ftruncate(made, rt->data_off + behind) && pm_temp_seal(made, F_SEAL_WRITE)) {
		*fd = made;
		return true;
	}
	close(made);
	return false;
}

bool is_i386(pid_t pid)
{
	struct user_regs_struct r;

	return !ptrace(PTRACE_GETREGS, pid, 0, &r) && r.cs == CS_I386;
}

/* ---- calls of a 32-bit program, one by one: all its registers are arguments ------------------ */
/* By `int $0x80` at @at->rip. The offset of a mapping is the last argument of mmap2(), in pages. */
static bool remote(pid_t pid, const struct user_regs_struct *at, long *ret, long nr,
		   uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	struct user_regs_struct r = *at;
	int status;

	r.rax = (unsigned long long)nr;
	r.orig_rax = ~0ull;
	r.rbx = a;
	r.rcx = b;
	r.rdx = c;
	r.rsi = d;
	r.rdi = e;
	r.rbp = f >> 12;
	if (ptrace(PTRACE_SETREGS, pid, 0, &r))
		return false;
	/* the first step from an exec stop only finishes execve; signals are blocked meanwhile */
	for (int i = 0;; i++) {
		if (i == 4)
			return false;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || wait_for(pid, &status) != pid ||
		    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, 0, &r))
			return false;
		if (r.rip != at->rip)
			break;
		if ((long)r.rax != nr) {
			r.rax = (unsigned long long)nr;
			if (ptrace(PTRACE_SETREGS, pid, 0, &r))
				return false;
		}
	}
	*ret = (int32_t)r.rax;
	return true;
}

static bool map_runtime32(const struct runtime *rt, pid_t pid, const struct user_regs_struct *regs,
			  uint64_t path_at, long *fd)
{
	const size_t ntext = (size_t)(rt->text_end - rt->text),
		     ndata = (size_t)(rt->data_end - rt->data);
	long word, ret;
	bool ok;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)regs->rip, 0);
	if (errno ||
	    ptrace(PTRACE_POKETEXT, pid, (void *)regs->rip, (void *)((word & ~0xffffl) | 0x80cd)))
		return false;
	ok = remote(pid, regs, fd, NR32_open, path_at, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0) &&
	     *fd >= 0;
	ok = ok && remote(pid, regs, &ret, NR32_mmap2, rt->image, ntext, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_FIXED, (uint64_t)*fd, 0) &&
	     ret == (long)rt->image;
	ok = ok &&
	     remote(pid, regs, &ret, NR32_mmap2, rt->image_data, ndata, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED, (uint64_t)*fd, (uint64_t)rt->data_off) &&
	     ret == (long)rt->image_data;
	ok = ok && remote(pid, regs, &ret, NR32_close, (uint64_t)*fd, 0, 0, 0, 0, 0);
	return !ptrace(PTRACE_POKETEXT, pid, (void *)regs->rip, (void *)word) && ok;
}

/* ---- calls of a 64-bit program --------------------------------------------------------------- */
/* In: rdi path, rsi flags; r12 and r13 place and size of the text, r14 and r15 of the data, r9 and
 * rbp their offsets, r10 MAP_*. Out: r8 descriptor, rbx and r12 places; each negative if it failed.
 */
static const uint8_t map_code[72] = {
	0xb8, 2,    0,
	0,    0,	  /* mov $SYS_open, %eax: here, for rax is what the end of execve sets */
	0x0f, 0x05,	  /* syscall */
	0x49, 0x89, 0xc0, /* mov %rax, %r8 */
	0xb8, 9,    0,
	0,    0,	  /* mov $SYS_mmap, %eax */
	0x4c, 0x89, 0xe7, /* mov %r12, %rdi */
	0x4c, 0x89, 0xee, /* mov %r13, %rsi */
	0xba, 5,    0,
	0,    0,	  /* mov $(PROT_READ | PROT_EXEC), %edx */
	0x0f, 0x05,	  /* syscall */
	0x48, 0x89, 0xc3, /* mov %rax, %rbx */
	0xb8, 9,    0,
	0,    0,	  /* mov $SYS_mmap, %eax */
	0x4c, 0x89, 0xf7, /* mov %r14, %rdi */
	0x4c, 0x89, 0xfe, /* mov %r15, %rsi */
	0xba, 3,    0,
	0,    0,	  /* mov $(PROT_READ | PROT_WRITE), %edx */
	0x49, 0x89, 0xe9, /* mov %rbp, %r9 */
	0x0f, 0x05,	  /* syscall */
	0x49, 0x89, 0xc4, /* mov %rax, %r12 */
	0xb8, 3,    0,
	0,    0,	  /* mov $SYS_close, %eax */
	0x4c, 0x89, 0xc7, /* mov %r8, %rdi */
	0x0f, 0x05,	  /* syscall */
	0xcc,		  /* int3: byte 65 */
};
#define MAP_CODE_END 66

static bool poke(pid_t pid, uint64_t at, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		long word;

		memcpy(&word, (const uint8_t *)from + i, 8);
		if (ptrace(PTRACE_POKETEXT, pid, (void *)(at + i), (void *)word))
			return false;
	}
	return true;
}

/* To the breakpoint in front of @end. Signals are blocked, but for one: that stops the process
 * again when it goes on. */
static bool run_to(pid_t pid, uint64_t end, struct user_regs_struct *r)
{
	bool stopped = false, ok = true;
	int status;

	for (r->rip = 0; ok && r->rip != end; )
		ok = !ptrace(PTRACE_CONT, pid, 0, 0) && wait_for(pid, &status) == pid &&
		     WIFSTOPPED(status) && !ptrace(PTRACE_GETREGS, pid, 0, r) &&
		     (WSTOPSIG(status) == SIGTRAP || (stopped = WSTOPSIG(status) == SIGSTOP));
	if (stopped)
		kill(pid, SIGSTOP);
	return ok;
}

static bool map_runtime64(const struct runtime *rt, pid_t pid, const struct user_regs_struct *regs,
			  uint64_t path_at, long *fd)
{
	const uint64_t at = regs->rip & ~4095ull;
	struct user_regs_struct r = *regs;
	uint8_t saved[sizeof map_code];
	bool ok;

	if (!peek_read(pid, saved, at, sizeof saved) ||
	    !poke(pid, at, map_code, sizeof map_code))
		return false;
	r.rip = at;
	r.orig_rax = ~0ull;
	r.rdi = path_at;
	r.rsi = O_RDONLY | O_CLOEXEC;
	r.r12 = rt->image;
	r.r13 = (uint64_t)(rt->text_end - rt->text);
	r.r14 = rt->image_data;
	r.r15 = (uint64_t)(rt->data_end - rt->data);
	r.r9 = 0;
	r.rbp = (uint64_t)rt->data_off;
	r.r10 = MAP_PRIVATE | MAP_FIXED | MAP_POPULATE;
	ok = !ptrace(PTRACE_SETREGS, pid, 0, &r) && run_to(pid, at + MAP_CODE_END, &r);
	*fd = (long)r.r8;
	ok = ok && *fd >= 0 && r.rbx == rt->image && r.r12 == rt->image_data;
	return poke(pid, at, saved, sizeof saved) && ok;
}

/* One call of a 64-bit program at its exec stop, by code in its first page, which the caller puts
 * back. */
static bool call_at_exec(pid_t pid, const struct user_regs_struct *regs, uint32_t nr,
			 const uint64_t arg[6], long *ret)
{
	const uint64_t at = regs->rip & ~4095ull;
	uint8_t code[] = {
		0xb8, (uint8_t)nr, 0, 0, 0, 0x0f, 0x05, 0xcc
	}; /* mov $nr, %eax; syscall; int3 */
	struct user_regs_struct r = *regs;

	remote_prepare(&r, at, nr, arg);	/* the code sets rax once more: see map_code */
	if (!poke(pid, at, code, sizeof code) || ptrace(PTRACE_SETREGS, pid, 0, &r) ||
	    !run_to(pid, at + sizeof code, &r))
		return false;
	*ret = (long)r.rax;
	return true;
}

/* A process that is to be injected into, and how it makes calls. */
struct injected {
	pid_t pid;
	const struct user_regs_struct *regs;
	uint64_t mask;			/* signals that the program blocks */
	uint64_t caller;		/* attached: address of a syscall instruction; 0: it stands
					 * at its exec stop */
};

static bool call64(const struct injected *t, uint32_t nr, const uint64_t arg[6], long *ret)
{
	return t->caller ? remote_call(t->pid, t->caller, nr, arg, ret)
			 : call_at_exec(t->pid, t->regs, nr, arg, ret);
}

static bool write_mem(pid_t pid, uint64_t to, const void *from, size_t n)
{
	struct iovec l = { (void *)from, n }, r = { (void *)to, n };

	return process_vm_writev(pid, &l, 1, &r, 1, 0) == (ssize_t)n;
}

static bool read_word(pid_t pid, uint64_t at, unsigned size, uint64_t *to)
{
	*to = 0;
	return peek_read(pid, to, at, size);
}

static bool close64(const struct injected *t, uint32_t fd)
{
	long ret;

	return call64(t, SYS_close, (const uint64_t[6]){ fd }, &ret);
}

/* What map_code does, call by call. */
static bool map_by_calls(const struct runtime *rt, const struct injected *t, uint64_t path_at,
			 long *fd)
{
	const uint64_t flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		       ntext = (uint64_t)(rt->text_end - rt->text),
		       ndata = (uint64_t)(rt->data_end - rt->data);
	long text, data;
	bool ok;

	if (!call64(t, SYS_open, (const uint64_t[6]){ path_at, O_RDONLY | O_CLOEXEC }, fd) ||
	    *fd < 0)
		return false;
	ok = call64(t, SYS_mmap,
		    (const uint64_t[6]){ rt->image, ntext, PROT_READ | PROT_EXEC, flags,
					 (uint64_t)*fd, 0 },
		    &text) &&
	     call64(t, SYS_mmap,
		    (const uint64_t[6]){ rt->image_data, ndata, PROT_READ | PROT_WRITE, flags,
					 (uint64_t)*fd, (uint64_t)rt->data_off },
		    &data);
	return close64(t, (uint32_t)*fd) && ok && text == (long)rt->image &&
	       data == (long)rt->image_data;
}

struct letter {				/* in memory of a program that is about to receive it */
	uint64_t pair;			/* two int: its ends of the socket */
	struct msghdr head;
	struct iovec io;
	uint64_t byte;
	uint8_t control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8)));
};

/* By a socket that is the program's own. @at: of a struct letter. */
static bool send_files(struct session *s, const struct injected *t, uint64_t at, int fd[3])
{
	const int files[3] = { s->rt_fd[0], s->spaces.code_fd, s->data_fd };
	struct letter l = { 0 };
	struct iovec io = { &l.byte, 1 };
	struct msghdr out = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = l.control,
			      .msg_controllen = sizeof l.control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&out);
	int pidfd, ours;
	uint64_t pair;
	long ret;
	bool ok;

	if (!call64(t, SYS_socketpair,
		    (const uint64_t[6]){ AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, at }, &ret) ||
	    ret || !read_word(t->pid, at, 8, &pair))
		return false;
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof files) };
	memcpy(CMSG_DATA(c), files, sizeof files);
	pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	ours = (int)syscall(SYS_pidfd_getfd, pidfd, (int)pair, 0);
	ok = ours >= 0 && sendmsg(ours, &out, 0) == 1;
	l.io = (struct iovec){ (void *)(at + offsetof(struct letter, byte)), 1 };
	l.head = (struct msghdr){ .msg_iov = (void *)(at + offsetof(struct letter, io)),
				  .msg_iovlen = 1,
				  .msg_control = (void *)(at + offsetof(struct letter, control)),
				  .msg_controllen = sizeof l.control };
	ok = ok && write_mem(t->pid, at, &l, sizeof l) &&
	     call64(t, SYS_recvmsg,
		    (const uint64_t[6]){ pair >> 32, at + offsetof(struct letter, head),
					 MSG_CMSG_CLOEXEC },
		    &ret) &&
	     ret == 1 && peek_read(t->pid, &l, at, sizeof l) &&
	     c->cmsg_len == CMSG_LEN(sizeof files);
	memcpy(fd, CMSG_DATA(c), sizeof files);
	close(ours);
	close(pidfd);
	return close64(t, (uint32_t)pair) && close64(t, (uint32_t)(pair >> 32)) && ok;
}

/* Where /proc is another one, or does not let us be looked at, the program cannot open our files:
 * it gets descriptors of them. */
static bool pass_files(struct session *s, const struct injected *t, uint64_t at,
		       struct rt_boot *boot, char rt_path[64])
{
	const uint64_t page = t->regs->rip & ~4095ull;
	uint64_t saved;
	int fd[3];
	bool ok;

	if (!read_word(t->pid, page, 8, &saved))
		return false;
	ok = send_files(s, t, at, fd);
	if ((!t->caller && !poke(t->pid, page, &saved, sizeof saved)) || !ok)
		return false;
	for (int i = 0; i < 3; i++)
		boot->passed[i] = (uint32_t)fd[i] + 1;
	snprintf(rt_path, 64, "/proc/self/fd/%d", fd[0]);
	snprintf(boot->code_path, sizeof boot->code_path, "/proc/self/fd/%d", fd[1]);
	snprintf(boot->data_path, sizeof boot->data_path, "/proc/self/fd/%d", fd[2]);
	return true;
}

/* It goes on without us. */
static void close_passed(const struct injected *t, const struct rt_boot *boot)
{
	const uint64_t page = t->regs->rip & ~4095ull;
	uint64_t saved;

	if (!boot->passed[0] || !read_word(t->pid, page, 8, &saved))
		return;
	for (int i = 0; i < 3; i++)
		close64(t, boot->passed[i] - 1);
	if (!t->caller)
		poke(t->pid, page, &saved, sizeof saved);
}

static uint32_t personality_of(pid_t pid)
{
	char path[64];
	unsigned v = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/personality", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%x", &v) != 1)
		v = 0;
	if (f)
		fclose(f);
	return v;
}

#define STACK_MAX (8ull << 20)

/* Of a program that the runtime has loaded: is this the runtime's? */
bool is_runtime(const struct session *s, const struct space *sp, const struct mapping *x)
{
	if (sp->i386)
		return s->loaded && x->lo >= RT32_BLOCKS &&
		       x->hi <= RT32_CODE_VAULT + RT32_CODE_SIZE;
	return s->loaded &&
	       ((x->lo >= RT_IMAGE && x->hi <= RT_IMAGE + RT_IMAGE_SIZE) || x->lo == RT_SHADOW ||
		(x->lo >= RT_CODE_VAULT && x->hi <= RT_DATA_VAULT + RT_DATA_SIZE));
}

bool inject_maps(struct session *s, pid_t pid, struct rt_boot *boot, struct space *sp, char *why,
		 size_t n)
{
	errno = 0;
	if (!maps_read(pid, &s->spaces.maps)) {
		snprintf(why, n, "its memory map cannot be read%s%s", errno ? ": " : "",
			 errno ? strerror(errno) : "");
		return false;
	}
	for (const struct mapping *x = s->spaces.maps.v; x < s->spaces.maps.v + s->spaces.maps.n;
	     x++) {
		uint64_t lo = x->lo;

		if (is_runtime(s, sp, x))
			continue;
		if (sp->i386 && lo < RT32_CODE_VAULT + RT32_CODE_SIZE && x->hi > RT32_BLOCKS) {
			snprintf(why, n, "it occupies addresses that tracing needs (0x%x-0x%x)",
				 RT32_BLOCKS, RT32_CODE_VAULT + RT32_CODE_SIZE);
			return false;
		}
		if (!strcmp(x->path, "[vdso]"))
			boot->vdso = lo;
		if (!(x->prot & PROT_EXEC) || lo >> 63)	/* the vsyscall page is the kernel's */
			continue;
		if (boot->nrange < NR(boot->range)) {
			boot->range[boot->nrange++] =
				(struct rt_range){ lo, x->hi, x->prot, x->shared };
			if (boot->exec_all && !strcmp(x->path, "[stack]"))
				lo = x->hi - STACK_MAX;		/* it grows */
			space_range_add(sp, lo, x->hi, x->prot, x->shared, false);
		}
	}
	return boot->nrange > 0;
}

/* The program finds the same in every run, and on every kernel: the 16 bytes from which libc draws
 * its stack protector and pointer guard; no vDSO. @sp: its stack pointer, where words have @size
 * bytes. */
static void fix_start(pid_t pid, uint64_t sp, unsigned size, bool random, bool no_vdso)
{
	const uint64_t ignore = 1 /* AT_IGNORE */;
	uint64_t key, value;
	int nulls = 0;

	/* argc, arguments, 0, environment, 0, the auxiliary vector */
	for (sp += size; nulls < 2; sp += size) {
		if (!read_word(pid, sp, size, &value))
			return;
		nulls += !value;
	}
	for (; read_word(pid, sp, size, &key) && key && read_word(pid, sp + size, size, &value);
	     sp += 2 * size) {
		if (key == 25 /* AT_RANDOM */ && random)
			write_mem(pid, value, "pugmark-random-0", 16);
		if ((key == 32 /* AT_SYSINFO */ || key == 33 /* AT_SYSINFO_EHDR */) && no_vdso)
			write_mem(pid, sp, &ignore, size);
	}
}

static bool map_runtime(const struct runtime *rt, const struct injected *t, bool i386,
			uint64_t path_at, long *fd)
{
	if (t->caller)
		return map_by_calls(rt, t, path_at, fd);
	return (i386 ? map_runtime32 : map_runtime64)(rt, t->pid, t->regs, path_at, fd);
}

static bool inject_stopped(struct session *s, const struct injected *t, uint64_t scratch,
			   uint32_t block, struct space *sp, char *why, size_t n)
{
	const pid_t pid = t->pid;
	struct user_regs_struct regs = *t->regs;
	struct rt_boot boot = { .block = block, .entry = regs.rip };
	struct runtime *rt = &runtimes[sp->i386];
	char rt_path[64], own_path[64];
	long fd = 0;
	bool ok;

	if (!runtime_ready(s, rt)) {
		snprintf(why, n, "cannot write shared memory: %s", strerror(errno));
		return false;
	}
	session_path(s, boot.code_path, s->spaces.code_fd);
	session_path(s, boot.data_path, s->data_fd);
	session_path(s, rt_path, s->rt_fd[sp->i386]);
	boot.code = sp->base;
	/* A 32-bit program that does not say otherwise may execute whatever it can read: the kernel
	 * must not execute originals for it, and the runtime remembers what the program believes.
	 */
	boot.exec_all = sp->i386 && personality_of(pid) & READ_IMPLIES_EXEC;
	if (!inject_maps(s, pid, &boot, sp, why, n))
		return false;
	if (!t->caller && (s->opts->fix_random || s->opts->no_vdso || s->recorder))
		fix_start(pid, regs.rsp, sp->i386 ? 4 : 8, s->opts->fix_random,
			  s->opts->no_vdso || s->recorder);
	if (s->recorder && !record_begin(s, pid, block, &regs, t->mask, boot.exec_all, why, n))
		return false;
	boot.persona = session_persona(s, block) | READ_IMPLIES_EXEC;

	ok = write_mem(pid, scratch, rt_path, sizeof rt_path) &&
	     map_runtime(rt, t, sp->i386, scratch, &fd);
	if (!ok && fd < 0 && !sp->i386 && pass_files(s, t, scratch, &boot, own_path))
		ok = write_mem(pid, scratch, own_path, sizeof own_path) &&
		     map_runtime(rt, t, false, scratch, &fd);
	ok = ok && write_mem(pid, rt->image_data, &boot, sizeof boot);
	if (!ok) {
		close_passed(t, &boot);
		if (fd < 0)
			snprintf(why, n, "it cannot open %s: %s", rt_path, strerror((int)-fd));
		else
			snprintf(why, n, "the runtime cannot be mapped into it");
		ptrace(PTRACE_SETREGS, pid, 0, &regs);
		return false;
	}
	regs.rip = rt->image;
	regs.orig_rax = ~0ull;
	if (ptrace(PTRACE_SETREGS, pid, 0, &regs)) {
		snprintf(why, n, "%s", strerror(errno));
		return false;
	}
	return true;
}

#define SCRATCH 512

bool inject(struct session *s, pid_t pid, uint32_t block, struct space *sp, uint64_t *entry,
	    char *why, size_t n)
{
	struct user_regs_struct regs;
	uint64_t mask = 0, all = ~0ull, scratch;
	uint8_t saved[SCRATCH];
	bool ok, borrowed;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs) ||
	    ptrace(PTRACE_GETSIGMASK_, pid, 8, &mask) || ptrace(PTRACE_SETSIGMASK_, pid, 8, &all)) {
		snprintf(why, n, "%s", strerror(errno));
		return false;
	}
	*entry = regs.rip;
	/* Below the stack pointer. With many arguments that may be at the end of what is mapped
	 * yet: then the first arguments make way. */
	scratch = regs.rsp - SCRATCH;
	borrowed = !peek_read(pid, saved, scratch, SCRATCH) &&
		   peek_read(pid, saved, regs.rsp, SCRATCH);
	if (borrowed)
		scratch = regs.rsp;
	ok = inject_stopped(s, &(struct injected){ .pid = pid, .regs = &regs, .mask = mask },
			    scratch, block, sp, why, n);
	if (borrowed)
		write_mem(pid, scratch, saved, SCRATCH);
	ptrace(PTRACE_SETSIGMASK_, pid, 8, &mask);
	return ok;
}

/* What the runtime will map: is there room, and does nothing forbid it? It could only end the
 * program. */
static bool has_room(const struct injected *t, char *why, size_t n)
{
	static const struct { uint64_t at, size; } wanted[] = {
		{ RT_SHADOW, RT_SHADOW_SIZE },
		{ RT_IMAGE, RT_IMAGE_SIZE },
		{ RT_CODE_VAULT, RT_CODE_SIZE },
		{ RT_DATA_VAULT, RT_DATA_SIZE },
	};
	long ret;

	for (size_t i = 0; i < NR(wanted); i++) {
		const uint64_t at = wanted[i].at, size = wanted[i].size;

		if (!call64(t, SYS_mmap,
			    (const uint64_t[6]){ at, size, PROT_READ,
						 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
							 MAP_FIXED_NOREPLACE,
						 ~0ull },
			    &ret)) {
			snprintf(why, n, "it cannot be made to call the kernel");
			return false;
		}
		if (ret == -EEXIST) {
			snprintf(why, n, "it occupies addresses that tracing needs (0x%llx on)",
				 (unsigned long long)at);
			return false;
		}
		if (ret != (long)at) {
			snprintf(why, n, "it cannot map what tracing needs: %s",
				 strerror((int)-ret));
			return false;
		}
		call64(t, SYS_munmap, (const uint64_t[6]){ at, size }, &ret);
	}
	return true;
}

bool inject_attached(struct session *s, pid_t pid, const struct user_regs_struct *regs,
		     uint64_t caller, uint32_t block, struct space *sp, char *why, size_t n)
{
	const struct injected t = { .pid = pid, .regs = regs, .caller = caller };
	long scratch, ret;
	bool ok;

	if (!has_room(&t, why, n))
		return false;
	if (!call64(&t, SYS_mmap,
		    (const uint64_t[6]){ 0, 4096, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, ~0ull },
		    &scratch) ||
	    scratch < 0) {
		snprintf(why, n, "it cannot map what tracing needs");
		return false;
	}
	ok = inject_stopped(s, &t, (uint64_t)scratch, block, sp, why, n);
	call64(&t, SYS_munmap, (const uint64_t[6]){ (uint64_t)scratch, 4096 }, &ret);
	if (ok) {
		struct user_regs_struct r = *regs;

		r.rip = RT_IMAGE;
		r.orig_rax = ~0ull;
		ok = !ptrace(PTRACE_SETREGS, pid, 0, &r);
	}
	return ok;
}
