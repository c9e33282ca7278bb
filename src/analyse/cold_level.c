/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_refs.h"
#include "analyse/cold_level.h"
#include "base/check.h"

/* In a cold set: its first use was uncertain; if it is not LINE_DIRTY it may have been before. In a
 * known one:
 * the part has used it, so it is not there any more, but in the cold set. */
#define LINE_HEIR	4u
#define LINE_TAKEN	4u

void cold_init(struct cold_level *l, const struct pm_level_conf *lc, bool data)
{
	uint64_t lines = lc->size / lc->line;

	*l = (struct cold_level){
		.way = pm_alloc_lines(lines * sizeof *l->way), .line = lc->line, .ways = lc->ways,
		.line_mask = ~(uint64_t)(lc->line - 1), .line_shift = __builtin_ctz(lc->line),
		.set_mask = lines / lc->ways - 1, .side = data ? COLD_DATA : 0,
	};
	l->touched = pm_alloc((l->set_mask + 1) * sizeof *l->touched);
}

void cold_release(struct cold_level *l)
{
	free(l->way);
	free(l->touched);
}

void cold_begin(struct cold_level *l)
{
	memset(l->way, 0, (l->set_mask + 1) * l->ways * sizeof *l->way);
	memset(l->touched, 0, (l->set_mask + 1) * sizeof *l->touched);
}

static size_t set_at(const struct cold_level *l, uint64_t line)
{
	return (line >> l->line_shift & l->set_mask) * l->ways;
}

static enum pm_cache_op fetch_op(enum pm_cache_op op)
{
	return op == PM_OP_FETCH || op == PM_OP_PREFETCH ? op : PM_OP_READ;
}

void cold_miss(struct cold_level *l, uint64_t *set, uint64_t line, uint32_t size,
	       enum pm_cache_op op, unsigned cls, struct cache_out *out)
{
	const bool write = op == PM_OP_WRITE || op == PM_OP_BACK;
	const uint32_t bytes = op == PM_OP_BACK && size == l->line ? 0 : l->line;
	const uint64_t last = set[l->ways - 1];

	if (!(last & LINE_VALID)) {
		cache_out_add(out, op | COLD_TOUCH | l->side, line, bytes, cls);
	} else {
		l->st.miss[op][cls]++;
		l->st.bytes_in += bytes;
		l->st.evictions++;
		if (bytes)
			cache_out_add(out, fetch_op(op), line, bytes, cls);
		if (last & LINE_DIRTY) {
			l->st.writebacks++;
			l->st.bytes_out += l->line;
		}
		if (last & (LINE_DIRTY | LINE_HEIR))
			cache_out_add(out, last & LINE_DIRTY ? PM_OP_BACK
							     : PM_OP_BACK | COLD_BACK | l->side,
				      last & ~(uint64_t)LINE_FLAGS, l->line, 0);
	}
	move_first(set, l->ways, l->ways - 1,
		   line | LINE_VALID | (write ? LINE_DIRTY : last & LINE_VALID ? 0 : LINE_HEIR));
}

/* HOT: once per access of the level. */
void cold_access(struct cold_level *l, uint64_t addr, uint32_t size, enum pm_cache_op op,
		 unsigned cls, struct cache_out *out)
{
	const bool write = op == PM_OP_WRITE || op == PM_OP_BACK;
	const uint64_t line = addr & l->line_mask;
	uint64_t *set = l->way + set_at(l, line);

	l->st.access[op][cls]++;
	if (!find_first(set, l->ways, line, write ? LINE_DIRTY : 0))
		cold_miss(l, set, line, size, op, cls, out);
}

/* The part has used @line before: was it dirty when the part began? */
static bool inherits(const struct cold_level *l, const struct known_level *k, uint64_t line)
{
	const uint64_t *old = k->way + set_at(l, line);

	for (unsigned w = 0; w < l->ways; w++)
		if (old[w] == (line | LINE_VALID | LINE_DIRTY | LINE_TAKEN))
			return true;
	return false;
}

void cold_resolve(struct cold_level *l, struct known_level *k, const struct cache_request *r,
		  struct cache_out *out)
{
	const enum pm_cache_op op = r->op & 0xf;
	const size_t at = set_at(l, r->addr);
	uint64_t *old = k->way + at, *oldest = NULL;
	unsigned left = 0;

	if (r->op & COLD_BACK) {
		if (!inherits(l, k, r->addr))
			return;
		l->st.writebacks++;
		l->st.bytes_out += l->line;
		cache_out_add(out, PM_OP_BACK, r->addr, l->line, 0);
		return;
	}
	for (unsigned w = 0; w < l->ways; w++) {
		if (!(old[w] & LINE_VALID) || old[w] & LINE_TAKEN)
			continue;
		left++;
		oldest = old + w;
		if ((old[w] & ~(uint64_t)LINE_FLAGS) == r->addr) {
			old[w] |= LINE_TAKEN;
			l->touched[at / l->ways]++;
			return;
		}
	}
	l->st.miss[op][r->cls]++;
	l->st.bytes_in += r->size;
	if (r->size)
		cache_out_add(out, fetch_op(op), r->addr, r->size, r->cls);
	PM_INVARIANT(2, l->touched[at / l->ways] + left <= l->ways);
	if (l->touched[at / l->ways]++ + left < l->ways)
		return;
	l->st.evictions++;
	if (*oldest & LINE_DIRTY) {
		l->st.writebacks++;
		l->st.bytes_out += l->line;
		cache_out_add(out, PM_OP_BACK, *oldest & ~(uint64_t)LINE_FLAGS, l->line, 0);
	}
	*oldest = 0;
}

void cold_settle(struct cold_level *l, struct known_level *k)
{
	uint64_t *set = l->way, *old = k->way;

	for (uint64_t s = 0; s <= l->set_mask; s++, set += l->ways, old += l->ways) {
		unsigned n = 0;

		if (!(set[0] & LINE_VALID))
			continue;
		while (n < l->ways && (set[n] & LINE_VALID)) {
			uint64_t line = set[n] & ~(uint64_t)LINE_FLAGS;

			if ((set[n] & (LINE_HEIR | LINE_DIRTY)) == LINE_HEIR &&
			    inherits(l, k, line))
				set[n] |= LINE_DIRTY;
			set[n++] &= ~(uint64_t)LINE_HEIR;
		}
		for (unsigned w = 0; w < l->ways && n < l->ways; w++)
			if ((old[w] & LINE_VALID) && !(old[w] & LINE_TAKEN))
				set[n++] = old[w];
		memcpy(old, set, n * sizeof *set);
		memset(old + n, 0, (l->ways - n) * sizeof *set);
	}
}
