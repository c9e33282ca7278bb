/* SPDX-License-Identifier: MIT */
/* test_r4400_user.c - the programs of the Linux guest's disk on QEMU's user mode and on our
 * processor in its user mode, through TLB and caches: every general register, HI and LO at the
 * beginning of every block
 *
 * QEMU runs ahead by the few blocks that a pipe of one page holds and makes the system calls; what
 * they return is taken from its log, and what they wrote from its memory. Every other stretch of
 * blocks is run in one go, so that the interpreter is compared both one instruction at a time and
 * at full speed.
 *
 * Skipped where `make guests` or QEMU is missing. USER_BLOCKS=N compares N blocks of each program
 * instead of 30000. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/machine/cpu.h"

#define BASE	0x100000000ULL		/* where QEMU puts the guest's address 0 */
#define RAM	(64u << 20)
#define PAGES	(1u << 19)		/* of 2 GiB */
#define STRETCH	500			/* blocks */

struct state { uint32_t pc, hi, lo, gpr[32]; };

struct user {
	struct cpu *c;
	uint8_t *ram;
	uint32_t used;			/* pages of RAM */
	uint32_t page[PAGES];		/* virtual page -> page of RAM; 0: none */
	uint32_t tls;
	FILE *log;
	int mem;			/* QEMU's memory */
	pid_t pid;
	uint64_t insns, blocks, syscalls, refills;
	bool slot;			/* the next block is the delay slot of the last one's
					 * branch, on the next page */
};

/* ---- the bus -------------------------------------------------------------------------------- */
static bool fill(void *ctx, uint64_t pa, void *p, unsigned n, bool fetch)
{
	struct user *u = ctx;

	(void)fetch;
	if (pa + n > RAM)
		return false;
	memcpy(p, u->ram + pa, n);
	return true;
}

static bool writeback(void *ctx, uint64_t pa, const void *p, unsigned n)
{
	struct user *u = ctx;

	if (pa + n > RAM)
		return false;
	memcpy(u->ram + pa, p, n);
	return true;
}

static bool no_read(void *ctx, uint64_t pa, unsigned size, uint64_t *val, bool fetch)
{
	(void)ctx, (void)pa, (void)size, (void)val, (void)fetch;
	return false;
}

static bool no_write(void *ctx, uint64_t pa, unsigned size, uint64_t val)
{
	(void)ctx, (void)pa, (void)size, (void)val;
	return false;
}

static void exception(void *ctx, enum cpu_exc code, uint64_t pc, bool bd)
{
	struct user *u = ctx;

	(void)code, (void)pc, (void)bd;
	u->c->attn = true;		/* out of cpu_run(): this file is the kernel */
}

static const struct cpu_bus bus = { .fill = fill, .writeback = writeback, .read = no_read,
	.write = no_write,
				    .exception = exception };

/* ---- memory --------------------------------------------------------------------------------- */
static uint32_t page_of(struct user *u, uint32_t va)
{
	uint32_t *p = &u->page[va >> 12];

	assert_true(va < 1u << 31);
	if (!*p) {
		*p = ++u->used;
		assert_true(u->used < RAM / 4096);
	}
	return *p;
}

/* One byte as the program sees it: in the data cache if it is there (@write: which then has the
 * only copy). */
static uint8_t *byte(struct user *u, uint32_t va, bool write)
{
	uint64_t pa = (uint64_t)page_of(u, va) * 4096 + (va & 4095);
	unsigned line = (va & (CPU_L1_SIZE - 1)) >> u->c->dshift;

	if (u->c->dptag[line] == pa >> u->c->dshift << u->c->dshift) {
		u->c->ddirty[line] |= write;
		return &u->c->ddata[va & (CPU_L1_SIZE - 1)];
	}
	return &u->ram[pa];
}

static uint32_t word(struct user *u, uint32_t va)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++)
		v |= (uint32_t)*byte(u, va + i, false) << 8 * i;
	return v;
}

static void from_qemu(struct user *u, uint32_t va, uint32_t n)
{
	uint8_t buf[4096];

	for (uint32_t done = 0; va && done < n; ) {
		uint32_t k = n - done < sizeof buf ? n - done : sizeof buf;

		assert_int_equal(pread(u->mem, buf, k, (off_t)(BASE + va + done)), k);
		for (uint32_t i = 0; i < k; i++)
			*byte(u, va + done + i, true) = buf[i];
		done += k;
	}
}

