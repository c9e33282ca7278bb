/* SPDX-License-Identifier: MIT */
/* core_gather.h - instructions, references and branches as they come, and what caches say of them:
 * private to core_*.c. In a header because each goes through it. */
#ifndef PM_ANALYSE_CORE_GATHER_H
#define PM_ANALYSE_CORE_GATHER_H

#include "analyse/cache_quick.h"
#include "analyse/core_work.h"

/* Has all operations timed, but for one that is still open. */
void core_drain(struct core_sink *s);
/* The lines of @op's code, @line to @last, that are not the one that was fetched last. */
void core_fetch(struct core_sink *s, struct core_insn *op, uint64_t line, uint64_t last);
/* rep and its like: a further operation goes on. The branch, if it is one, ends the last. */
struct core_insn *core_continue(struct core_sink *s);

static inline unsigned core_page_wait(struct core_sink *s, enum pm_cache_op op, uint64_t addr,
				      unsigned size)
{
	return s->paging ? paging_wait(s->paging, op, addr, size) : 0;
}

static inline struct core_insn *core_begin(struct core_sink *s, uint64_t pc, unsigned len,
					   const struct core_rule *rule)
{
	struct core_gathered *g = s->gathered;
	const uint64_t line = pc >> CORE_LINE_SHIFT, last = (pc + len - 1) >> CORE_LINE_SHIFT;
	struct core_insn *op;

	if (g->n == CORE_GATHER) {
		s->open = false;
		core_drain(s);
	}
	s->laid = false;
	op = g->op + g->n++;
	*op = (struct core_insn){ .pc = pc, .rule = rule };
	op->len = len;
	op->shape = core_shape(rule, len);
	if ((line ^ s->fetch_line) | (line ^ last))
		core_fetch(s, op, line, last);
	s->open = true;
	return op;
}

static inline __attribute__((always_inline))
void core_refer(struct core_sink *s, enum pm_cache_op how, uint64_t addr, unsigned size, bool stack)
{
	struct core_gathered *g = s->gathered;
	struct core_insn *op = g->op + g->n - 1;
	const uint64_t pc = s->pc;
	struct core_ref r = { addr, .size = size > 64 ? 64 : size ? size : 1 };

	r.wait = core_page_wait(s, how, addr, r.size);
	if (!cache_quick(s->cache, s->cache->first_d, how, addr, size, stack, pc))
		r.level = s->level[pm_cache_access(s->cache, how, addr, size, stack, pc)];
	if (!s->open)
		return;
	if (__builtin_expect(op->nload == 4 || op->nstore == 4, 0))
		op = core_continue(s);
	if (how == PM_OP_READ) {
		g->load[g->nload++] = r;
		op->shape |= op->nload++ ? CORE_USUAL : CORE_LOAD;
	} else {
		g->store[g->nstore++] = r;
		op->shape |= op->nstore++ ? CORE_USUAL : CORE_STORE;
	}
}

static inline void core_branch(struct core_sink *s, const struct pm_br *b)
{
	struct core_gathered *g = s->gathered;

	if (g->nbr == CORE_GATHER)
		core_drain(s);
	g->br[g->nbr] = *b;
	g->br_op[g->nbr++] = s->open ? g->n - 1 : CORE_NO_OP;
	if (s->open)
		g->op[g->n - 1].taken = b->flags & PM_BR_TAKEN;
}

#endif
