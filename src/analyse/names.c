/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/names.h"
#include "base/number.h"
#include "elf/elf.h"
#include "elf/symbols.h"
#include "trace/pipeline.h"

/* Its number. */
static size_t put_object(struct pm_names *s, const struct pm_object *o)
{
	for (size_t i = 0; i < s->n; i++) {	/* several code tables know the same libraries */
		struct pm_names_object *x = s->object + i;

		if (x->base == o->base && x->lo == o->lo && x->hi == o->hi &&
		    !x->path == !o->path && (!x->path || !strcmp(x->path, o->path)))
			return i;
	}
	pm_grow(s->object, s->n, s->cap);
	s->object[s->n++] = (struct pm_names_object){ .path = o->path ? pm_strdup(o->path) : NULL,
		.build_id = o->build_id ? pm_strdup(o->build_id) : NULL, .base = o->base,
		.lo = o->lo, .hi = o->hi };
	return s->n - 1;
}

void pm_names_put_object(struct pm_names *s, const struct pm_object *o)
{
	put_object(s, o);
}

void pm_names_learn(struct pm_names *s, const struct pm_code *code)
{
	unsigned t = 0;

	if (!code)
		return;
	while (t < s->ntable && s->table[t].code != code)
		t++;
	if (t == NR(s->table))
		return;			/* so many programs have no common names anyway */
	if (t == s->ntable) {
		s->ntable++;
		s->table[t].code = code;
		s->table[t].n = 0;
	}
	for (; s->table[t].n < code->nobject; s->table[t].n++)
		pm_names_put_object(s, code->object + s->table[t].n);
}

/* Where the segments of @o's file lie in memory. */
static enum pm_status extents(struct pm_names_object *o, struct pm_err *err)
{
	struct pm_elf_info info;
	enum pm_status st = pm_elf_check(o->path, &info, err);

	o->data_lo = UINT64_MAX;
	for (size_t i = 0; !st && i < info.nseg; i++) {
		uint64_t lo = o->base + info.seg[i].vaddr, hi = lo + info.seg[i].memsz;

		if (info.seg[i].type != PT_LOAD)
			continue;
		if (info.seg[i].flags & PF_X && o->lo == o->hi) {
			o->lo = lo;
			o->hi = hi;
		}
		o->data_lo = lo < o->data_lo ? lo : o->data_lo;
		o->data_hi = hi > o->data_hi ? hi : o->data_hi;
	}
	if (o->data_lo > o->data_hi)
		o->data_lo = o->data_hi;
	pm_elf_info_release(&info);
	return st;
}

enum pm_status pm_names_add(struct pm_names *s, const char *spec, struct pm_err *err)
{
	const char *at = strrchr(spec, '@');
	struct pm_err why = { 0 };
	struct pm_names_object *o;
	uint64_t base;

	if (!at || at == spec || !pm_parse_u64(at + 1, &base))
		return pm_fail_file(err,
				    "expected PATH@ADDRESS, as in /usr/bin/gzip@0x555555554000, "
				    "found '%s'",
				    spec);
	pm_grow(s->object, s->n, s->cap);
	o = s->object + s->n++;
	*o = (struct pm_names_object){ .path = pm_strdup(spec), .base = base };
	o->path[at - spec] = 0;
	o->tried = true;
	if (!extents(o, &why))
		o->elf = pm_elf_open(o->path, NULL, &why);
	/* the path is ours: it may be gone when the error is shown */
	return o->elf ? PM_OK : pm_fail_file(err, "%s: %s", o->path, why.msg);
}

static void open_object(struct pm_names_object *o)
{
	struct pm_err err = { 0 };

	if (o->tried)
		return;
	o->tried = true;
	if (!o->path || o->path[0] != '/')
		return;
	o->elf = pm_elf_open(o->path, o->build_id, &err);
	if (o->elf)
		extents(o, &err);
}

static struct pm_names_object *object_of(struct pm_names *s, uint64_t pc)
{
	for (size_t i = s->n; i-- > 0; )
		if (pc - s->object[i].lo < s->object[i].hi - s->object[i].lo) {
			open_object(s->object + i);
			return s->object + i;
		}
	return NULL;
}

bool pm_names_at(struct pm_names *s, uint64_t pc, bool line, struct pm_name *n)
{
	struct pm_names_object *o = object_of(s, pc);
	struct pm_elf_function f;

	*n = (struct pm_name){ .lo = pc };
	if (!o)
		return false;
	n->object = o->path;
	n->lo = o->lo;
	n->base = o->base;
	if (o->elf && pm_elf_function_at(o->elf, pc - o->base, &f)) {
		n->function = pm_elf_demangle(o->elf, f.name);
		n->lo = o->base + f.lo;
	}
	if (line && o->elf && !pm_elf_line_at(o->elf, pc - o->base, &n->file, &n->line))
		n->file = NULL;
	return true;
}

