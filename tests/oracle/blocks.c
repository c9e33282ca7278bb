/* SPDX-License-Identifier: MIT */
/* blocks.c - what a profile should say, from the instruction streams that singlestep recorded
 *
 *   blocks PROGRAM STREAM... [-d REFERENCES...]
 *
 * PROGRAM is the static, fixed-address executable that all streams (singlestep -s) come from.
 * Prints the figures of `pugmark run --json` that need no symbols, under the same names. Slow and
 * plain: every executed instruction is looked at, blocks are what the definition says, and
 * references are those that really happened (-d), a rep-prefixed instruction's counted once from
 * its operands. */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

struct insn {
	uint64_t pc, count;
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	bool leader, transfers, rep;
};

static uint8_t *image;
static size_t image_size;
static struct insn *insn;
static size_t ninsn, cap;
static uint32_t *at_address;		/* pc - base -> insn + 1 */
static uint64_t base, top;
static ZydisDecoder decoder;

static void die(const char *what)
{
	fprintf(stderr, "blocks: %s\n", what);
	exit(1);
}

static void *read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = NULL;
	size_t have = 0, k;

	if (!f)
		die(path);
	*n = 0;
	do {
		if (*n == have)
			p = realloc(p, have = have ? 2 * have : 65536);
		k = fread(p + *n, 1, have - *n, f);
		*n += k;
	} while (k);
	fclose(f);
	return p;
}

static const uint8_t *code_at(uint64_t pc, size_t *left)
{
	const Elf64_Ehdr *eh = (const void *)image;
	const Elf64_Phdr *ph = (const void *)(image + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && pc >= ph[i].p_vaddr &&
		    pc < ph[i].p_vaddr + ph[i].p_filesz) {
			*left = ph[i].p_vaddr + ph[i].p_filesz - pc;
			return image + ph[i].p_offset + (pc - ph[i].p_vaddr);
		}
	die("an instruction outside the program: is it static, and built for a fixed address?");
	return NULL;
}

static struct insn *get(uint64_t pc)
{
	struct insn *i;
	const uint8_t *p;
	size_t left;

	if (pc < base || pc >= top)
		die("an instruction outside the program: is it static, and built for a fixed "
		    "address?");
	if (at_address[pc - base])
		return &insn[at_address[pc - base] - 1];
	if (ninsn == cap)
		insn = realloc(insn, (cap = cap ? 2 * cap : 1024) * sizeof *insn);
	i = &insn[ninsn++];
	memset(i, 0, sizeof *i);
	at_address[pc - base] = (uint32_t)ninsn;
	i->pc = pc;
	p = code_at(pc, &left);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, p, left, &i->zi, i->op)))
		die("an instruction that cannot be decoded");
	switch (i->zi.meta.category) {
	case ZYDIS_CATEGORY_COND_BR: case ZYDIS_CATEGORY_UNCOND_BR: case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET: case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_INTERRUPT:
		i->transfers = true;
		break;
	default:
		break;
	}
	i->rep = i->zi.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				     ZYDIS_ATTRIB_HAS_REPNE);
	return i;
}

static int down(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

int main(int argc, char **argv)
{
	uint64_t total = 0, blocks = 0, reads = 0, writes = 0, reps = 0, sum = 0, k = 0, *size;
	size_t distinct = 0;
	int a = 2;

	if (argc < 3)
		die("usage: blocks PROGRAM STREAM... [-d REFERENCES...]");
	image = read_all(argv[1], &image_size);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	base = UINT64_MAX;
	for (int i = 0; i < ((Elf64_Ehdr *)image)->e_phnum; i++) {
		const Elf64_Phdr *ph = (const Elf64_Phdr *)(image +
							    ((Elf64_Ehdr *)image)->e_phoff) +
				       i;

		if (ph->p_type != PT_LOAD)
			continue;
		base = ph->p_vaddr < base ? ph->p_vaddr : base;
		top = ph->p_vaddr + ph->p_memsz > top ? ph->p_vaddr + ph->p_memsz : top;
	}
	at_address = calloc(top - base, sizeof *at_address);

	for (; a < argc && strcmp(argv[a], "-d"); a++) {
		size_t n;
		const uint64_t *pc = read_all(argv[a], &n);
		uint64_t next = 0;
		bool transferred = true;

		for (size_t i = 0; i < n / 8; i++) {
			struct insn *x = get(pc[i]);

			x->count++;
			if (transferred || pc[i] != next)
				x->leader = true;
			transferred = x->transfers;
			next = pc[i] + x->zi.length;
		}
		total += n / 8;
	}
	for (; a < argc; a++) {
		char line[128], kind;
		unsigned long pc;
		FILE *f = fopen(argv[a], "r");

		if (!strcmp(argv[a], "-d"))
			continue;
		if (!f)
			die(argv[a]);
		while (fgets(line, sizeof line, f)) {
			if (sscanf(line, "%*u %lx %c", &pc, &kind) != 2 || get(pc)->rep)
				continue;
			reads += kind == 'r' || kind == 'm';
			writes += kind == 'w' || kind == 'm';
		}
		fclose(f);
	}
	size = calloc(ninsn, sizeof *size);
	for (size_t i = 0; i < ninsn; i++) {
		const struct insn *x = &insn[i];

		if (x->rep && x->count) {
			reps += x->count;
			for (unsigned o = 0; o < x->zi.operand_count; o++) {
				if (x->op[o].type != ZYDIS_OPERAND_TYPE_MEMORY)
					continue;
				reads += x->op[o].actions & ZYDIS_OPERAND_ACTION_MASK_READ
						 ? x->count
						 : 0;
				writes += x->op[o].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
						  ? x->count
						  : 0;
			}
		}
		if (!x->leader)
			continue;
		blocks += x->count;
		size[distinct] = x->count;
		for (uint64_t pc = x->pc + x->zi.length; pc < top && at_address[pc - base]; ) {
			const struct insn *y = &insn[at_address[pc - base] - 1];

			if (y->leader || !y->count)
				break;
			size[distinct] += y->count;
			pc += y->zi.length;
		}
		distinct++;
	}
	qsort(size, distinct, sizeof *size, down);
	while (sum * 10 < total * 9)
		sum += size[k++];
	printf("instructions %lu\nblocks %lu\nblocks_distinct %zu\nblocks_cover_90 %lu\nreads "
	       "%lu\nwrites %lu\n"
	       "rep_instructions %lu\n",
	       total, blocks, distinct, k, reads, writes, reps);
	fflush(stdout);
	_exit(0);			/* all memory is needed to the end: no leak to be told of */
}
