/* SPDX-License-Identifier: MIT */
/* kt.c - from an IDtrace execution trace to KT, as the formats' descriptions say it: the slow twin
 * of idt2kt
 *
 *   kt [-3] TRACE BLOCKS MODULES      -3: 32-bit files; the result goes to standard output
 *
 * Entry by entry and instruction by instruction, with nothing of pugmark's own: what an instruction
 * is follows from its opcode bytes here, its addresses from the entries that its block has for
 * it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned word = 8;

static uint8_t *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = NULL;

	if (!f) {
		perror(path);
		exit(1);
	}
	for (*n = 0; ; ) {
		size_t got;

		p = realloc(p, *n + (1 << 20));
		got = fread(p + *n, 1, 1 << 20, f);
		*n += got;
		if (!got)
			break;
	}
	fclose(f);
	return p;
}

static uint64_t get(const uint8_t *p)
{
	uint64_t v = 0;

	memcpy(&v, p, word);
	return v;
}

static void die(const char *what, size_t at)
{
	fprintf(stderr, "kt: %s at 0x%zx\n", what, at);
	exit(1);
}

/* ---- where instructions' bytes are ---------------------------------------------------------- */
static struct module {
	uint64_t record, lo, hi, offset;
	uint8_t *p;
	size_t n;
	char path[4096];
} *module;
static size_t nmodule;

static void read_modules(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[8192];

	while (f && fgets(line, sizeof line, f)) {
		struct module m = { 0 };
		unsigned long long lo, hi, off, rec = 0;
		int skip = 0, name = 0;

		if (*line == '#')
			continue;
		if (*line == '@')
			sscanf(line, "@%llx %n", &rec, &skip);
		if (sscanf(line + skip, "%llx-%llx %llx %*s %n", &lo, &hi, &off, &name) != 3)
			die("bad module line", nmodule);
		m.lo = lo, m.hi = hi, m.offset = off, m.record = rec;
		snprintf(m.path, sizeof m.path, "%s", line + skip + name);
		m.path[strcspn(m.path, "\n")] = 0;
		for (size_t i = 0; i < nmodule && !m.p; i++)
			if (!strcmp(module[i].path, m.path))
				m.p = module[i].p, m.n = module[i].n;
		if (!m.p)
			m.p = slurp(m.path, &m.n);
		module = realloc(module, (nmodule + 1) * sizeof *module);
		module[nmodule++] = m;
	}
}

static const uint8_t *bytes_at(uint64_t record, uint64_t pc)
{
	for (size_t i = nmodule; i--; )
		if (module[i].lo <= pc && pc < module[i].hi && module[i].record <= record)
			return module[i].p + module[i].offset + (pc - module[i].lo);
	return NULL;
}

/* ---- instructions --------------------------------------------------------------------------- */
enum kind { OTHER, TARGET, CALL, CALL_IND, RET, PUSH_MEMORY, POP_MEMORY, GATHER, TWO };

static enum kind kind_of(const uint8_t *p)
{
	unsigned op, reg;

	while (*p == 0x66 || *p == 0x67 || *p == 0xf2 || *p == 0xf3 || *p == 0xf0 || *p == 0x2e ||
	       *p == 0x36 || *p == 0x3e || *p == 0x26 || *p == 0x64 || *p == 0x65)
		p++;
	if (word == 8 && (*p & 0xf0) == 0x40)
		p++;
	if (((*p == 0xc4 && (p[1] & 31) == 2) || (*p == 0x62 && (p[1] & 7) == 2)) &&
	    (word == 8 || p[1] >> 6 == 3)) {
		op = *p == 0xc4 ? p[3] : p[4];
		return (op >= 0x90 && op <= 0x93) || (*p == 0x62 && op >= 0xa0 && op <= 0xa3)
			       ? GATHER
			       : OTHER;
	}
	op = *p;
	reg = p[1] >> 3 & 7;
	if (op == 0x0f)
		return (p[1] & 0xf0) == 0x80 ? TARGET : OTHER;
	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3) || op == 0xe9 || op == 0xea ||
	    op == 0xeb)
		return TARGET;
	if (op == 0xe8 || op == 0x9a)
		return CALL;
	if (op == 0xff)
		return reg == 2		      ? CALL_IND
		       : reg == 3	      ? CALL
		       : reg == 4 || reg == 5 ? TARGET
		       : reg == 6	      ? PUSH_MEMORY
					      : OTHER;
	if (op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb || op == 0xcf)
		return RET;
	return op == 0x8f ? POP_MEMORY : op >= 0xa4 && op <= 0xa7 ? TWO : OTHER;
}

static void put(uint64_t pc, const uint8_t *bytes, unsigned len, const uint64_t *ea, unsigned n)
{
	uint8_t rec[48] = { 0 };
	unsigned at = word + 1 + len;

	memcpy(rec, &pc, word);
	rec[word] = (uint8_t)(n << 4 | len);
	memcpy(rec + word + 1, bytes, len);
	while (at % word)
		at++;
	for (unsigned i = 0; i < n; i++, at += word)
		memcpy(rec + at, &ea[i], word);
	fwrite(rec, 1, at, stdout);
}

