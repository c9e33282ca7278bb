/* SPDX-License-Identifier: MIT */
/* branch_fdata.c - a branch profile by functions and offsets, as `perf2bolt` makes it from
 * branches and ranges
 *
 * NAMES. A function is what a symbol of type FUNC begins; BOLT calls it by its first symbol. Local
 * symbols get a number behind a slash, by address, because several may have one name. Entries of
 * the linkage table are functions, too, NAME@PLT.
 *
 * EDGES. Returns from functions that are known are left out. Where a range runs from one of BOLT's
 * blocks into the next there is a line from the last instruction of the one to the other. Blocks
 * begin at targets of direct jumps of the function, executed or not, at what relocations of data
 * name (jump tables), and behind jumps, but not at a jump behind a conditional one if both stay in
 * the function. Blocks that begin because an exception is caught there are not known here. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_file.h"
#include "base/bound.h"
#include "base/mix.h"
#include "elf/link_view.h"
#include "isa/x86/decode.h"

struct fdata_function {
	const char *name;
	uint64_t lo, hi;
};

struct fdata_block {			/* BOLT's: where it begins, and its last instruction */
	uint64_t lo, last;
	bool calls;			/* that is a call */
};

struct fdata {
	struct pm_elf *elf;
	struct pm_branch_file *f;
	struct fdata_function *function;	/* by address */
	size_t n, cap;
	uint64_t *pointer;		/* pm_elf_code_pointers() */
	size_t npointer;
	struct x86_decoder *dec;
	/* the blocks of one function */
	const struct fdata_function *at;
	struct fdata_block *block;
	size_t nblock, cap_block;
	uint64_t *leader;
	size_t nleader, cap_leader;
};

#define PLT_ENTRY 16			/* bytes */

/* ---- functions ------------------------------------------------------------------------------- */
static void add_function(struct fdata *x, const char *name, uint64_t lo, uint64_t hi)
{
	pm_grow(x->function, x->n, x->cap);
	x->function[x->n++] = (struct fdata_function){ name, lo, hi };
}

static void add_stub(void *arg, const char *name, uint64_t lo)
{
	struct fdata *x = arg;
	const size_t n = strlen(name);
	char *s;

	if (n < 5 || strcmp(name + n - 4, "@plt"))
		return;
	s = pm_arena_alloc(&x->f->mem, n + 1);
	memcpy(s, name, n - 3);
	memcpy(s + n - 3, "PLT", 3);
	add_function(x, s, lo, lo + PLT_ENTRY);
}

