/* SPDX-License-Identifier: MIT */
/* bounds_run.h - eight lanes go through operations: the rules of core.h, as bounds.h changes them
 *
 * Included once for each kind of processor: TARGET is the attribute of its functions, ON(name) what
 * they are called there; LATER and SOONER choose lane by lane, GATHER has
 * an index for each lane. Comparisons of lanes give -1 where
 * they hold. What changes with each operation is in @n, which stays in registers. */

/* When the entry leaves that has to, before @more entries behind the @n that there were have room
 * in a queue of @size: each lane's own. @ring has @places places. */
static TARGET INLINE void ON(leaves)(const lanes_t *ring, uint32_t places, uint64_t n,
				     const lanes_t *more, const lanes_t *size, lanes_t *left)
{
	const lanes_t lane = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const lanes_t at = (int32_t)(n % places) + *more - 1 - *size;

	GATHER(*left, ring, (at & (int32_t)(places - 1)) * LANES + lane);
}

/* (1) */
static TARGET INLINE void ON(fetch)(const struct bounds_group *g, struct bounds_now *n,
				    const struct core_insn *op, uint64_t number)
{
	const lanes_t before = n->fetch, bytes = n->bytes + op->len;
	const lanes_t some = n->insns > 0, one = some - some + 1;
	lanes_t fetch, left, more;

	if (__builtin_expect(g->varied_queue, 0))
		ON(leaves)(g->queue, BOUNDS_PLACES, number, &one, &g->queue_size, &left);
	else
		left = g->queue[(number - g->queue_size[0]) % BOUNDS_PLACES];
	if (__builtin_expect(op->fetch_level || op->fetch_wait, 0)) {
		fetch = before + op->fetch_wait - some;
		if (op->fetch_level)
			fetch += g->lat[op->fetch_level];
	} else {
		fetch = before - ((n->insns == g->most_insns) | ((bytes > g->most_bytes) & some));
	}
	fetch = LATER(fetch, left);
	more = fetch == before;
	n->insns = (n->insns & more) + 1;
	n->bytes = (n->bytes & more) + op->len;
	n->fetch = fetch;
}

static TARGET INLINE void ON(fetch_after)(const struct bounds_group *g, struct bounds_now *n,
					  const struct core_insn *op)
{
	lanes_t next, same;

	if (!op->taken && op->redirect == PM_CORE_STRAIGHT)
		return;
	if (op->redirect == PM_CORE_WRONG)
		next = n->done + 1;
	else if (op->redirect == PM_CORE_BUBBLE)
		next = n->fetch + g->bubble;
	else
		next = n->fetch + 1;
	same = next <= n->fetch;
	n->insns &= same;
	n->bytes &= same;
	n->fetch = LATER(next, n->fetch);
}

/* (2) */
static TARGET INLINE void ON(dispatch)(struct bounds_group *g, struct bounds_now *n,
				       const struct core_insn *op, uint64_t nuop, uint64_t nload,
				       uint64_t nstore)
{
	const struct core_rule *r = op->rule;
	lanes_t d = LATER(g->rob[(nuop + r->uops - 1 - BOUNDS_ROB) % BOUNDS_UOPS] + 1, g->barrier);
	const lanes_t none = d - d;
	lanes_t same, left;

	if (__builtin_expect(r->serial, 0))
		d = LATER(d, n->commit + 1);
	if (g->varied_rob) {
		const lanes_t uops = none + r->uops, most = SOONER(g->rob_size, uops);

		ON(leaves)(g->rob, BOUNDS_UOPS, nuop, &most, &g->rob_size, &left);
		d = LATER(d, left + 1);
	}
	if (g->has_lq && op->nload) {
		const lanes_t more = none + op->nload;

		ON(leaves)(g->lq, BOUNDS_PLACES, nload, &more, &g->lq_size, &left);
		d = LATER(d, (left & (g->lq_size != BOUNDS_FREE)) + 1);
	}
	if (g->has_sq && op->nstore) {
		const lanes_t more = none + op->nstore;

		ON(leaves)(g->sq, BOUNDS_PLACES, nstore, &more, &g->sq_size, &left);
		d = LATER(d, (left & (g->sq_size != BOUNDS_FREE)) + 1);
	}
	d = LATER(d, n->fetch + g->front);
	d = LATER(d, n->dispatch - (n->slots + r->uops > g->width));
	if (g->scheduled) {
		lanes_t to = d;

		bounds_dispatch(g, &to, op->nload + op->nstore + (r->issues != 0));
		d = to;
	}
	same = d == n->dispatch;
	n->slots = (n->slots & same) + r->uops;
	n->dispatch = d;
}