/* All of the program's memory, from what QEMU has mapped for it. */
static void snapshot(struct user *u)
{
	static const uint8_t zero[4096];
	char line[256], path[64];
	uint8_t buf[4096];
	FILE *f;

	/* not before QEMU has been executed: the file stands for the memory of that moment's
	 * program */
	snprintf(path, sizeof path, "/proc/%d/mem", u->pid);
	u->mem = open(path, O_RDONLY);
	assert_true(u->mem >= 0);
	snprintf(path, sizeof path, "/proc/%d/maps", u->pid);
	f = fopen(path, "r");
	while (fgets(line, sizeof line, f)) {
		unsigned long long lo, hi;
		char r;

		if (sscanf(line, "%llx-%llx %c", &lo, &hi, &r) != 3 || r != 'r' || lo < BASE ||
		    hi > BASE + (1ULL << 31))
			continue;
		for (; lo < hi; lo += 4096)
			if (pread(u->mem, buf, 4096, (off_t)lo) == 4096 && memcmp(buf, zero, 4096))
				memcpy(u->ram + (size_t)page_of(u, (uint32_t)(lo - BASE)) * 4096,
				       buf, 4096);
	}
	fclose(f);
}

/* ---- QEMU's log ----------------------------------------------------------------------------- */
static bool next_state(struct user *u, struct state *s)
{
	char line[256];
	unsigned r, v[4];

	do
		if (!fgets(line, sizeof line, u->log))
			return false;
	while (sscanf(line, "pc=0x%x HI=0x%x LO=0x%x", &s->pc, &s->hi, &s->lo) != 3);
	for (unsigned k = 0; k < 8; k++) {
		if (!fgets(line, sizeof line, u->log) ||
		    sscanf(line, "GPR%u: %*s %x %*s %x %*s %x %*s %x", &r, &v[0], &v[1], &v[2],
			   &v[3]) != 5 ||
		    r != 4 * k)
			return false;
		memcpy(&s->gpr[r], v, sizeof v);
	}
	return true;
}

static uint64_t wide(uint32_t v)
{
	return (uint64_t)(int64_t)(int32_t)v;
}

static void compare(struct user *u, const struct state *s)
{
	struct cpu *c = u->c;
	bool same = c->pc == wide(s->pc) && c->hi == wide(s->hi) && c->lo == wide(s->lo) &&
		    c->in_delay == u->slot;

	for (unsigned i = 0; i < 32; i++)
		if (c->gpr[i] != wide(s->gpr[i])) {
			print_error("$%u: 0x%llx, QEMU 0x%x\n", i, (unsigned long long)c->gpr[i],
				    s->gpr[i]);
			same = false;
		}
	if (!same)
		fail_msg("block %llu, instruction %llu: pc 0x%llx, QEMU 0x%x",
			 (unsigned long long)u->blocks, (unsigned long long)u->insns,
			 (unsigned long long)c->pc, s->pc);
}

/* ---- exceptions ----------------------------------------------------------------------------- */
static void refill(struct user *u)
{
	struct cpu *c = u->c;
	uint32_t va = (uint32_t)c->c0[C0_BADVADDR] & ~0x1fffu;

	c->c0[C0_ENTRYLO0] = (uint64_t)page_of(u, va) << 6 | 3 << 3 | 6;
	c->c0[C0_ENTRYLO1] = (uint64_t)page_of(u, va + 4096) << 6 | 3 << 3 | 6;
	assert_true(cpu_cp0_op(c, MIPS_tlbwr, 0));
	u->refills++;
}

