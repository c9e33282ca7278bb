/* SPDX-License-Identifier: MIT */
/* tree_functions.c - which function an instruction belongs to, while a trace runs; and its name */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/perf_map.h"
#include "analyse/tree_work.h"
#include "base/string_table.h"
#include "elf/symbols.h"

static uint32_t add(struct tree_functions *f, struct pm_tree *t, const struct pm_tree_function *fn,
		    struct tree_info info)
{
	const uint32_t n = pm_tree_add_function(t, fn);

	if (n >= f->cap_info) {
		f->cap_info = 2 * (size_t)n + 64;
		f->info = pm_realloc(f->info, f->cap_info * sizeof *f->info);
	}
	f->info[n] = info;
	return n;
}

uint32_t tree_named(struct tree_functions *f, struct pm_tree *t, const char *name, uint8_t flags)
{
	const char *copy = pm_arena_strdup(&t->mem, name);

	return add(f, t, &(struct pm_tree_function){ .name = copy, .linkage = copy },
		   (struct tree_info){ flags, PM_NONE, 0 });
}

/* Streams that have a name of their own are called that. */
uint32_t tree_root_of(struct tree_sink *s, const struct pm_stream *stream)
{
	char name[300];

	if (!s->by_thread)
		return 0;
	if (stream && stream->name && *stream->name)
		snprintf(name, sizeof name, "%.250s %u", stream->name, stream->tid);
	else
		snprintf(name, sizeof name, "thread %u", stream && stream->tid ? stream->tid :
			 stream ? stream->index : 0);
	return pm_tree_child(&s->raw, 0, tree_named(&s->functions, &s->raw, name, 0));
}

void tree_functions_init(struct tree_functions *f, struct pm_tree *t)
{
	f->cap_info = 64;
	f->info = pm_alloc(f->cap_info * sizeof *f->info);
	f->info[0] = f->info[PM_TREE_OTHERS] = (struct tree_info){ 0, PM_NONE, 0 };
	tree_named(f, t, "[generated]", TREE_MADE);	/* TREE_GENERATED */
}

static uint32_t object_of(struct tree_functions *f, const struct pm_object *o)
{
	for (size_t i = 0; i < f->nobject; i++) {
		const struct tree_object *x = f->object + i;

		if (!strcmp(x->path, o->path) && !x->build_id == !o->build_id &&
		    (!o->build_id || !strcmp(x->build_id, o->build_id)))
			return (uint32_t)i;
	}
	pm_grow(f->object, f->nobject, f->cap_object);
	f->object[f->nobject] = (struct tree_object){ .path = pm_strdup(o->path),
		.build_id = o->build_id ? pm_strdup(o->build_id) : NULL };
	return (uint32_t)f->nobject++;
}

static struct pm_elf *elf_of(struct tree_object *o)
{
	struct pm_err err = { 0 };

	if (o->tried)
		return o->elf;
	o->tried = true;
	if (*o->path == '/')
		o->elf = pm_elf_open(o->path, o->build_id, &err);
	else if (!strcmp(o->path, "[vdso]"))
		o->elf = pm_elf_open_vdso(o->build_id);
	return o->elf;
}

static bool ends_in(const char *s, const char *end)
{
	const size_t n = strlen(s), k = strlen(end);

	return n > k && !strcmp(s + n - k, end);
}

static uint8_t flags_of(const struct pm_elf_function *e)
{
	static const char *const setjmps[] = { "setjmp", "_setjmp", "__sigsetjmp", "sigsetjmp",
					       "__setjmp", NULL };

	for (size_t i = 0; setjmps[i]; i++)
		if (!strcmp(e->name, setjmps[i]))
			return TREE_SETJMP;
	if (!strcmp(e->name, "_Unwind_Resume"))
		return TREE_UNWINDS;
	if (!strncmp(e->name, "_dl_runtime_resolve", 19))
		return TREE_STUB | TREE_RESOLVES;
	return e->kind == PM_NAME_PLT || ends_in(e->name, "@plt") ? TREE_STUB :
		strstr(e->name, ".cold") ? TREE_PART : 0;
}

