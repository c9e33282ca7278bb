/* SPDX-License-Identifier: MIT */
/* test_r4400_qemu.c - a bare program on QEMU's R4000 and on ours: every general and floating-point
 * register, HI and LO at the beginning of every block
 *
 * QEMU_BLOCKS=N in the environment compares N blocks instead of 20000. */
#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#include "collect/machine/machine.h"

#define PROGRAM	"build/guest/bare.elf"

struct state {
	uint64_t pc, hi, lo, gpr[32], fpr[32];
	bool fpu;
};

/* The next block entry of QEMU's log; a state ends where the next begins. */
static bool next_state(FILE *in, struct state *s)
{
	static char line[512];
	static bool pending;
	unsigned long long pc, hi, lo, v[4];
	unsigned r;

	while (!pending || sscanf(line, "pc=0x%llx HI=0x%llx LO=0x%llx", &pc, &hi, &lo) != 3) {
		if (!fgets(line, sizeof line, in))
			return false;
		pending = true;
	}
	memset(s, 0, sizeof *s);
	s->pc = pc;
	s->hi = hi;
	s->lo = lo;
	while (fgets(line, sizeof line, in) && strncmp(line, "pc=", 3)) {
		char *p;

		if (sscanf(line, "GPR%u: %*s %llx %*s %llx %*s %llx %*s %llx", &r, &v[0], &v[1],
			   &v[2], &v[3]) == 5 &&
		    r <= 28) {
			for (unsigned i = 0; i < 4; i++)
				s->gpr[r + i] = v[i];
		} else if (sscanf(line, " f%u:", &r) == 1 && r < 32 && (p = strstr(line, " d:"))) {
			s->fpr[r] = strtoull(p + 3, NULL, 16);
			s->fpu = true;
		}
	}
	return true;
}

#define BOOT_BLOCKS	1000		/* of QEMU's at most before the program's `begin` */

/* QEMU, which writes the state before each block into the pipe; it ends when we do. That of
 * version 10 does not sign-extend where a 32-bit program is entered, so it is told. */
static pid_t start_qemu(uint64_t entry, FILE **in)
{
	char at[64];
	int fd[2];
	pid_t pid;

	snprintf(at, sizeof at, "loader,addr=0x%llx,cpu-num=0", (unsigned long long)entry);
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd[1], 1);
		close(2);
		execlp("qemu-system-mips64el", "qemu-system-mips64el", "-M", "mipssim", "-cpu",
		       "R4000", "-m", "64", "-kernel", PROGRAM, "-device", at, "-nic", "none",
		       "-display", "none", "-serial", "none", "-monitor", "none", "-d",
		       "cpu,fpu,nochain", "-D", "/dev/stdout", NULL);
		_exit(127);
	}
	close(fd[1]);
	*in = fdopen(fd[0], "r");
	return pid;
}

static void test_qemu(void **state)
{
	const char *blocks = getenv("QEMU_BLOCKS");
	uint64_t limit = blocks ? strtoull(blocks, NULL, 0) : 20000, n = 0, insns, nfp = 0;
	struct machine_config cfg = { .cpu = { .iline = 32, .dline = 32 }, .ram_size = 64 << 20 };
	struct pm_err err = { 0 };
	struct machine *m;
	struct state s;
	unsigned boot = 0;
	FILE *in;
	pid_t pid;

	(void)state;
	if (access(PROGRAM, R_OK)) {
		print_message("skipped: no MIPS cross compiler\n");
		skip();
	}
	if (system("command -v qemu-system-mips64el >/dev/null 2>&1")) {
		print_message("skipped: no qemu-system-mips64el\n");
		skip();
	}
	m = machine_new(&cfg, &err);
	assert_int_equal(machine_boot_elf(m, PROGRAM, &err), PM_OK);
	pid = start_qemu(m->cpu->pc, &in);
	while (m->cpu->gpr[31] != 0x1f1f1f1f || (m->cpu->gpr[29] & 0xffff) == 0 ||
	       m->cpu->nbranch < 1 || m->cpu->in_delay)
		machine_step(m, 1);
	insns = cpu_instructions(m->cpu);
	/* both stand at `begin` now */
	do
		if (!next_state(in, &s) || ++boot > BOOT_BLOCKS)
			fail_msg("after %u blocks QEMU has not come to 0x%llx, but to 0x%llx", boot,
				 (unsigned long long)m->cpu->pc, (unsigned long long)s.pc);
	while (s.pc != m->cpu->pc);
	for (;;) {
		struct cpu *c = m->cpu;
		uint64_t b = c->nbranch;

		if (c->pc != s.pc || memcmp(c->gpr, s.gpr, sizeof s.gpr) || c->hi != s.hi ||
		    c->lo != s.lo) {
			for (unsigned i = 0; i < 32; i++)
				if (c->gpr[i] != s.gpr[i])
					print_error("$%u: ours 0x%llx, QEMU 0x%llx\n", i,
						    (unsigned long long)c->gpr[i],
						    (unsigned long long)s.gpr[i]);
			fail_msg("block %llu, instruction %llu: ours pc 0x%llx, QEMU 0x%llx",
				 (unsigned long long)n, (unsigned long long)cpu_instructions(c),
				 (unsigned long long)c->pc, (unsigned long long)s.pc);
		}
		for (unsigned i = 0; s.fpu && i < 32; i += 2) {
			nfp++;
			if (c->fpr[i] != s.fpr[i])
				fail_msg("block %llu: $f%u ours 0x%llx, QEMU 0x%llx",
					 (unsigned long long)n, i, (unsigned long long)c->fpr[i],
					 (unsigned long long)s.fpr[i]);
		}
		if (++n == limit || !next_state(in, &s))
			break;
		/* to the end of our block: behind a branch, or where QEMU splits: pages, ctc1 */
		do {
			uint32_t w;

			memcpy(&w, m->ram + (c->pc & 0x1fffffff), 4);
			machine_step(m, 1);
			if (s.pc == c->pc &&
			    (!(c->pc & 0xfff) || mips_decode(w, MIPS_ISA_R4400) == MIPS_ctc1))
				break;
		} while ((c->nbranch == b || c->in_delay) && c->exceptions == 0);
	}
	print_message("%llu blocks, %llu instructions, %llu floating-point registers compared\n",
		      (unsigned long long)n, (unsigned long long)(cpu_instructions(m->cpu) - insns),
		      (unsigned long long)nfp);
	assert_int_equal(n, limit);
	assert_true(nfp > 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fclose(in);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_qemu) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
