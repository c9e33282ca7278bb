/* SPDX-License-Identifier: MIT */
/* profile_names.c - functions, lines and disassembly of what ran; and what ran most */
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "analyse/profile_work.h"
#include "elf/symbols.h"
#include "isa/x86/disasm.h"

static struct pm_elf *elf_of(struct pm_profile *p, uint32_t object)
{
	struct pm_profile_object *o = &p->object[object];
	struct pm_profile_work *w = p->work;
	struct pm_err err = { 0 };

	if (!w->tried)
		w->tried = pm_alloc(p->nobject * sizeof *w->tried);
	if (!w->tried[object]) {
		w->tried[object] = true;
		if (o->path[0] == '/')
			o->elf = pm_elf_open(o->path, o->build_id, &err);
		else if (!strcmp(o->path, "[vdso]") && !w->isa[object])
			o->elf = pm_elf_open_vdso(o->build_id);
	}
	return o->elf;
}

static const char *unknown_name(struct pm_profile *p, uint32_t object)
{
	const char *path = p->object[object].path, *base = strrchr(path, '/');
	char *s;

	if (path[0] == '[')
		return path;
	base = base ? base + 1 : path;
	s = pm_arena_alloc(&p->mem, strlen(base) + 3);
	s[0] = '[';
	strcpy(s + 1, base);
	strcat(s, "]");
	return s;
}

struct function_finder {		/* the functions of one object, by ascending address */
	struct pm_elf *elf;
	uint32_t object, unknown;	/* index of the row of code without a name */
	struct pm_map seen;		/* lo -> function + 1 */
	uint64_t lo, hi;		/* the last answer */
	uint32_t last;
};

static uint32_t new_function(struct pm_profile *p, const char *linkage, uint32_t object,
			     uint64_t lo)
{
	pm_grow(p->function, p->nfunction, p->work->cap_function);
	p->function[p->nfunction] = (struct pm_profile_function){
		.linkage = linkage, .object = object, .lo = lo,
	};
	return (uint32_t)p->nfunction++;
}

static uint32_t find_function(struct pm_profile *p, struct function_finder *f, uint64_t addr)
{
	struct pm_elf_function e;

	if (addr >= f->lo && addr < f->hi)
		return f->last;
	if (f->elf && pm_elf_function_at(f->elf, addr, &e)) {
		uint64_t *at = pm_map_put(&f->seen, e.lo, NULL);

		if (!*at)
			*at = new_function(p, e.name, f->object, e.lo) + 1;
		f->last = (uint32_t)*at - 1;
		f->lo = addr;
		f->hi = e.hi;
		return f->last;
	}
	if (f->unknown == PM_NONE)
		f->unknown = new_function(p, unknown_name(p, f->object), f->object, 0);
	f->last = f->unknown;
	f->lo = f->elf ? addr : 0;
	f->hi = f->elf ? e.hi : UINT64_MAX;
	return f->last;
}

static void begin_run(struct pm_profile_work *w, uint32_t block, uint32_t pos, uint32_t function)
{
	if (w->nrun && w->run[w->nrun - 1].function == function)
		return;
	pm_grow(w->run, w->nrun, w->cap_run);
	w->run[w->nrun++] = (struct profile_run){ block, pos, function };
}

/* A block that runs on into the next function without a jump: its instructions are shared out. */
static void split_block(struct pm_profile *p, struct function_finder *f, uint32_t index, uint32_t n)
{
	struct pm_profile_insn *v = pm_alloc(n * sizeof *v);

	pm_profile_insns(p, index, v);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t now = find_function(p, f, v[i].addr);

		begin_run(p->work, index, i, now);
		p->function[now].insns += v[i].count;
	}
	free(v);
}

