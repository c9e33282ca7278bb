/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/names.h"
#include "elf/symbols.h"

void pm_names_learn(struct pm_names *s, const struct pm_code *code)
{
	/* objects are only ever added, and their extents may grow: look at all when one is new */
	if (!code || code->nobject == s->n)
		return;
	for (size_t i = s->n; i < code->nobject; i++) {
		const struct pm_object *o = code->object + i;

		pm_grow(s->object, s->n, s->cap);
		s->object[s->n++] = (struct pm_names_object){ .path = o->path ? pm_strdup(o->path) : NULL,
			.build_id = o->build_id ? pm_strdup(o->build_id) : NULL, .base = o->base, .lo = o->lo,
			.hi = o->hi };
	}
}

static struct pm_names_object *object_of(struct pm_names *s, uint64_t pc)
{
	for (size_t i = s->n; i-- > 0; ) {
		struct pm_names_object *o = s->object + i;

		if (pc - o->lo >= o->hi - o->lo)
			continue;
		if (!o->tried) {
			struct pm_err err = { 0 };

			o->tried = true;
			if (o->path && o->path[0] == '/')
				o->elf = pm_elf_open(o->path, o->build_id, &err);
		}
		return o;
	}
	return NULL;
}

const char *pm_name_of(struct pm_names *s, uint64_t pc, char *buf, size_t size)
{
	struct pm_names_object *o = object_of(s, pc);
	struct pm_elf_function f;
	const char *slash;

	if (!o)
		return NULL;
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
	snprintf(buf, size, "%s+0x%llx", slash ? slash + 1 : o->path, (unsigned long long)(pc - o->base));
	return buf;
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