/* Where the records of the block table begin. */
static uint64_t *start;
static size_t nstart;

static void find_records(const uint8_t *blk, size_t n)
{
	const size_t pad = word - 1;

	for (size_t at = 4 * word; at + word + 4 <= n;
	     at += (word + 4 + 4 * (size_t)blk[at + word] + pad) & ~pad) {
		start = realloc(start, (nstart + 1) * sizeof *start);
		start[nstart++] = at;
	}
}

/* The record that @offset is in. */
static uint64_t record_with(uint64_t offset)
{
	size_t a = 0, z = nstart;

	while (z - a > 1) {
		const size_t mid = (a + z) / 2;

		if (start[mid] <= offset)
			a = mid;
		else
			z = mid;
	}
	return nstart ? start[a] : 0;
}

int main(int argc, char **argv)
{
	static const unsigned sizes[9] = { 0, 1, 2, 4, 8, 10, 16, 32, 64 };
	static uint8_t *trc, *blk;
	size_t ntrc, nblk, at = 0;

	if (argc > 1 && !strcmp(argv[1], "-3")) {
		word = 4;
		argv++;
		argc--;
	}
	if (argc != 4) {
		fprintf(stderr, "usage: kt [-3] TRACE BLOCKS MODULES\n");
		return 2;
	}
	trc = slurp(argv[1], &ntrc);
	blk = slurp(argv[2], &nblk);
	find_records(blk, nblk);
	read_modules(argv[3]);
	while (at < ntrc) {
		uint64_t offset, record, pc;
		const uint8_t *info;
		unsigned n, first;

		if (trc[at] != 0x80)
			die("no block begins", at);
		offset = get(trc + at + 1);
		at += 1 + word;
		if (offset & 1)			/* where a block has ended: seen below */
			continue;
		record = record_with(offset);
		if (record + word + 2 > nblk || offset < record)
			die("no such block", at);
		pc = get(blk + record);
		n = blk[record + word];
		info = blk + record + word + 2;
		first = (unsigned)(offset - record) / 4;	/* a handler came back there */
		for (unsigned i = 0; i < first; i++, info += 4)
			pc += info[2];
		for (unsigned i = first; i < n; i++, info += 4) {
			const unsigned len = info[2];
			const int entries = (int8_t)info[3];
			const uint8_t *bytes = bytes_at(record, pc);
			uint64_t target = 0, data[2] = { 0 }, ea[2] = { 0 }, end = 0;
			unsigned ndata = 0, tag = 0, was = 0, num = 0;
			enum kind kind;

			if (at < ntrc && trc[at] == 0x80 && get(trc + at + 1) == record + 4 * i + 1)
				break;		/* an exception */
			if (!bytes)
				die("no bytes for a block", at);
			kind = kind_of(bytes);
			/* a block that a signal or the trace's end cut short has fewer
			 * instructions */
			if (entries && (at >= ntrc || trc[at] == 0x80))
				break;
			if (entries < 0) {
				unsigned some = 0;

				while (at < ntrc && trc[at] != 0x50 && trc[at] != 0x80) {
					for (int k = 0; k < -entries; k++, at += 1 + word)
						ea[k] = get(trc + at + 1);
					put(pc, bytes, len, ea, (unsigned)-entries);
					some = 1;
				}
				if (at < ntrc && trc[at] == 0x50)
					at += 1 + word;
				if (!some)
					put(pc, bytes, len, ea, 0);
				pc += len;
				continue;
			}
			for (int k = 0; k < entries && at < ntrc; k++, at += 1 + word) {
				const uint64_t v = get(trc + at + 1);

				tag = trc[at];
				if (tag == 0x80)
					break;
				if (tag == 0x90) {
					target = v;
					continue;
				}
				/* further parts of a large operand, further elements: not addresses
				 * of their own */
				if (!(ndata && kind != TWO && kind != PUSH_MEMORY &&
				      kind != POP_MEMORY && tag >> 4 == was >> 4 && v == end) &&
				    !(ndata && kind == GATHER) && ndata < 2)
					data[ndata++] = v;
				was = tag;
				end = v + sizes[tag & 15];
			}
			switch (kind) {
			case TARGET:
				ea[num++] = target;
				break;
			case CALL:
				ea[num++] = target;
				ea[num++] = data[0];
				break;
			case CALL_IND:
				ea[num++] = data[0];
				ea[num++] = target;
				break;
			case PUSH_MEMORY:
				if (ndata == 2) {
					ea[num++] = data[1];
					ea[num++] = data[0];
					break;
				}
				/* fall through */
			case POP_MEMORY:	/* the operand's alone */
				if (kind == POP_MEMORY && ndata == 2) {
					ea[num++] = data[1];
					break;
				}
				/* fall through */
			default:
				for (unsigned k = 0; k < ndata; k++)
					ea[num++] = data[k];
			}
			put(pc, bytes, len, ea, num);
			pc += len;
		}
	}
	return 0;
}
