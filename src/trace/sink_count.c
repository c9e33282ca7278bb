/* SPDX-License-Identifier: MIT */
/* sink_count.c - count and discard */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/sinks.h"
#include "trace/tally.h"

struct count_stream {
	struct pm_tally tally;
	uint32_t pid, tid;
	uint64_t space;
	char *name;
	bool seen;
};

struct count {
	struct count_stream *stream;
	size_t cap;
};

static void *count_create(const char *config, struct pm_err *err)
{
	if (*config) {
		pm_fail_file(err, "count takes no configuration, not '%s'", config);
		return NULL;
	}
	return pm_alloc(sizeof(struct count));
}

static struct count_stream *stream_of(struct count *c, const struct pm_stream *s)
{
	struct count_stream *st;

	if (s->index >= c->cap) {
		size_t cap = c->cap ? c->cap : 8;

		while (cap <= s->index)
			cap *= 2;
		c->stream = pm_realloc(c->stream, cap * sizeof *c->stream);
		memset(c->stream + c->cap, 0, (cap - c->cap) * sizeof *c->stream);
		c->cap = cap;
	}
	st = c->stream + s->index;
	st->pid = s->pid;
	st->tid = s->tid;
	st->space = s->space;
	if (s->name && (!st->name || strcmp(st->name, s->name))) {
		free(st->name);
		st->name = pm_strdup(s->name);
	}
	st->seen = true;
	return st;
}

static enum pm_status count_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	pm_tally_add(&stream_of(self, b->stream)->tally, b->ev, b->n);
	return PM_OK;
}

/* HOT */
static enum pm_status count_packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
				   struct pm_err *err)
{
	static const uint8_t kinds[] = { PM_EV_BLOCK, PM_EV_READ, PM_EV_WRITE, PM_EV_MODIFY };
	const uint64_t half = 0x0000ffff0000ffff;
	const struct pm_chain *chain = k->chains.chain;
	struct pm_tally *to = &stream_of(self, b->stream)->tally;
	const uint64_t insns = to->insns;
	uint64_t sum[2] = { 0, 0 };	/* blocks and writes, reads and modifies: 32 bits each */

	_Static_assert(PM_CHAIN_KIND_BITS == 16, "as the masks are");
	for (size_t i = 0; i < k->n; i++) {
		uint64_t n;

		if (k->id[i] & PM_CHAIN_EVENTS)
			continue;
		n = chain[k->id[i]].kinds;
		sum[0] += n & half;
		sum[1] += n >> 16 & half;
	}
	for (unsigned i = 0; i < sizeof kinds; i++)
		to->kind[kinds[i]] += (uint32_t)(sum[i % 2] >> i / 2 * 32);
	pm_tally_add(to, b->ev, b->n);
	to->insns = insns + k->insns;
	return PM_OK;
}

static void add(struct pm_tally *to, const struct pm_tally *t)
{
	to->insns += t->insns;
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		to->kind[k] += t->kind[k];
}

static void count_counted(void *self, const struct pm_stream *s, const struct pm_tally *t)
{
	add(&stream_of(self, s)->tally, t);
}

static void count_merge(void *self, const void *other)
{
	const struct count *o = other;

	for (size_t i = 0; i < o->cap; i++) {
		const struct count_stream *st = o->stream + i;
		const struct pm_stream s = { (uint32_t)i, st->pid, st->tid, st->space, st->name };

		if (st->seen)
			add(&stream_of(self, &s)->tally, &st->tally);
	}
}

static void put_counts(struct pm_result *r, const struct count_stream *st)
{
	uint64_t events = 0;

	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		events += st->tally.kind[k];
	pm_result_u64(r, "instructions", st->tally.insns, "instructions");
	pm_result_u64(r, "events", events, "events");
	pm_result_begin(r, "kinds");
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		if (st->tally.kind[k])
			pm_result_u64(r, pm_kind_name(k), st->tally.kind[k], "events");
	pm_result_end(r);
}

static enum pm_status count_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct count *c = self;
	struct count_stream total = { 0 };

	if (!r)
		return PM_OK;
	for (size_t i = 0; i < c->cap; i++)
		add(&total.tally, &c->stream[i].tally);
	pm_result_begin(r, "count");
	put_counts(r, &total);
	pm_result_begin_list(r, "streams");
	for (size_t i = 0; i < c->cap; i++) {
		const struct count_stream *st = c->stream + i;

		if (!st->seen)
			continue;
		pm_result_begin(r, NULL);
		pm_result_u64(r, "stream", i, NULL);
		if (st->pid)
			pm_result_u64(r, "pid", st->pid, NULL);
		if (st->tid)
			pm_result_u64(r, "tid", st->tid, NULL);
		if (st->space)
			pm_result_hex(r, "space", st->space);
		if (st->name)
			pm_result_str(r, "name", st->name);
		put_counts(r, st);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

static void count_destroy(void *self)
{
	struct count *c = self;

	if (!c)
		return;
	for (size_t i = 0; i < c->cap; i++)
		free(c->stream[i].name);
	free(c->stream);
	free(c);
}

const struct pm_chain_sink_ops pm_count_ops = {
	.ops = {
		.abi = PM_ABI,
		.flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS | PM_SINK_LIGHT | PM_SINK_PER_STREAM |
			 PM_SINK_CHAINS | PM_SINK_LIGHT_CHAINS | PM_SINK_NO_ADDRESSES,
		.name = "count",
		.about = "events by kind and executed instructions, in total and per stream",
		.create = count_create, .consume = count_consume, .merge = count_merge,
		.finish = count_finish,
		.destroy = count_destroy,
	},
	.packed = count_packed, .counted = count_counted,
};

static void *discard_create(const char *config, struct pm_err *err)
{
	if (*config) {
		pm_fail_file(err, "discard takes no configuration, not '%s'", config);
		return NULL;
	}
	return pm_alloc(1);
}

static void discard_merge(void *self, const void *other)
{
}

static enum pm_status discard_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return PM_OK;
}

const struct pm_sink_ops pm_discard_ops = {
	.abi = PM_ABI,
	.flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS | PM_SINK_LIGHT | PM_SINK_PER_STREAM,
	.name = "discard", .about = "drops everything: what is left is the cost of producing",
	.create = discard_create, .consume = discard_consume, .merge = discard_merge,
	.destroy = free,
};