/* @n instructions; what exceptions repeat or take over is accounted for. */
static void run(struct user *u, uint64_t n)
{
	struct cpu *c = u->c;
	uint64_t end = cpu_instructions(c) + n;
	uint32_t w;

	u->insns += n;
	while (cpu_instructions(c) < end) {
		c->attn = false;
		cpu_budget(c, end - cpu_instructions(c));
		cpu_run(c);
		if (!(c->status & ST_EXL))
			continue;
		switch (c->cause >> 2 & 31) {
		case EXC_TLBL: case EXC_TLBS:
			refill(u);
			end += c->cause >> 31;		/* the branch is executed again */
			break;
		case EXC_SYS:
			assert_false(c->cause >> 31);
			c->c0[C0_EPC] += 4;
			break;
		case EXC_RI:	/* rdhwr $29: the kernel's business on an R4400 */
			w = word(u, (uint32_t)c->c0[C0_EPC]);
			if ((w & 0xffe0ffff) == 0x7c00e83b && !(c->cause >> 31)) {
				c->gpr[w >> 16 & 31] = wide(u->tls);
				c->c0[C0_EPC] += 4;
				end--;
				break;
			}
			/* fall through */
		default:
			fail_msg("exception %u at 0x%llx", c->cause >> 2 & 31,
				 (unsigned long long)c->c0[C0_EPC]);
		}
		cpu_eret(c);
	}
}

/* The system call that led from what is in our registers to @s: what it wrote. */
static void system_call(struct user *u, const struct state *s)
{
	struct cpu *c = u->c;
	uint32_t nr = (uint32_t)c->gpr[2], a[4], left = s->gpr[2];

	for (unsigned i = 0; i < 4; i++)
		a[i] = (uint32_t)c->gpr[4 + i];
	u->syscalls++;
	c->gpr[2] = wide(s->gpr[2]);
	c->gpr[3] = wide(s->gpr[3]);
	c->gpr[7] = wide(s->gpr[7]);
	if (nr == 4283)					/* set_thread_area */
		u->tls = a[0];
	if (s->gpr[7])
		return;
	switch (nr) {
	case 4003: from_qemu(u, a[1], s->gpr[2]); break;			/* read */
	case 4145:								/* readv */
		for (uint32_t i = 0; i < a[2] && left; i++) {
			uint32_t k = word(u, a[1] + 8 * i + 4);

			k = k < left ? k : left;
			from_qemu(u, word(u, a[1] + 8 * i), k);
			left -= k;
		}
		break;
	/* stat64, lstat64, fstat64 */
	case 4213: case 4214: case 4215: from_qemu(u, a[1], 104); break;
	case 4054: from_qemu(u, a[2], 8); break;	/* ioctl: a window's size */
	case 4203: from_qemu(u, a[0], s->gpr[2]); break;			/* getcwd */
	case 4122: from_qemu(u, a[0], 390); break;				/* uname */
	case 4263: from_qemu(u, a[1], 8); break;				/* clock_gettime */
	case 4403: from_qemu(u, a[1], 16); break;	/* clock_gettime64 */
	case 4194: from_qemu(u, a[2], 32); break;				/* rt_sigaction */
	case 4195: from_qemu(u, a[2], 16); break;				/* rt_sigprocmask */
	case 4366: from_qemu(u, word(u, (uint32_t)c->gpr[29] + 16), 256); break;	/* statx */
	}
}

/* What must be looked at before the next block: nothing, a system call, a branch that may have a
 * slot. */
enum stop { NONE, CALL, BRANCH };

/* How many instructions lead from the block at @s to the next at @to. */
static unsigned length(struct user *u, const struct state *s, uint32_t to, enum stop *stop)
{
	enum mips_op last = MIPS_RESERVED;

	*stop = NONE;
	if (u->slot) {
		u->slot = false;
		return 1;
	}
	for (unsigned n = 0; n < 1024; n++) {
		uint32_t pc = s->pc + 4 * n, w = word(u, pc);
		enum mips_op op = mips_decode(w, MIPS_ISA_R4400);

		/* QEMU's blocks end at pages and behind what may change its mode, too */
		if (n && pc == to && (!(pc & 4095) || last == MIPS_ctc1))
			return n;
		last = op;
		if (op == MIPS_syscall) {
			*stop = CALL;
			return n + 1;
		}
		if (!mips_has_slot(op))
			continue;
		if (to == pc + 4 && !(to & 4095)) {
			u->slot = true;
			return n + 1;
		}
		if ((mips_insns[op].class == MIPS_CLASS_likely ||
		     mips_insns[op].class == MIPS_CLASS_likelink) &&
		    to == pc + 8) {
			/* not taken: the slot is annulled; or taken to where it goes on anyway */
			*stop = (w & 0xffff) == 1 ? BRANCH : *stop;
			return n + 1;
		}
		return n + 2;
	}
	fail_msg("no end of the block at 0x%x", s->pc);
	return 0;
}