static uint32_t unknown_of(struct tree_functions *f, struct pm_tree *t, uint32_t object)
{
	struct tree_object *o = f->object + object;
	const char *slash = strrchr(o->path, '/');
	struct pm_tree_function fn = { .object = o->path, .build_id = o->build_id };
	struct pm_buf name = { 0 };

	if (o->unknown)
		return o->unknown;
	pm_buf_printf(&name, *o->path == '[' ? "%s" : "[%s]", slash ? slash + 1 : o->path);
	pm_buf_add(&name, "", 1);
	fn.name = fn.linkage = pm_arena_strdup(&t->mem, (char *)name.p);
	pm_buf_release(&name);
	return o->unknown = add(f, t, &fn, (struct tree_info){ TREE_UNKNOWN, object, 0 });
}

/* In the file of @object. */
static struct tree_place in_object(struct tree_functions *f, struct pm_tree *t, uint32_t object,
				   uint64_t addr, uint64_t *hi)
{
	struct tree_object *o = f->object + object;
	struct pm_elf *elf = elf_of(o);
	struct pm_elf_function e;
	uint64_t *at;
	bool fresh;

	if (!elf || !pm_elf_function_at(elf, addr, &e)) {
		*hi = elf ? e.hi : UINT64_MAX;
		return (struct tree_place){ unknown_of(f, t, object), false };
	}
	at = pm_map_put(&o->seen, e.lo, &fresh);
	if (fresh)
		*at = add(f, t, &(struct pm_tree_function){ .linkage = e.name, .object = o->path,
				.build_id = o->build_id, .lo = e.lo },
			  (struct tree_info){ flags_of(&e), object, 0 });
	*hi = e.hi;
	return (struct tree_place){ (uint32_t)*at,
		addr == e.lo || f->info[*at].flags & TREE_PART };
}

struct tree_place tree_function_of(struct tree_functions *f, struct pm_tree *t,
				   struct tree_code *c, const struct pm_insn *in, uint64_t *hi)
{
	const struct pm_object *o = in->object < c->code->nobject ?
		c->code->object + in->object : NULL;
	struct tree_place p;
	uint64_t end;

	if (hi)
		*hi = UINT64_MAX;
	if (!o || !o->path || !strcmp(o->path, "[anon]"))
		return (struct tree_place){ TREE_GENERATED, true };
	if (in->object >= c->nobject) {
		c->object = pm_realloc(c->object, c->code->nobject * sizeof *c->object);
		for (; c->nobject < c->code->nobject; c->nobject++)
			c->object[c->nobject] = c->code->object[c->nobject].path ?
				object_of(f, c->code->object + c->nobject) : PM_NONE;
	}
	p = in_object(f, t, c->object[in->object], in->pc - o->base, &end);
	if (hi && end != UINT64_MAX)
		*hi = end + o->base;
	return p;
}

size_t tree_functions_rows(struct tree_functions *f, struct pm_tree *t, const char *path,
			   uint64_t lo, uint64_t hi, struct pm_growing_row **v)
{
	const uint32_t object = object_of(f, &(struct pm_object){ .path = path });
	size_t n = 0, cap = 0;

	*v = NULL;
	for (uint64_t at = lo, end; at < hi; at = end) {
		struct tree_place p = in_object(f, t, object, at, &end);
		const uint64_t begin = t->function[p.function].lo;

		pm_grow(*v, n, cap);
		(*v)[n++] = (struct pm_growing_row){
			at, f->info[p.function].flags & TREE_UNKNOWN ? UINT64_MAX : begin,
			p.function };
		if (end <= at)
			break;
	}
	return n;
}

uint32_t tree_generated(struct tree_functions *f, struct pm_tree *t, struct tree_code *c,
			uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&c->generated, pc, &fresh);

	if (fresh)
		*at = add(f, t, &(struct pm_tree_function){ .name = "[generated]",
				.linkage = "[generated]", .lo = pc },
			  (struct tree_info){ c->code ? TREE_MADE : TREE_MADE | TREE_BARE, PM_NONE,
					      c->pid });
	return (uint32_t)*at;
}

/* ---- names ----------------------------------------------------------------------------------- */
struct tree_maps {			/* of the processes that made code */
	struct { uint32_t pid; struct pm_perf_map map; } *v;
	size_t n, cap;
	struct pm_string_table names;
	uint32_t *function;		/* by number of its name */
	size_t cap_function;
};