/* In lanes that have a port, or the scheduler, limited. */
static TARGET INLINE void ON(issue)(struct bounds_group *g, const struct bounds_now *n,
				    unsigned class, unsigned busy, lanes_t *t)
{
	if (g->reserving[class]) {
		const lanes_t now = n->dispatch;
		lanes_t at = *t;

		bounds_reserve(g, &now, class, busy, &at);
		*t = at;
	}
	if (g->scheduled) {
		const lanes_t at = *t;

		bounds_leave(g, &at);
	}
}

/* (3) *@ready: not before the data of @load, which may issue in cycle @from. */
static TARGET INLINE void ON(load)(struct bounds_group *g, const struct bounds_now *n,
				   const struct bounds_load *load, const uint16_t *word,
				   const lanes_t *from, lanes_t *ready)
{
	lanes_t t = *from, data, start;

	ON(issue)(g, n, BOUNDS_LOAD, 1, &t);
	t += load->wait;
	data = t + g->lat[0];
	if (load->waits && !load->stored)
		data = LATER(data, g->line[load->line]);
	if (__builtin_expect(load->level, 0)) {
		start = t;
		if (g->has_mshr) {
			lanes_t from_heap = start;

			bounds_line(g, &from_heap);
			start = from_heap;
		}
		if (load->level == 3) {
			start = LATER(start, g->mem_free);
			g->mem_free = SOONER(start, t + BOUNDS_FAR) + g->gap;
		}
		start = SOONER(start, t + BOUNDS_FAR) + g->lat[load->level];
		if (g->has_mshr) {
			const lanes_t comes = start;

			bounds_line_comes(g, &comes);
		}
		g->line[load->line] = start;
		data = load->stored ? data : start;
	}
	for (unsigned i = 0; i < load->words; i++) {
		const lanes_t written = g->lat[0] + 3, less = g->forward < written;

		data = LATER(data, g->word[word[i]] +
					   ((g->forward & less) | (written & ~less)));
	}
	*ready = LATER(*ready, data);
}

static TARGET INLINE void ON(wait)(const struct bounds_group *g, uint64_t regs, lanes_t *t)
{
	for (; regs; regs &= regs - 1)
		*t = LATER(*t, g->reg[__builtin_ctzll(regs)]);
}

static TARGET INLINE void ON(wait_for)(const struct bounds_group *g, const uint8_t *reg,
				       unsigned n, lanes_t *t)
{
	for (unsigned i = 0; i < n; i++)
		*t = LATER(*t, g->reg[reg[i]]);
}

static TARGET INLINE void ON(addresses)(const struct bounds_group *g, const struct core_rule *r,
					lanes_t *t)
{
	if (__builtin_expect(r->many, 0))
		ON(wait)(g, r->addr_regs, t);
	else
		ON(wait_for)(g, r->addr, NR(r->addr), t);
}

static TARGET INLINE void ON(values)(const struct bounds_group *g, const struct core_rule *r,
				     lanes_t *t)
{
	if (__builtin_expect(r->many, 0))
		ON(wait)(g, r->data_regs, t);
	else
		ON(wait_for)(g, r->data, NR(r->data), t);
}

static TARGET INLINE void ON(write)(struct bounds_group *g, const struct bounds_now *n,
				    const struct core_rule *r)
{
	for (uint64_t w = r->many ? r->writes : 0; w; w &= w - 1)
		g->reg[__builtin_ctzll(w)] = n->done;
	if (r->many)
		return;
	g->reg[r->to[0]] = n->done;
	g->reg[r->to[1]] = n->done;
}

/* (5), behind commit */
static TARGET INLINE void ON(store)(struct bounds_group *g, const struct bounds_now *n,
				    const struct bounds_store *store, const lanes_t *issued,
				    uint64_t number)
{
	g->written = LATER(g->written, n->commit) + 1;
	if (__builtin_expect(store->level, 0))
		g->written = LATER(g->written, *issued + g->lat[store->level]);
	if (g->has_sq)
		g->sq[number % BOUNDS_PLACES] = g->written;
	for (unsigned i = 0; i < store->words; i++)
		g->word[(store->word + i) % BOUNDS_WORDS] = *issued;
}

