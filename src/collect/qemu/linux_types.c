/* SPDX-License-Identifier: MIT */
/* linux_types.c - BTF: a kernel's types
 *
 *    0  2  0xeb9f            8  4  where types are, behind the header     16  4  where names are
 *    4  4  header's bytes   12  4  their bytes                            20  4  their bytes
 *
 *   a type   0  4  name, a place among the names      then by kind (extra[])
 *            4  4  bits 0-15: members; 24-28: kind; 31: offsets have sizes of bit fields in 24-31
 *            8  4  bytes, or the type that it refers to
 *   a member 0  4  name      4  4  its type      8  4  where it is, bits
 */
#include <stdlib.h>

#include "base/cur.h"
#include "base/mem.h"
#include "collect/qemu/linux_tables.h"

#define MAGIC		0xeb9f
#define DEEPEST		16		/* structures within structures */

enum { STRUCT = 4, UNION = 5, TYPEDEF = 8, VOLATILE = 9, CONST = 10 };

/* Bytes behind a type of each kind: always, and for each member. */
static const struct { uint8_t fixed, each; bool known; } extra[] = {
	[1] = { 4, 0, true }, [2] = { 0, 0, true }, [3] = { 12, 0, true }, [4] = { 0, 12, true },
	[5] = { 0, 12, true }, [6] = { 0, 8, true }, [7] = { 0, 0, true }, [8] = { 0, 0, true },
	[9] = { 0, 0, true }, [10] = { 0, 0, true }, [11] = { 0, 0, true }, [12] = { 0, 0, true },
	[13] = { 0, 8, true }, [14] = { 4, 0, true }, [15] = { 0, 12, true }, [16] = { 0, 0, true },
	[17] = { 4, 0, true }, [18] = { 0, 0, true }, [19] = { 0, 12, true },
};

static uint32_t get32(const struct linux_types *t, uint32_t at)
{
	uint32_t v;

	memcpy(&v, t->p + at, sizeof v);
	return v;
}

static unsigned kind_of(uint32_t info)
{
	return info >> 24 & 0x1f;
}

static const char *name_at(const struct linux_types *t, uint32_t at)
{
	return at < t->ntext ? t->text + at : "";
}

enum pm_status linux_types_read(struct linux_types *t, const uint8_t *p, size_t n, uint64_t where,
				struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(p, n, where, err);
	uint16_t magic = pm_cur_u16(&c, "BTF magic");
	uint32_t header, types, names;

	pm_cur_u16(&c, "BTF version");
	header = pm_cur_u32(&c, "BTF header");
	types = pm_cur_u32(&c, "BTF types");
	t->np = pm_cur_u32(&c, "BTF types");
	names = pm_cur_u32(&c, "BTF names");
	t->ntext = pm_cur_u32(&c, "BTF names");
	if (pm_failed(err))
		return PM_ERR;
	if (magic != MAGIC || header > n || types > n - header || t->np > n - header - types ||
	    names > n - header || t->ntext > n - header - names || !t->ntext ||
	    p[header + names + t->ntext - 1])
		return pm_fail(err, where, "the kernel's types (BTF) make no sense");
	t->p = p + header + types;
	t->text = (const char *)p + header + names;
	c = pm_cur_init(t->p, t->np, where + header + types, err);
	pm_grow(t->at, t->n, t->cap);
	t->at[t->n++] = 0;
	while (pm_cur_left(&c) && !pm_failed(err)) {
		uint32_t at = (uint32_t)(c.p - c.base), info;
		unsigned kind;

		pm_cur_u32(&c, "a type");
		info = pm_cur_u32(&c, "a type");
		pm_cur_u32(&c, "a type");
		kind = kind_of(info);
		if (kind >= NR(extra) || !extra[kind].known)
			return pm_fail(err, c.where + at, "the kernel's types (BTF) have one of "
				       "kind %u, which is not known", kind);
		pm_cur_bytes(&c, extra[kind].fixed + (uint64_t)extra[kind].each * (info & 0xffff),
			     "a type's members");
		pm_grow(t->at, t->n, t->cap);
		t->at[t->n++] = at;
	}
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* The structure or union that @type is by other names; 0: it is none. */
static uint32_t structure(const struct linux_types *t, uint32_t type)
{
	for (unsigned i = 0; i < DEEPEST && type && type < t->n; i++) {
		uint32_t at = t->at[type];
		unsigned kind = kind_of(get32(t, at + 4));

		if (kind == STRUCT || kind == UNION)
			return type;
		if (kind != TYPEDEF && kind != VOLATILE && kind != CONST)
			return 0;
		type = get32(t, at + 8);
	}
	return 0;
}

static bool find_member(const struct linux_types *t, uint32_t type, const char *name, unsigned deep,
			uint32_t *bits)
{
	const uint32_t at = t->at[type], info = get32(t, at + 4);

	for (uint32_t i = 0; i < (info & 0xffff); i++) {
		const uint32_t m = at + 12 + 12 * i;
		const char *s = name_at(t, get32(t, m));
		uint32_t where = get32(t, m + 8), inner;

		if (info >> 31)
			where &= 0xffffff;
		*bits = where;
		if (!strcmp(s, name))
			return true;
		inner = *s || deep == DEEPEST ? 0 : structure(t, get32(t, m + 4));
		if (inner && find_member(t, inner, name, deep + 1, bits)) {
			*bits += where;
			return true;
		}
	}
	return false;
}

bool linux_types_member(const struct linux_types *t, const char *type, const char *member,
			uint32_t *at)
{
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t p = t->at[i];

		if (kind_of(get32(t, p + 4)) == STRUCT && !strcmp(name_at(t, get32(t, p)), type) &&
		    find_member(t, i, member, 0, at)) {
			*at /= 8;
			return true;
		}
	}
	return false;
}

void linux_types_release(struct linux_types *t)
{
	free(t->at);
}
