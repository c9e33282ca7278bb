/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transform/lines.h"

struct lines {
	uint64_t line;
	uint64_t *last;			/* by stream: the line fetched last, + 1 */
	size_t nlast;
	struct pm_event *ev;
	size_t n, cap;
};

void *pm_lines_new(uint32_t line)
{
	struct lines *l = pm_alloc(sizeof *l);

	l->line = line;
	return l;
}

static void put(struct lines *l, const struct pm_event *ev)
{
	pm_grow(l->ev, l->n, l->cap);
	l->ev[l->n++] = *ev;
}

static enum pm_status lines_consume(void *self, const struct pm_batch *b, const struct pm_emit *to,
				    struct pm_err *err)
{
	struct lines *l = self;
	struct pm_batch out = *b;
	uint32_t s = b->stream->index;

	while (s >= l->nlast) {
		l->last = pm_realloc(l->last, (l->nlast + 64) * sizeof *l->last);
		memset(l->last + l->nlast, 0, 64 * sizeof *l->last);
		l->nlast += 64;
	}
	l->n = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct pm_event ev = b->ev[i];

		switch (ev.kind) {
		case PM_EV_INSN:
			for (uint64_t a = ev.addr & -l->line; a < ev.addr + ev.size; a += l->line)
				if (l->last[s] != a + 1) {
					l->last[s] = a + 1;
					put(l, &(struct pm_event){ .kind = PM_EV_LINE,
								   .size = (uint16_t)l->line,
								   .id = PM_NONE,
								   .addr = a });
				}
			break;
		case PM_EV_BRANCH: case PM_EV_UOP: case PM_EV_REG_READ: case PM_EV_REG_WRITE:
			break;
		case PM_EV_READ:
		case PM_EV_WRITE:
		case PM_EV_MODIFY:
		case PM_EV_REP_ITER:
		case PM_EV_REP_END:
			ev.id = PM_NONE;
			put(l, &ev);
			break;
		default:
			put(l, &ev);
			break;
		}
	}
	if (!l->n)
		return PM_OK;
	out.ev = l->ev;
	out.n = l->n;
	return to->batch(to->to, &out, err);
}

static void lines_destroy(void *self)
{
	struct lines *l = self;

	if (!l)
		return;
	free(l->last);
	free(l->ev);
	free(l);
}

const struct pm_transform_ops pm_lines_ops = {
	.name = "lines",
	.needs = PM_HAS_INSNS,
	.removes = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_BLOCKS | PM_HAS_UOPS |
		PM_HAS_REGS |
		   PM_HAS_REGVALS,
	.adds = PM_HAS_LINES,
	.consume = lines_consume,
	.destroy = lines_destroy,
};
