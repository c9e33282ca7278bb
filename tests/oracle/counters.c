/* SPDX-License-Identifier: MIT */
/* counters.c - what the processor's own counters say about a program
 *
 *   counters PROGRAM [ARG...]
 *
 * Prints user-mode instructions, cycles and instructions per cycle; status 77 where there are no
 * such counters (most virtual machines and containers). */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int counter(uint64_t what, pid_t pid, int group)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof a);
	a.type = PERF_TYPE_HARDWARE;
	a.size = sizeof a;
	a.config = what;
	a.exclude_kernel = a.exclude_hv = 1;
	a.disabled = group < 0;
	a.enable_on_exec = group < 0;
	return (int)syscall(SYS_perf_event_open, &a, pid, -1, group, 0);
}

int main(int argc, char **argv)
{
	uint64_t insns = 0, cycles = 0;
	int go[2], in, cy, status;
	pid_t pid;

	if (argc < 2 || pipe(go)) {
		fprintf(stderr, "usage: counters PROGRAM [ARG...]\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		char c;

		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			execvp(argv[1], argv + 1);
		_exit(127);
	}
	in = counter(PERF_COUNT_HW_INSTRUCTIONS, pid, -1);
	cy = in < 0 ? -1 : counter(PERF_COUNT_HW_CPU_CYCLES, pid, in);
	if (cy < 0) {
		close(go[1]);
		close(go[0]);
		waitpid(pid, &status, 0);
		return 77;
	}
	if (write(go[1], "x", 1) != 1)
		return 1;
	waitpid(pid, &status, 0);
	if (read(in, &insns, sizeof insns) != sizeof insns ||
	    read(cy, &cycles, sizeof cycles) != sizeof cycles || !insns || !cycles)
		return 77;
	fprintf(stderr, "%llu %llu %.4f\n", (unsigned long long)insns, (unsigned long long)cycles,
		(double)insns / (double)cycles);
	return 0;
}
