/* SPDX-License-Identifier: MIT */
/* streamdiff.c - do two instruction streams hold the same addresses in the same order?
 *
 *   streamdiff A B      files (or FIFOs, or -) of little-endian u64 addresses
 *
 * Equal: one line with the number of instructions, status 0. Otherwise the first difference with
 * what precedes and follows it, status 1. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BEFORE	12
#define AFTER	6

static uint64_t last[BEFORE];

int main(int argc, char **argv)
{
	FILE *f[2];
	uint64_t n = 0;

	if (argc != 3) {
		fputs("usage: streamdiff A B\n", stderr);
		return 2;
	}
	for (int i = 0; i < 2; i++) {
		f[i] = strcmp(argv[i + 1], "-") ? fopen(argv[i + 1], "r") : stdin;
		if (!f[i]) {
			fprintf(stderr, "streamdiff: %s: %s\n", argv[i + 1], strerror(errno));
			return 2;
		}
	}
	for (;; n++) {
		uint64_t pc[2];
		size_t got[2];

		for (int i = 0; i < 2; i++)
			got[i] = fread(&pc[i], 8, 1, f[i]);
		if (got[0] && got[1] && pc[0] == pc[1]) {
			last[n % BEFORE] = pc[0];
			continue;
		}
		if (!got[0] && !got[1])
			break;
		printf("the streams differ at instruction %llu; before it:\n",
		       (unsigned long long)n);
		for (uint64_t k = n < BEFORE ? 0 : n - BEFORE; k < n; k++)
			printf("  0x%llx\n", (unsigned long long)last[k % BEFORE]);
		for (int i = 0; i < 2; i++) {
			printf("%s:", argv[i + 1]);
			for (int k = 0; k < AFTER && got[i]; k++) {
				printf(" 0x%llx", (unsigned long long)pc[i]);
				got[i] = fread(&pc[i], 8, 1, f[i]);
			}
			puts(got[i] ? " ..." : " (end)");
		}
		return 1;
	}
	printf("equal: %llu instructions\n", (unsigned long long)n);
	return 0;
}