static const char *made_name(struct tree_maps *m, uint32_t pid, uint64_t pc)
{
	size_t i = 0;

	while (i < m->n && m->v[i].pid != pid)
		i++;
	if (i == m->n) {
		pm_grow(m->v, m->n, m->cap);
		m->v[m->n].pid = pid;
		pm_perf_map_read(&m->v[m->n++].map, pid);
	}
	return pm_perf_map_name(&m->v[i].map, pc);
}

/* Function @i of @raw as one of @to, which has it already if it is called the same. */
static uint32_t name_made(struct tree_functions *f, const struct pm_tree *raw, uint32_t i,
			  struct pm_tree *to, struct tree_maps *maps, bool *folds)
{
	const uint64_t pc = raw->function[i].lo;
	const char *name = made_name(maps, f->info[i].pid, pc);
	struct pm_tree_function fn = { .lo = name ? pc : 0 };
	char hex[32];
	uint32_t k, at, known;

	if (!name && f->info[i].flags & TREE_BARE) {
		snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)pc);
		name = hex;
		fn.lo = pc;
	}
	if (!name)
		name = "[generated]";
	known = maps->names.n;
	at = pm_string_add(&maps->names, name);
	if (at < known)
		return maps->function[at];
	fn.name = fn.linkage = pm_arena_strdup(&to->mem, name);
	k = pm_tree_add_function(to, &fn);
	pm_grow(maps->function, at, maps->cap_function);
	maps->function[at] = k;
	folds[k] = !fn.lo;
	return k;
}

static uint32_t name_function(struct tree_functions *f, const struct pm_tree *raw, uint32_t i,
			      bool lines, struct pm_tree *to, bool *folds)
{
	const uint32_t object = f->info[i].object;
	struct pm_tree_function fn = raw->function[i];
	struct pm_elf *elf = object != PM_NONE ? f->object[object].elf : NULL;
	uint32_t k;

	if (!fn.name)
		fn.name = elf ? pm_elf_demangle(elf, fn.linkage) : fn.linkage;
	fn.name = pm_arena_strdup(&to->mem, fn.name);
	fn.linkage = pm_arena_strdup(&to->mem, fn.linkage);
	if (fn.object)
		fn.object = pm_arena_strdup(&to->mem, fn.object);
	if (fn.build_id)
		fn.build_id = pm_arena_strdup(&to->mem, fn.build_id);
	if (!lines || !elf || !pm_elf_line_at(elf, fn.lo, &fn.file, &fn.line))
		fn.file = NULL;
	if (fn.file)
		fn.file = pm_arena_strdup(&to->mem, fn.file);
	k = pm_tree_add_function(to, &fn);
	folds[k] = object != PM_NONE && f->info[i].flags & TREE_UNKNOWN;
	return k;
}

void tree_functions_name(struct tree_functions *f, struct pm_tree *raw, bool lines,
			 bool recursion, struct pm_tree *to)
{
	uint32_t *of = pm_alloc(raw->nfunction * sizeof *of);
	bool *folds = pm_alloc((raw->nfunction + 2) * sizeof *folds);
	struct tree_maps maps = { 0 };

	pm_tree_init(to, UINT32_MAX, UINT32_MAX);
	of[PM_TREE_OTHERS] = PM_TREE_OTHERS;
	for (uint32_t i = TREE_GENERATED; i < raw->nfunction; i++)
		of[i] = f->info[i].flags & TREE_MADE ?
			name_made(f, raw, i, to, &maps, folds) :
			name_function(f, raw, i, lines, to, folds);
	pm_tree_rename(raw, to, of, folds, recursion);
	for (size_t i = 0; i < maps.n; i++)
		pm_perf_map_release(&maps.v[i].map);
	free(maps.v);
	pm_string_table_release(&maps.names);
	free(maps.function);
	free(of);
	free(folds);
}

void tree_functions_release(struct tree_functions *f)
{
	for (size_t i = 0; i < f->nobject; i++) {
		free(f->object[i].path);
		free(f->object[i].build_id);
		pm_elf_close(f->object[i].elf);
		pm_map_release(&f->object[i].seen);
	}
	free(f->object);
	free(f->info);
	*f = (struct tree_functions){ 0 };
}
