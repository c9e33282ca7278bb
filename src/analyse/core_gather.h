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

/* What is known of a reference by instruction @pc once paging and the caches have been asked. */
static inline __attribute__((always_inline))
void core_ask(struct core_sink *s, struct pm_cache *c, struct cache_level *l, uint64_t pc,
	      enum pm_cache_op how, uint64_t addr, unsigned size, bool stack, struct core_ref *r)
{
	r->addr = addr;
	r->size = size > 64 ? 64 : size ? size : 1;
	r->wait = core_page_wait(s, how, addr, r->size);
	r->level = cache_quick(c, l, how, addr, size, stack, pc)
			   ? 0
			   : s->level[pm_cache_access(c, how, addr, size, stack, pc)];
}

/* @op, which has less than four of them, makes a reference, which lies behind those that were made
 * before. */
static inline __attribute__((always_inline))
void core_makes(struct core_insn *op, bool write)
{
	uint8_t *n = write ? &op->nstore : &op->nload;

	op->shape |= (write ? CORE_STORE : CORE_LOAD) | (*n ? CORE_USUAL : 0);
	++*n;
}

static inline void core_refer(struct core_sink *s, enum pm_cache_op how, uint64_t addr,
			      unsigned size, bool stack)
{
	struct core_gathered *g = s->gathered;
	const bool write = how == PM_OP_WRITE;
	struct core_ref r;

	core_ask(s, s->cache, s->cache->first_d, s->pc, how, addr, size, stack, &r);
	if (!s->open)
		return;
	if (__builtin_expect(g->op[g->n - 1].nload == 4 || g->op[g->n - 1].nstore == 4, 0))
		core_continue(s);
	core_makes(g->op + g->n - 1, write);
	if (write)
		g->store[g->nstore++] = r;
	else
		g->load[g->nload++] = r;
}

static inline void core_branch(struct core_sink *s, const struct pm_br *b)
{
	struct core_gathered *g = s->gathered;

	if (g->nbr == CORE_GATHER)
		core_drain(s);
	g->br[g->nbr] = *b;
	g->br_op[g->nbr++] = s->open ? g->n - 1 : CORE_NO_OP;
	if (s->open) {
		struct core_insn *op = g->op + g->n - 1;

		op->after = (op->after & CORE_REDIRECT) | (b->flags & PM_BR_TAKEN ? CORE_TAKEN : 0);
	}
}

#endif