/* (6) */
static TARGET INLINE void ON(commit)(const struct bounds_group *g, struct bounds_now *n,
				     const struct core_rule *r, const lanes_t *last)
{
	const lanes_t commit =
		LATER(*last + 1, n->commit - (n->commit_slots + r->uops > g->width));
	const lanes_t same = commit == n->commit;

	n->commit_slots = (n->commit_slots & same) + r->uops;
	n->commit = commit;
}

static TARGET INLINE void ON(end_window)(struct bounds_group *g, const struct bounds_now *n,
					 uint32_t at)
{
	const lanes_t cycles = n->commit - g->ended;

	for (unsigned l = 0; l < LANES; l++)
		if (g->column[l])
			g->column[l][at] = cycles[l];
	g->ended = n->commit;
}

/* Which operation it is, and where its loads and stores are. */
struct ON(at) {
	uint64_t ninsn, nuop, nload, nstore;
	const struct bounds_load *load;
	const struct bounds_store *store;
	const uint16_t *word;
};

static TARGET INLINE void ON(one)(struct bounds_group *g, struct bounds_now *n,
				  const struct core_insn *op, const struct ON(at) *at)
{
	const struct core_rule *r = op->rule;
	const uint16_t *word = at->word;
	lanes_t addr_ready, t, last, issued[4];

	ON(fetch)(g, n, op, at->ninsn);
	ON(dispatch)(g, n, op, at->nuop, at->nload, at->nstore);
	g->queue[at->ninsn % BOUNDS_PLACES] = n->dispatch;
	addr_ready = t = n->dispatch + 1;
	ON(addresses)(g, r, &addr_ready);
	ON(values)(g, r, &t);
	for (unsigned k = 0; k < op->nload; word += at->load[k++].words)
		ON(load)(g, n, at->load + k, word, &addr_ready, &t);
	if (r->issues)
		ON(issue)(g, n, r->class, r->busy, &t);
	last = n->done = t + r->latency;
	ON(write)(g, n, r);
	for (unsigned k = 0; k < op->nstore; k++) {
		issued[k] = LATER(addr_ready, n->done);
		ON(issue)(g, n, BOUNDS_STORE, 1, issued + k);
		issued[k] += at->store[k].wait;
		last = LATER(last, issued[k] + 1);
	}
	ON(commit)(g, n, r, &last);
	ON(fetch_after)(g, n, op);
	for (unsigned k = 0; k < op->nstore; k++)
		ON(store)(g, n, at->store + k, issued + k, at->nstore + k);
	for (unsigned k = 0; k < r->uops; k++)
		g->rob[(at->nuop + k) % BOUNDS_UOPS] = n->commit;
	if (g->has_lq)
		for (unsigned k = 0; k < op->nload; k++)
			g->lq[(at->nload + k) % BOUNDS_PLACES] = n->commit;
	if (__builtin_expect(r->serial, 0))
		g->barrier = n->commit + 1;
}

/* HOT: once per operation and two groups: neither waits for what the other does. */
static TARGET INLINE void ON(pair)(struct bounds_group *g, struct bounds_group *h,
				   const struct bounds_batch *b)
{
	struct ON(at) at = { b->ninsn, b->nuop, b->nload, b->nstore, b->load, b->store, b->word };
	struct bounds_now n = g->now, m = h ? h->now : n;
	uint32_t in_window = b->in_window, window = b->first;

	for (size_t i = 0; i < b->n; i++) {
		const struct core_insn *op = b->op + i;

		ON(one)(g, &n, op, &at);
		if (h)
			ON(one)(h, &m, op, &at);
		for (unsigned k = 0; k < op->nload; k++)
			at.word += at.load++->words;
		at.store += op->nstore;
		at.nload += op->nload;
		at.nstore += op->nstore;
		at.nuop += op->rule->uops;
		at.ninsn++;
		if (++in_window < b->window)
			continue;
		ON(end_window)(g, &n, window);
		if (h)
			ON(end_window)(h, &m, window);
		window++;
		in_window = 0;
	}
	g->now = n;
	if (h)
		h->now = m;
}

static TARGET void ON(run)(struct bounds_group *g, struct bounds_group *h,
			   const struct bounds_batch *b)
{
	if (h)
		ON(pair)(g, h, b);
	else
		ON(pair)(g, NULL, b);
}

#undef LATER
#undef GATHER
#undef SOONER
#undef TARGET
#undef ON
