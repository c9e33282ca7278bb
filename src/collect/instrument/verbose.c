/* SPDX-License-Identifier: MIT */
/* verbose.c - what `pugmark instrument --verbose` prints: where functions, tables, buffers are */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/printable.h"
#include "collect/instrument/job.h"
#include "elf/symbols.h"

struct symbol_at {
	uint64_t address;		/* original, in memory */
	const char *name;
};

struct symbol_list {
	const struct program_text *text;
	uint64_t bias;
	struct symbol_at *v;
	size_t n, cap;			/* a name may come twice, from two symbol tables */
};

static void add_function(void *arg, const char *name, uint64_t lo)
{
	struct symbol_list *f = arg;

	if (lo + f->bias < f->text->lo || lo + f->bias >= f->text->hi)
		return;
	pm_grow(f->v, f->n, f->cap);
	f->v[f->n++] = (struct symbol_at){ lo + f->bias, name };
}

static int by_address(const void *a, const void *b)
{
	const struct symbol_at *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The block that begins at @address; NULL: none does. */
static const struct img_block *block_at(const struct program_text *t, uint64_t address)
{
	const size_t lo = pm_lower_bound(t->image.block, t->image.nblock, .pc, address - t->lo);

	return lo < t->image.nblock && t->lo + t->image.block[lo].pc == address
		       ? &t->image.block[lo] : NULL;
}

static void print_functions(const struct job *j, const struct program_text *t, FILE *to)
{
	struct symbol_list f = { .text = t, .bias = j->file[t->file].bias };
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(j->file[t->file].path, NULL, &err);
	char name[256];

	if (!e)
		return;
	pm_elf_each_function(e, add_function, &f);
	if (f.n)
		qsort(f.v, f.n, sizeof *f.v, by_address);
	for (size_t i = 0; i < f.n; i++) {
		const struct img_block *b = block_at(t, f.v[i].address);

		if (i && !by_address(&f.v[i], &f.v[i - 1]))
			continue;
		if (b)
			fprintf(to, "  function  0x%" PRIx64 " -> 0x%" PRIx64 "  %s\n",
				f.v[i].address, t->code + b->code,
				pm_printable(f.v[i].name, name, sizeof name));
	}
	free(f.v);
	pm_elf_close(e);
}

void print_text(const struct job *j, const struct program_text *t, const struct img_text *place)
{
	FILE *v = j->o->verbose;
	char path[1024];

	fprintf(v, "%s\n  text  0x%" PRIx64 "-0x%" PRIx64 "\n"
		"  code  0x%" PRIx64 ", %zu bytes (%.2f x)\n"
		"  %zu blocks from number %u, map %zu bytes, %zu entries, %zu exits, "
		"%" PRIu64 " unknown\n",
		pm_printable(j->file[t->file].path, path, sizeof path), t->lo, t->hi, t->code,
		t->image.code.n, (double)t->image.code.n / (double)t->bytes, t->image.nblock,
		t->image.first, t->image.map.n, t->image.nentry, t->image.nlink, t->image.unknown);
	fprintf(v, "  tables  0x%" PRIx64 ", %" PRIu64 " bytes; packed at 0x%" PRIx64 ", %" PRIu64
		" bytes\n", place->tables, place->tables_len, place->packed, place->packed_len);
	print_functions(j, t, v);
}

void print_process(const struct job *j, const struct img_manifest *m)
{
	FILE *v = j->o->verbose;

	fprintf(v, "process\n  manifest  0x%" PRIx64 ", start-up stub  0x%" PRIx64 "\n",
		(uint64_t)(j->i386 ? IMG32_MANIFEST : IMG_MANIFEST), m->stub);
	if (j->i386)
		fprintf(v, "  thread blocks  0x%" PRIx64 " bytes each: trace buffer at +0x%" PRIx64
			", %u bytes; %" PRIu64 " counters at +0x%" PRIx64 "\n",
			m->block_size, (uint64_t)RT32_TRACE, RT32_CHUNK, m->counters,
			(uint64_t)IMG32_COUNTERS);
	else
		fprintf(v, "  thread blocks  from 0x%" PRIx64 ", 0x%" PRIx64
			" bytes each: %u trace buffers from +0x%" PRIx64 ", %u bytes each; "
			"counters at +0x%" PRIx64 "\n",
			(uint64_t)(RT_DATA_VAULT + RT_BLOCK_SIZE), (uint64_t)RT_BLOCK_SIZE,
			RT_CHUNKS, (uint64_t)RT_TRACE, RT_CHUNK, (uint64_t)RT_COUNTERS);
}