static int by_share(const void *a, const void *b)
{
	const struct pm_profile_share *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

void pm_profile_functions(struct pm_profile *p)
{
	struct function_finder f = { .object = PM_NONE };

	if (p->function || !p->nblock)
		return;
	for (size_t i = 0; i < p->nblock; i++) {
		const struct pm_profile_block b = pm_profile_block(p, i);
		uint32_t function;

		if (b.object != f.object) {
			pm_map_release(&f.seen);
			f = (struct function_finder){ .elf = elf_of(p, b.object),
						      .object = b.object,
						      .unknown = PM_NONE };
		}
		function = find_function(p, &f, b.addr);
		begin_run(p->work, (uint32_t)i, 0, function);
		if (b.addr + b.size <= f.hi)
			p->function[function].insns += b.insns;
		else
			split_block(p, &f, (uint32_t)i, b.n);
	}
	pm_map_release(&f.seen);
}

void pm_profile_shares(struct pm_profile *p)
{
	uint64_t *by;

	if (p->shared)
		return;
	p->shared = true;
	by = pm_alloc(p->nfunction * sizeof *by);
	for (size_t i = 0; i < p->nprocess; i++) {
		struct pm_profile_process *pr = &p->process[i];
		struct pm_profile_sum ignored = { 0 };

		if (p->nprocess == 1)
			for (size_t k = 0; k < p->nfunction; k++)
				by[k] = p->function[k].insns;
		else
			pm_profile_view(p, i, ALL_THREADS, &ignored, by);
		for (size_t k = 0; k < p->nfunction; k++)
			pr->nshare += by[k] > 0;
		pr->share = pm_alloc(pr->nshare * sizeof *pr->share);
		pr->nshare = 0;
		for (size_t k = 0; k < p->nfunction; k++) {
			if (by[k])
				pr->share[pr->nshare++] =
					(struct pm_profile_share){ (uint32_t)k, by[k] };
			by[k] = 0;
		}
		qsort(pr->share, pr->nshare, sizeof *pr->share, by_share);
	}
	free(by);
}

const char *pm_profile_name(struct pm_profile *p, uint32_t function)
{
	struct pm_profile_function *f = &p->function[function];

	if (!f->name) {
		struct pm_elf *e = p->object[f->object].elf;
		const char *s = e ? pm_elf_demangle(e, f->linkage) : f->linkage;

		f->name = s == f->linkage ? s : pm_arena_strdup(&p->mem, s);
	}
	return f->name;
}

const char *pm_profile_function_at(struct pm_profile *p, uint32_t object, uint64_t addr)
{
	struct pm_elf *e = elf_of(p, object);
	struct pm_elf_function f;

	return e && pm_elf_function_at(e, addr, &f) ? pm_elf_demangle(e, f.name) : NULL;
}

struct ranked_row {
	uint64_t insns;
	uint32_t index;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked_row *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static uint64_t function_insns(const struct pm_profile *p, size_t i)
{
	return p->function[i].insns;
}

static uint64_t object_insns(const struct pm_profile *p, size_t i)
{
	return p->object[i].insns;
}

/* The @max largest of @n (0: all), into *@order. Of few, all below the smallest of the best so far
 * are passed over. */
static size_t top(const struct pm_profile *p, uint64_t (*insns)(const struct pm_profile *, size_t),
		  size_t n, size_t max, uint32_t **order)
{
	struct ranked_row *v;
	size_t k = 0;
	bool few;

	if (!max || max > n)
		max = n;
	few = max <= 64;
	v = pm_alloc_unset((few ? max : n) * sizeof *v);
	for (size_t i = 0; i < n && max; i++) {
		struct ranked_row r = { insns(p, i), (uint32_t)i };
		size_t at = k;

		if (!few) {
			v[k++] = r;
			continue;
		}
		if (k == max && by_rank(&r, &v[k - 1]) > 0)
			continue;
		if (k == max)
			at--;
		else
			k++;
		while (at && by_rank(&r, &v[at - 1]) < 0) {
			v[at] = v[at - 1];
			at--;
		}
		v[at] = r;
	}
	if (!few)
		qsort(v, n, sizeof *v, by_rank);
	*order = pm_alloc(max * sizeof **order);
	for (size_t i = 0; i < max; i++)
		(*order)[i] = v[i].index;
	free(v);
	return max;
}

size_t pm_profile_top_functions(const struct pm_profile *p, size_t max, uint32_t **order)
{
	return top(p, function_insns, p->nfunction, max, order);
}

size_t pm_profile_top_objects(const struct pm_profile *p, uint32_t **order)
{
	return top(p, object_insns, p->nobject, 0, order);
}

size_t pm_profile_top_blocks(const struct pm_profile *p, size_t max, uint32_t **order)
{
	return top(p, block_insns, p->nblock, max, order);
}

bool pm_profile_line(struct pm_profile *p, uint32_t object, uint64_t addr, bool patient,
		     const char **file, unsigned *line)
{
	struct pm_elf *e = elf_of(p, object);

	return e && (patient || !pm_elf_lines_are_slow(e)) && pm_elf_line_at(e, addr, file, line);
}

bool pm_profile_has_lines(struct pm_profile *p, uint32_t object)
{
	struct pm_elf *e = elf_of(p, object);

	return e && pm_elf_has_lines(e);
}

bool pm_profile_i386(const struct pm_profile *p, uint32_t object)
{
	return p->work->isa[object];
}

unsigned pm_profile_disasm(struct pm_profile *p, const struct pm_profile_block *b, uint32_t off,
			   enum pm_syntax syntax, char *buf, size_t size)
{
	struct pm_elf_function f;
	struct pm_form m;
	uint64_t target;
	struct pm_elf *e;
	unsigned len;
	size_t n;

	if (off >= b->size)
		return 1;
	len = x86_text(b->bytes + off, b->size - off, b->addr + off, p->work->isa[b->object],
		       syntax == PM_SYNTAX_INTEL, buf, size);
	m = *pm_form_at(forms_of(p, b->object), b->bytes + off, b->size - off);
	target = pm_form_target(&m, b->bytes + off, b->addr + off);
	e = target ? elf_of(p, b->object) : NULL;
	n = strlen(buf);
	if (e && n < size && pm_elf_function_at(e, target, &f)) {
		if (target == f.lo)
			snprintf(buf + n, size - n, " <%s>", f.name);
		else
			snprintf(buf + n, size - n, " <%s+0x%llx>", f.name,
				 (unsigned long long)(target - f.lo));
	}
	return len;
}
