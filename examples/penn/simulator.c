/* SPDX-License-Identifier: MIT */
/* simulator.c - a starting point for homework on Penn micro-op traces, in C99
 *
 *   cc -O2 -o simulator simulator.c && zcat prog.trace.gz | ./simulator
 *
 * Reads a trace from the file that is named, or from standard input, calls simulate() for each
 * micro-op, and prints how many there were. Write your simulator into simulate() and report(). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct uop {
	int index;			/* 1 starts a macro-op */
	uint64_t pc;
	int src1, src2, dest;		/* -1: none */
	char flags, branch, ldst;	/* R W -   T N -   L S - */
	int64_t imm;
	uint64_t mem, fall, target;
	char macro[12], micro[23];
};

static uint64_t uops, macros;

static void simulate(const struct uop *u)
{
	uops++;
	if (u->index == 1)
		macros++;
}

static void report(void)
{
	printf("Processed %" PRIu64 " trace records.\n", uops);
	printf("Micro-ops: %" PRIu64 "\n", uops);
	printf("Macro-ops: %" PRIu64 "\n", macros);
}

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
	char line[256];
	struct uop u;

	if (!in) {
		perror(argv[1]);
		return 1;
	}
	printf("Processing trace...\n");
	while (fgets(line, sizeof line, in)) {
		int n = sscanf(line,
			       "%d %" SCNx64 " %d %d %d %c %c %c %" SCNd64 " %" SCNx64 " %" SCNx64
			       " %" SCNx64 " %11s %22s",
			       &u.index, &u.pc, &u.src1, &u.src2, &u.dest, &u.flags, &u.branch,
			       &u.ldst, &u.imm, &u.mem, &u.fall, &u.target, u.macro, u.micro);

		if (n != 14) {
			fprintf(stderr, "Error parsing trace at line %" PRIu64 "\n", uops + 1);
			return 1;
		}
		simulate(&u);
	}
	report();
	return 0;
}
