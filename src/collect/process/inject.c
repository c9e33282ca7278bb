/* SPDX-License-Identifier: MIT */
/* inject.c - put the runtime into a process that stands at its exec stop
 *
 * At that stop the program and its interpreter are mapped and nothing has run. A handful of remote
 * system calls (made by a `syscall` instruction poked over the first instruction, which is put back)
 * map the runtime; the rest of the work it does itself. Names, auxv and brk stay the program's own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/process/session.h"

extern const uint8_t pm_rt_text[], pm_rt_text_end[], pm_rt_data[], pm_rt_data_end[];
extern const uint8_t pm_rt32_text[], pm_rt32_text_end[], pm_rt32_data[], pm_rt32_data_end[];

struct runtime runtimes[2] = {
	{ pm_rt_text, pm_rt_text_end, pm_rt_data, pm_rt_data_end, RT_IMAGE, RT_IMAGE_DATA, 0, 0 },
	{ pm_rt32_text, pm_rt32_text_end, pm_rt32_data, pm_rt32_data_end, RT32_IMAGE, RT32_IMAGE_DATA, 0, 0 },
};

pid_t wait_for(pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(pid, status, __WALL);
	while (got < 0 && errno == EINTR);		/* other children's SIGCHLD */
	return got;
}

#define CS_I386 0x23		/* the kernel's __USER32_CS */

bool is_i386(pid_t pid)
{
	struct user_regs_struct r;

	return !ptrace(PTRACE_GETREGS, pid, 0, &r) && r.cs == CS_I386;
}

/* The calls that injecting needs, as 64-bit programs and as i386's number them. */
enum remote_call { REMOTE_OPEN, REMOTE_MMAP, REMOTE_CLOSE };
static const long remote_nr[2][3] = { { SYS_open, SYS_mmap, SYS_close }, { 5, 192, 6 } };

/* The offset of a mapping is the last argument of mmap(); i386's mmap2() counts it in pages. */
static bool remote(pid_t pid, const struct user_regs_struct *at, long *ret, enum remote_call call,
		   uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	struct user_regs_struct r = *at;
	const bool i386 = at->cs == CS_I386;
	const long nr = remote_nr[i386][call];
	int status;

	r.rax = (unsigned long long)nr;
	r.orig_rax = ~0ull;
	if (i386) {
		r.rbx = a;
		r.rcx = b;
		r.rsi = d;
		r.rdi = e;
		r.rbp = f >> 12;
	} else {
		r.rdi = a;
		r.rsi = b;
		r.r10 = d;
		r.r8 = e;
		r.r9 = f;
	}
	r.rdx = c;
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
	*ret = i386 ? (int32_t)r.rax : (long)r.rax;
	return true;
}

static bool write_mem(pid_t pid, uint64_t to, const void *from, size_t n)
{
	struct iovec l = { (void *)from, n }, r = { (void *)to, n };

	return process_vm_writev(pid, &l, 1, &r, 1, 0) == (ssize_t)n;
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

static bool read_maps(pid_t pid, struct rt_boot *boot, struct space *sp, char *why, size_t n)
{
	char path[64], line[4400];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		uint64_t lo, hi;
		char perms[8];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &lo, &hi, perms) != 3)
			continue;
		if (sp->i386 && lo < RT32_CODE_VAULT + RT32_CODE_SIZE && hi > RT32_BLOCKS) {
			snprintf(why, n, "it occupies addresses that tracing needs (0x%x-0x%x)",
				 RT32_BLOCKS, RT32_CODE_VAULT + RT32_CODE_SIZE);
			fclose(f);
			return false;
		}
		if (strstr(line, "[vdso]"))
			boot->vdso = lo;
		if (perms[2] != 'x' || lo >> 63)	/* the vsyscall page is the kernel's */
			continue;
		if (boot->nrange < NR(boot->range)) {
			uint32_t prot = (perms[0] == 'r' ? 1 : 0) | (perms[1] == 'w' ? 2 : 0) | 4;

			boot->range[boot->nrange++] =
				(struct rt_range){ lo, hi, prot, perms[3] == 's' };
			if (boot->exec_all && strstr(line, "[stack]"))
				lo = hi - STACK_MAX;	/* it grows */
			space_range_add(sp, lo, hi, prot, perms[3] == 's', false);
		}
	}
	fclose(f);
	return boot->nrange > 0;
}

static bool read_word(pid_t pid, uint64_t at, unsigned size, uint64_t *to)
{
	struct iovec l = { to, size }, r = { (void *)at, size };

	*to = 0;
	return process_vm_readv(pid, &l, 1, &r, 1, 0) == (ssize_t)size;
}

