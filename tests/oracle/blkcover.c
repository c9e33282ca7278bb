/* SPDX-License-Identifier: MIT */
/* blkcover.c - does a block table hold all that was executed, and do its counts say how much that
 * was?
 *
 *   blkcover BLK CNT STREAM      STREAM: addresses of instructions as little-endian u64 (singlestep
 *                                -s)
 *
 * Reads the files of 32-bit and of 64-bit programs as FORMATS.md 2.5, 2.6 and 2.10 lay them out,
 * with nothing of pugmark's. Says nothing if every instruction of the stream is one of a block and
 * was counted as often as it was executed; else what is wrong, status 1. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	uint8_t *p;

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(2);
	}
	*n = (size_t)ftell(f);
	rewind(f);
	p = malloc(*n + 16);
	if (!p || fread(p, 1, *n, f) != *n) {
		perror(path);
		exit(2);
	}
	fclose(f);
	return p;
}

static uint64_t number(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, (size_t)bytes);
	return v;
}

/* Addresses, each with how often it was executed and how often counted. */
static struct slot { uint64_t pc, executed, counted; int known, used; } *slot;
static uint64_t mask, used;

static struct slot *find(uint64_t pc)
{
	uint64_t at = pc * 0x9e3779b97f4a7c15 >> 20;

	for (; slot[at & mask].used && slot[at & mask].pc != pc; at++)
		;
	at &= mask;
	if (!slot[at].used && used++ > mask - mask / 4) {
		puts("many instructions are in no block");
		exit(1);
	}
	slot[at].used = 1;
	slot[at].pc = pc;
	return &slot[at];
}

int main(int argc, char **argv)
{
	size_t nblk, ncnt, nstream;
	static const uint8_t *blk, *cnt, *stream;
	uint64_t blocks, sum = 0;
	int w, bad = 0;

	if (argc != 4) {
		fputs("usage: blkcover BLK CNT STREAM\n", stderr);
		return 2;
	}
	blk = all(argv[1], &nblk);
	cnt = all(argv[2], &ncnt);
	stream = all(argv[3], &nstream);
	w = nblk >= 32 && !memcmp(blk + 24, "IDT64\0\0\0", 8) ? 8 : 4;
	blocks = number(blk, w);
	for (mask = 1; mask < nblk / 2 + (1 << 12); mask *= 2)
		;
	slot = calloc(mask--, sizeof *slot);
	if (!slot)
		return 2;
	for (size_t i = 0; i < nstream / 8; i++)
		find(number(stream + 8 * i, 8))->executed++;
	for (size_t at = 4 * (size_t)w, b = 0; b < blocks; b++) {
		const unsigned n = at + (size_t)w + 1 <= nblk ? blk[at + (size_t)w] : 0;
		uint64_t pc = number(blk + at, w), times = 0;

		for (size_t k = (w == 8 ? 16 : 8) + (size_t)w * b; k + (size_t)w <= ncnt;
		     k += (size_t)w * blocks)
			times += number(cnt + k, w);
		if (!n || at + (size_t)w + 2 + 4 * n > nblk) {
			printf("the block table is cut off at %zu\n", at);
			return 1;
		}
		for (unsigned i = 0; i < n; i++) {
			struct slot *s = find(pc);

			s->known = 1;
			s->counted += times;
			pc += blk[at + (size_t)w + 2 + 4 * i + 2];
		}
		sum += times * n;
		at += ((size_t)w + 2 + 4 * n + (size_t)w - 1) & ~((size_t)w - 1);
	}
	for (size_t i = 0; i <= mask; i++) {
		const struct slot *s = &slot[i];

		if (s->used && ((s->executed && !s->known) || s->counted != s->executed) &&
		    bad++ < 8)
			printf("0x%" PRIx64 ": executed %" PRIu64 " times, %s, counted %" PRIu64
			       " times\n",
			       s->pc, s->executed, s->known ? "in a block" : "in no block",
			       s->counted);
	}
	if (sum != nstream / 8) {
		printf("%" PRIu64 " instructions counted, %zu executed\n", sum, nstream / 8);
		bad++;
	}
	return bad != 0;
}