static int by_lo(const void *a, const void *b)
{
	const struct fdata_function *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* False: there is no symbol. */
static bool read_functions(struct fdata *x)
{
	struct pm_map seen = { 0 };		/* local names, by their hashes: how many so far */
	struct pm_elf_symbol *v;
	const size_t n = pm_elf_symbols(x->elf, &v);
	uint64_t end = 0, lo, hi;

	for (size_t i = 0; i < n; i++) {
		const char *name = v[i].name;
		uint64_t number = 0, next = v[i].limit;

		if (v[i].local)
			number = ++*pm_map_put(&seen, pm_mix(name, strlen(name), 0), NULL);
		if (!v[i].code || v[i].lo < end || (!v[i].function && v[i].local))
			continue;
		if (number) {
			char *s = pm_arena_alloc(&x->f->mem, strlen(name) + 24);

			sprintf(s, "%s/%llu", name, (unsigned long long)number);
			name = s;
		} else {
			name = pm_arena_strdup(&x->f->mem, name);
		}
		/* of unknown size: up to the next, or the section's end */
		for (size_t k = i + 1; k < n && v[k].lo < next; k++)
			if (v[k].lo > v[i].lo && v[k].code)
				next = v[k].lo;
		end = v[i].size ? v[i].lo + v[i].size : next;
		add_function(x, name, v[i].lo, end);
	}
	if (pm_elf_section(x->elf, ".plt", &lo, &hi))
		add_function(x, "__BOLT_PSEUDO_.plt", lo, hi);
	if (pm_elf_section(x->elf, ".dynsym", &lo, &hi))
		pm_elf_each_function(x->elf, add_stub, x);
	if (x->n)
		qsort(x->function, x->n, sizeof *x->function, by_lo);
	pm_map_release(&seen);
	free(v);
	return n;
}

static const struct fdata_function *function_at(const struct fdata *x, uint64_t addr)
{
	const size_t lo = pm_upper_bound(x->function, x->n, .lo, addr);

	return lo && addr < x->function[lo - 1].hi ? &x->function[lo - 1] : NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */
static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_inside(const struct fdata_function *f, uint64_t addr)
{
	return addr >= f->lo && addr < f->hi;
}

static void add_leader(struct fdata *x, uint64_t addr)
{
	if (!is_inside(x->at, addr))
		return;
	pm_grow(x->leader, x->nleader, x->cap_leader);
	x->leader[x->nleader++] = addr;
}

static bool is_leader(const struct fdata *x, uint64_t addr)
{
	return x->nleader &&
	       bsearch(&addr, x->leader, x->nleader, sizeof *x->leader, by_address);
}

/* The instruction at @pc of the function; *@p: its bytes. */
static bool decode(const struct fdata *x, uint64_t pc, struct x86_insn *i, const uint8_t **p)
{
	size_t n;

	*p = pm_elf_code_at(x->elf, pc, &n);
	if (n > x->at->hi - pc)
		n = x->at->hi - pc;
	return *p && x86_decode(x->dec, *p, n, i);
}

static void find_leaders(struct fdata *x)
{
	const uint8_t *p;
	struct x86_insn i;
	size_t lo = pm_lower_bound(x->pointer, x->npointer, , x->at->lo);

	x->nleader = 0;
	for (uint64_t pc = x->at->lo; pc < x->at->hi && decode(x, pc, &i, &p); pc += i.len)
		if (i.kind == X86_JMP || i.kind == X86_JCC || i.kind == X86_JCX ||
		    i.kind == X86_XBEGIN)
			add_leader(x, x86_target(&i, p, pc));
	for (; lo < x->npointer && x->pointer[lo] < x->at->hi; lo++)
		add_leader(x, x->pointer[lo]);
	if (x->nleader)
		qsort(x->leader, x->nleader, sizeof *x->leader, by_address);
}

static void find_blocks(struct fdata *x, const struct fdata_function *at)
{
	bool ended = true, conditional = false;
	const uint8_t *p;
	struct x86_insn i;

	if (x->at == at)
		return;
	x->at = at;
	x->nblock = 0;
	find_leaders(x);
	for (uint64_t pc = at->lo; pc < at->hi && decode(x, pc, &i, &p); pc += i.len) {
		const bool leads = is_leader(x, pc);

		if (leads || (ended && !(conditional && i.kind == X86_JMP &&
					 is_inside(at, x86_target(&i, p, pc))))) {
			pm_grow(x->block, x->nblock, x->cap_block);
			x->block[x->nblock++] = (struct fdata_block){ pc, pc, false };
		}
		x->block[x->nblock - 1].last = pc;
		x->block[x->nblock - 1].calls = i.kind == X86_CALL || i.kind == X86_CALL_IND;
		ended = i.kind == X86_JCC || i.kind == X86_JCX;
		conditional = ended && is_inside(at, x86_target(&i, p, pc));
		ended |= i.kind == X86_JMP || i.kind == X86_JMP_IND ||
			 i.kind == X86_RET || i.kind == X86_STOP;
	}
}

static size_t block_at(const struct fdata *x, uint64_t addr)
{
	return pm_upper_bound(x->block, x->nblock, .lo, addr);	/* 1 + index; 0: none */
}

/* ---- lines ----------------------------------------------------------------------------------- */
static void add_line(struct fdata *x, const struct fdata_function *from, uint64_t at,
		     const struct fdata_function *to, uint64_t goes, uint64_t count,
		     uint64_t missed)
{
	pm_branch_file_put(x->f, (struct pm_branch_line){
		PM_LINE_BRANCH, from ? from->name : NULL, to ? to->name : NULL,
		from ? at - from->lo : 0, to ? goes - to->lo : 0, count, missed,
	});
}

static void add_range(struct fdata *x, const struct pm_branch_range *r)
{
	const struct fdata_function *at = function_at(x, r->lo);
	size_t from, to;

	if (!at || r->hi >= at->hi)
		return;
	find_blocks(x, at);
	from = block_at(x, r->lo);
	to = block_at(x, r->hi);
	if (!from || !to)
		return;
	if (r->returned && from > 1 && x->block[from - 1].lo == r->lo && x->block[from - 2].calls)
		from--;
	for (; from < to; from++)
		add_line(x, at, x->block[from - 1].last, at, x->block[from].lo, r->count, 0);
}

enum pm_status pm_branch_file_fdata(const struct pm_branch_object *o, struct pm_elf *e,
				    struct pm_branch_file *f, struct pm_err *err)
{
	struct fdata x = { .elf = e, .f = f };

	err->file = o->path;
	if (pm_elf_machine_of(x.elf) != EM_X86_64)
		pm_fail_file(err, "BOLT reads 64-bit x86 files only");
	else if (!read_functions(&x))
		pm_fail_file(err, "it has no symbols, and fdata names functions; --bolt needs "
				  "none");
	if (pm_failed(err))
		goto out;
	x.npointer = pm_elf_code_pointers(x.elf, &x.pointer);
	x.dec = x86_decoder_new(X86_MODE_64);
	for (size_t i = 0; i < o->nbranch; i++) {
		const struct pm_branch *b = &o->branch[i];
		const struct fdata_function *from = function_at(&x, b->from),
			*to = function_at(&x, b->to);

		if ((from || to) && !(from && b->returns))
			add_line(&x, from, b->from, to, b->to, b->count, b->missed);
	}
	for (size_t i = 0; i < o->nrange; i++)
		add_range(&x, &o->range[i]);
	pm_branch_file_sort(f);
out:
	x86_decoder_free(x.dec);
	free(x.function);
	free(x.pointer);
	free(x.block);
	free(x.leader);
	return pm_failed(err) ? PM_ERR : PM_OK;
}