static void start(struct user *u, const char *input, char *const argv[])
{
	static char *env[] = { NULL };
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	fcntl(fd[1], F_SETPIPE_SZ, 4096);
	u->pid = fork();
	if (!u->pid) {
		char *av[16] = { "qemu-mipsel", "-cpu", "24Kf", "-B", "0x100000000", "-d",
			"cpu,nochain", "-D",
				 "/proc/self/fd/9" };

		dup2(fd[1], 9);
		dup2(open(input, O_RDONLY), 0);
		dup2(open("/dev/null", O_WRONLY), 1);
		dup2(1, 2);
		close(fd[0]);
		close(fd[1]);
		for (unsigned i = 0; i < 6 && argv[i]; i++)
			av[9 + i] = argv[i];
		execve("/usr/bin/qemu-mipsel", av, env);
		_exit(127);
	}
	close(fd[1]);
	u->log = fdopen(fd[0], "r");
	setvbuf(u->log, NULL, _IOFBF, 512);
}

static void program(const char *name, const char *input, char *const argv[])
{
	const char *blocks = getenv("USER_BLOCKS");
	uint64_t limit = blocks ? strtoull(blocks, NULL, 0) : 30000;
	struct cpu_config cfg = { .iline = 32, .dline = 32 };
	struct user *u = calloc(1, sizeof *u);
	struct state s, next;
	uint64_t pending = 0;

	u->ram = calloc(1, RAM);
	u->c = cpu_new(&cfg, &bus, u);
	start(u, input, argv);
	if (!next_state(u, &s))
		fail_msg("%s: QEMU says nothing", name);
	snapshot(u);
	u->c->status = 2 << 3 | ST_CU1;
	u->c->c0[C0_CONFIG] = (u->c->c0[C0_CONFIG] & ~7ULL) | 3;
	u->c->pc = wide(s.pc);
	for (unsigned i = 0; i < 32; i++)
		u->c->gpr[i] = wide(s.gpr[i]);
	cpu_sync(u->c);
	for (; u->blocks < limit && next_state(u, &next); s = next) {
		bool whole = u->blocks / STRETCH & 1;
		enum stop stop;

		pending += length(u, &s, next.pc, &stop);
		u->blocks++;
		if (whole && !stop && u->blocks % STRETCH && u->blocks < limit)
			continue;
		run(u, pending);
		pending = 0;
		if (stop == CALL)
			system_call(u, &next);
		else if (stop == BRANCH && u->c->in_delay)
			run(u, 1);
		compare(u, &next);
	}
	print_message("%s: %llu instructions, %llu blocks, %llu system calls, %llu TLB refills\n",
		      name, (unsigned long long)u->insns, (unsigned long long)u->blocks,
		      (unsigned long long)u->syscalls, (unsigned long long)u->refills);
	assert_true(u->insns > 10000);
	kill(u->pid, SIGKILL);
	waitpid(u->pid, NULL, 0);
	fclose(u->log);
	close(u->mem);
	cpu_free(u->c);
	free(u->ram);
	free(u);
}

static void test_user(void **state)
{
	const char *guests = getenv("PUGMARK_GUESTS");
	char dir[512], old[512];

	(void)state;
	snprintf(dir, sizeof dir, "%s/linux/disk", guests ? guests : "build/guest");
	if (access(dir, R_OK)) {
		print_message("skipped: no Linux guest (make guests)\n");
		skip();
	}
	if (access("/usr/bin/qemu-mipsel", X_OK)) {
		print_message("skipped: no qemu-mipsel\n");
		skip();
	}
	assert_non_null(getcwd(old, sizeof old));
	assert_int_equal(chdir(dir), 0);
	program("bzip2", "data/text", (char *[]){ "bin/bzip2", "-c", NULL });
	program("busybox sha1sum", "/dev/null",
		(char *[]){ "bin/busybox", "sha1sum", "data/text", NULL });
	program("busybox sort", "/dev/null",
		(char *[]){ "bin/busybox", "sort", "-k4n", "data/text", NULL });
	program("lua", "/dev/null", (char *[]){ "bin/lua", "work.lua", NULL });
	assert_int_equal(chdir(old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_user) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