static const char *name_in(const struct pm_names_object *o, uint64_t pc, char *buf, size_t size)
{
	struct pm_elf_function f;
	const char *slash;

	if (o->elf && pm_elf_function_at(o->elf, pc - o->base, &f)) {
		uint64_t off = pc - o->base - f.lo;
		const char *name = pm_elf_demangle(o->elf, f.name);

		if (off)
			snprintf(buf, size, "%s+0x%llx", name, (unsigned long long)off);
		else
			snprintf(buf, size, "%s", name);
		return buf;
	}
	if (!o->path)
		return NULL;
	slash = strrchr(o->path, '/');
	snprintf(buf, size, "%s+0x%llx", slash ? slash + 1 : o->path,
		 (unsigned long long)(pc - o->base));
	return buf;
}

const char *pm_name_of(struct pm_names *s, uint64_t pc, char *buf, size_t size)
{
	struct pm_names_object *o = object_of(s, pc);

	return o ? name_in(o, pc, buf, size) : NULL;
}

const char *pm_line_of(struct pm_names *s, uint64_t pc, char *buf, size_t size)
{
	struct pm_names_object *o = object_of(s, pc);
	const char *file, *slash;
	unsigned line;

	if (!o || !o->elf || !pm_elf_line_at(o->elf, pc - o->base, &file, &line))
		return NULL;
	slash = strrchr(file, '/');
	snprintf(buf, size, "%s:%u", slash ? slash + 1 : file, line);
	return buf;
}

bool pm_names_variable(struct pm_names *s, uint64_t addr, struct pm_name *n)
{
	for (size_t i = s->n; i-- > 0; ) {
		struct pm_names_object *o = s->object + i;
		struct pm_elf_function f;

		open_object(o);
		if (!o->elf || addr - o->data_lo >= o->data_hi - o->data_lo)
			continue;
		*n = (struct pm_name){ .object = o->path, .lo = o->data_lo };
		if (pm_elf_variable_at(o->elf, addr - o->base, &f)) {
			n->function = pm_elf_demangle(o->elf, f.name);
			n->lo = o->base + f.lo;
		}
		return true;
	}
	return false;
}

const uint8_t *pm_names_code(struct pm_names *s, uint64_t pc, size_t *n, uint8_t *isa)
{
	struct pm_names_object *o = object_of(s, pc);
	unsigned machine = o && o->elf ? pm_elf_machine_of(o->elf) : EM_NONE;

	if (machine != EM_X86_64 && machine != EM_386)
		return NULL;
	*isa = machine == EM_386 ? PM_ISA_X86_32 : PM_ISA_X86_64;
	return pm_elf_code_at(o->elf, pc - o->base, n);
}

void pm_names_put(struct pm_names *s, struct pm_result *r, const char *key, uint64_t pc)
{
	char buf[256];
	const char *n = pm_name_of(s, pc, buf, sizeof buf);

	if (n)
		pm_result_str(r, key, n);
	else
		pm_result_hex(r, key, pc);
}

void pm_names_result(struct pm_names *s, struct pm_result *r, uint64_t pc)
{
	char buf[256];
	const char *name;

	pm_result_hex(r, "pc", pc);
	if (!s->n)
		return;
	name = pm_name_of(s, pc, buf, sizeof buf);
	pm_result_str(r, "function", name ? name : "-");
	name = pm_line_of(s, pc, buf, sizeof buf);
	if (name)
		pm_result_str(r, "line", name);
}

void pm_names_release(struct pm_names *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->object[i].path);
		free(s->object[i].build_id);
		pm_elf_close(s->object[i].elf);
	}
	free(s->object);
	*s = (struct pm_names){ 0 };
}

/* ---- for sinks ------------------------------------------------------------------------------- */

static uint32_t number_object(void *self, const struct pm_object *o)
{
	return (uint32_t)put_object(self, o);
}

static const char *name_function(void *self, uint32_t object, uint64_t pc, char *buf, size_t size)
{
	struct pm_names *s = self;

	open_object(s->object + object);
	return name_in(s->object + object, pc, buf, size);
}

static void destroy_names(void *self)
{
	pm_names_release(self);
	free(self);
}

void pm_names_for_sinks(struct pm_pipeline *p)
{
	const struct pm_namer n = {
		.self = pm_alloc(sizeof(struct pm_names)), .object = number_object,
		.function = name_function, .destroy = destroy_names
	};

	pm_pipeline_namer(p, &n);
}
