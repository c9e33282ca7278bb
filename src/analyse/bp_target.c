/* SPDX-License-Identifier: MIT */
/* bp_target.c - where a branch goes: branch target buffer and return address stack */
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "base/mem.h"

/* ---- BTB: taken branches look their target up; a miss enters it, a wrong target is replaced -- */

struct btb_entry { uint64_t pc, target; };
struct btb {
	struct btb_entry *e;	/* sets of ways, newest first; pc + 1, 0 is empty */
	uint64_t mask;
	unsigned ways;
};

static void *btb_create(const struct pm_bp_args *a)
{
	struct btb *b = pm_alloc(sizeof *b);

	b->ways = a->v[1];
	b->mask = a->v[0] / a->v[1] - 1;
	b->e = pm_alloc(a->v[0] * sizeof *b->e);
	return b;
}

static void btb_run(void *self, const struct pm_br *br, size_t n, uint8_t *miss)
{
	struct btb *b = self;

	for (size_t i = 0; i < n; i++) {
		struct btb_entry *set;
		uint64_t pc = br[i].pc + 1;
		unsigned w = 0;

		miss[i] = 0;
		if (!(br[i].flags & PM_BR_TAKEN))
			continue;
		/* low bits alone would waste sets on aligned code: fold some higher ones in */
		set = b->e + ((br[i].pc ^ br[i].pc >> 12) & b->mask) * b->ways;
		while (w < b->ways && set[w].pc != pc)
			w++;
		miss[i] = w == b->ways || set[w].target != br[i].target;
		if (w == b->ways)
			w--;
		memmove(set + 1, set, w * sizeof *set);
		*set = (struct btb_entry){ pc, br[i].target };
	}
}

static uint64_t btb_bits(const void *self)
{
	const struct btb *b = self;

	/* as hardware would: a 16-bit tag, a 32-bit target, replacement state */
	return (b->mask + 1) * b->ways * (16 + 32 + 2);
}

static void btb_free(void *self)
{
	struct btb *b = self;

	if (b)
		free(b->e);
	free(b);
}

const struct pm_bp_ops pm_bp_btb = {
	"btb", "taken branches whose target was not known", { "entries", "ways" }, { 1, 1 },
	{ 1 << 20, 64 }, .mask = PM_BR_TAKEN, .want = PM_BR_TAKEN, .create = btb_create,
	.run = btb_run,
	.bits = btb_bits, .destroy = btb_free,
};

/* ---- RAS: calls push, returns pop; too deep a stack overwrites its oldest ------------------- */

struct ras {
	uint64_t *v;
	unsigned size, top, n;
};

static void *ras_create(const struct pm_bp_args *a)
{
	struct ras *s = pm_alloc(sizeof *s);

	s->size = a->v[0];
	s->v = pm_alloc(s->size * sizeof *s->v);
	return s;
}

static void ras_run(void *self, const struct pm_br *br, size_t n, uint8_t *miss)
{
	struct ras *s = self;

	for (size_t i = 0; i < n; i++) {
		miss[i] = 0;
		if (br[i].flags & PM_BR_CALL) {
			s->top = (s->top + 1) % s->size;
			s->v[s->top] = br[i].pc + br[i].size;
			s->n += s->n < s->size;
		} else if (br[i].flags & PM_BR_RET) {
			miss[i] = !s->n || s->v[s->top] != br[i].target;
			if (s->n) {
				s->top = (s->top + s->size - 1) % s->size;
				s->n--;
			}
		}
	}
}

static uint64_t ras_bits(const void *self)
{
	return ((const struct ras *)self)->size * 48;
}

static void ras_free(void *self)
{
	struct ras *s = self;

	if (s)
		free(s->v);
	free(s);
}

const struct pm_bp_ops pm_bp_ras = {
	"ras", "returns that went elsewhere", { "entries" }, { 1 }, { 65536 }, .mask = PM_BR_RET,
	.want = PM_BR_RET, .create = ras_create, .run = ras_run, .bits = ras_bits,
	.destroy = ras_free,
};
