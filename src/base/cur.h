/* SPDX-License-Identifier: MIT */
/* cur.h - untrusted bytes go through one cursor
 *
 * Sticky: after the first failed read every read gives 0 and the pm_err keeps the first failure,
 * so a parser reads five fields and checks once. Offsets in errors are `where` + distance from
 * `base`, so a cursor over a window of a file reports places in the file. */
#ifndef PM_BASE_CUR_H
#define PM_BASE_CUR_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct pm_cur {
	const uint8_t *base, *p, *end;		/* base <= p <= end */
	uint64_t where;				/* file offset of base */
	struct pm_err *err;
};

static inline struct pm_cur pm_cur_init(const void *p, size_t n, uint64_t where, struct pm_err *err)
{
	return (struct pm_cur){ p, p, (const uint8_t *)p + n, where, err };
}

static inline size_t pm_cur_left(const struct pm_cur *c)
{
	return (size_t)(c->end - c->p);
}

static inline uint64_t pm_cur_at(const struct pm_cur *c)
{
	return c->where + (uint64_t)(c->p - c->base);
}

static inline bool pm_cur_need(struct pm_cur *c, uint64_t n, const char *what)
{
	if (pm_failed(c->err))
		return false;
	if (pm_cur_left(c) >= n)
		return true;
	pm_fail(c->err, pm_cur_at(c), "expected %llu bytes of %s, found %zu",
		(unsigned long long)n, what, pm_cur_left(c));
	return false;
}

#define PM_CUR_INT(name, type, swap)						\
static inline type pm_cur_##name(struct pm_cur *c, const char *what)		\
{										\
	type v = 0;								\
										\
	if (pm_cur_need(c, sizeof v, what)) {					\
		memcpy(&v, c->p, sizeof v);					\
		c->p += sizeof v;						\
	}									\
	return swap(v);								\
}
#define PM_SAME(v) (v)
PM_CUR_INT(u8, uint8_t, PM_SAME)
PM_CUR_INT(u16, uint16_t, le16toh)
PM_CUR_INT(u32, uint32_t, le32toh)
PM_CUR_INT(u64, uint64_t, le64toh)
PM_CUR_INT(be16, uint16_t, be16toh)
PM_CUR_INT(be32, uint32_t, be32toh)
PM_CUR_INT(be64, uint64_t, be64toh)
#undef PM_SAME
#undef PM_CUR_INT

/* Borrowed bytes inside the window; NULL after an error. */
static inline const uint8_t *pm_cur_bytes(struct pm_cur *c, uint64_t n, const char *what)
{
	const uint8_t *p = c->p;

	if (!pm_cur_need(c, n, what))
		return NULL;
	c->p += n;
	return p;
}

/* LEB128, at most 10 bytes. */
static inline uint64_t pm_cur_varint(struct pm_cur *c, const char *what)
{
	uint64_t v = 0;

	if (c->p < c->end && *c->p < 0x80 && !pm_failed(c->err))
		return *c->p++;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = pm_cur_u8(c, what);

		if (shift == 63 && b > 1) {
			pm_fail(c->err, pm_cur_at(c) - 1, "%s is a number wider than 64 bits",
				what);
			return 0;
		}
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	pm_fail(c->err, pm_cur_at(c), "%s is a number longer than 10 bytes", what);
	return 0;
}

#endif