/* The program finds the same in every run, and on every kernel: the 16 bytes from which libc draws its
 * stack protector and pointer guard; no vDSO. @sp: its stack pointer, where words have @size bytes. */
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
	for (; read_word(pid, sp, size, &key) && key && read_word(pid, sp + size, size, &value); sp += 2 * size) {
		if (key == 25 /* AT_RANDOM */ && random)
			write_mem(pid, value, "pugmark-random-0", 16);
		if ((key == 32 /* AT_SYSINFO */ || key == 33 /* AT_SYSINFO_EHDR */) && no_vdso)
			write_mem(pid, sp, &ignore, size);
	}
}

static bool inject_stopped(struct session *s, pid_t pid, uint32_t block, struct space *sp, char *why,
			   size_t n)
{
	struct user_regs_struct regs;
	struct rt_boot boot = { .persona = ~0u };
	const struct runtime *rt = &runtimes[sp->i386];
	size_t ntext = (size_t)(rt->text_end - rt->text);
	size_t ndata = (size_t)(rt->data_end - rt->data);
	uint64_t path_at;
	char rt_path[64];
	long word, fd = -1, ret = -1;
	bool ok = false;

	errno = 0;
	if (ptrace(PTRACE_GETREGS, pid, 0, &regs)) {
		snprintf(why, n, "%s", strerror(errno));
		return false;
	}
	snprintf(boot.code_path, sizeof boot.code_path, "/proc/%s/fd/%d", s->pid_text, s->code_fd);
	snprintf(boot.data_path, sizeof boot.data_path, "/proc/%s/fd/%d", s->pid_text, s->data_fd);
	snprintf(rt_path, sizeof rt_path, "/proc/%s/fd/%d", s->pid_text, s->rt_fd);
	boot.entry = regs.rip;
	boot.block = block;
	boot.code = sp->base;
	/* A 32-bit program that does not say otherwise may execute whatever it can read: the kernel must
	 * not execute originals for it, and the runtime remembers what the program believes. */
	boot.exec_all = sp->i386 && personality_of(pid) & READ_IMPLIES_EXEC;
	if (!read_maps(pid, &boot, sp, why, n)) {
		if (!*why)
			snprintf(why, n, "its memory map cannot be read");
		return false;
	}
	if (s->opts->fix_random || s->opts->no_vdso)
		fix_start(pid, regs.rsp, sp->i386 ? 4 : 8, s->opts->fix_random, s->opts->no_vdso);
	if (s->head->no_aslr)
		boot.persona = (uint32_t)personality(0xffffffff);
	else if (boot.exec_all)
		boot.persona = personality_of(pid) & ~(uint32_t)READ_IMPLIES_EXEC;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)regs.rip, 0);
	if (errno || ptrace(PTRACE_POKETEXT, pid, (void *)regs.rip,
			    (void *)((word & ~0xffffl) | (sp->i386 ? 0x80cd : 0x050f)))) {
		snprintf(why, n, "its code cannot be changed: %s", strerror(errno));
		return false;
	}
	path_at = regs.rsp - 512;
	ok = write_mem(pid, path_at, rt_path, sizeof rt_path);
	ok = ok && remote(pid, &regs, &fd, REMOTE_OPEN, path_at, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
	if (ok && fd < 0) {
		snprintf(why, n, "it cannot open %s: %s", rt_path, strerror((int)-fd));
		ok = false;
	}
	ok = ok && remote(pid, &regs, &ret, REMOTE_MMAP, rt->image, ntext, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_FIXED, (uint64_t)fd, (uint64_t)rt->text_off) &&
	     ret == (long)rt->image;
	ok = ok && remote(pid, &regs, &ret, REMOTE_MMAP, rt->image_data, ndata, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_FIXED, (uint64_t)fd, (uint64_t)rt->data_off) &&
	     ret == (long)rt->image_data;
	ok = ok && remote(pid, &regs, &ret, REMOTE_CLOSE, (uint64_t)fd, 0, 0, 0, 0, 0);
	if (ptrace(PTRACE_POKETEXT, pid, (void *)regs.rip, (void *)word))
		ok = false;
	ok = ok && write_mem(pid, rt->image_data, &boot, sizeof boot);
	if (!ok) {
		if (!*why)
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

bool inject(struct session *s, pid_t pid, uint32_t block, struct space *sp, char *why, size_t n)
{
	uint64_t mask = 0, all = ~0ull;
	bool ok;

	if (ptrace(PTRACE_GETSIGMASK_, pid, 8, &mask) || ptrace(PTRACE_SETSIGMASK_, pid, 8, &all)) {
		snprintf(why, n, "%s", strerror(errno));
		return false;
	}
	ok = inject_stopped(s, pid, block, sp, why, n);
	ptrace(PTRACE_SETSIGMASK_, pid, 8, &mask);
	return ok;
}
