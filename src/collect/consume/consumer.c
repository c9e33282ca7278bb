/* SPDX-License-Identifier: MIT */
/* consumer.c - full buffers of all threads, in order; the life of a trace */
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "collect/consume/trace_state.h"

#define MAX_CONSUMERS	8		/* consumers: each reserves some GiB of addresses */

/* Records that straight code expands, up to the first that it cannot; returns that one's place.
 * HOT: everything that was executed passes through here. What one round waits for of the round
 * before is `p` and `ev` alone. */
static const uint8_t *expand(struct consumer *w, struct stream *st, const uint8_t *p,
			     const uint8_t *end)
{
	const struct expansion *expansion = w->expansion;
	const uint32_t cut_word = RT_NOTE(RT_N_CUT, 24);
	struct pm_event *ev = w->ev + w->nev, *const full = w->ev + BATCH;
	uint64_t insns = 0;
	uint32_t word = word_at(p), next;

	while (!(word & 0x80000000u)) {
		const struct expansion *x = &expansion[RT_RECORD_NUMBER(word)];
		const uint32_t record = RT_RECORD_SIZE(word);

		next = word_at(p + record);
		if (!x->run || x->record != record || record > (size_t)(end - p) ||
		    next == cut_word || ev > full)
			break;
		insns += x->insns;
		ev = x->run(ev, p, st->known);
		p += record;
		word = next;
	}
	w->nev = (size_t)(ev - w->ev);
	st->unsent += insns;
	return p;
}

/* HOT for programs of which little is wanted: records that the pipeline would drop. w->idle is not
 * 0 if it would drop the next one as well, were it known and whole. One round waits for the one
 * before from a record's length to the next number. */
static const uint8_t *drop(struct consumer *w, struct stream *st, const uint8_t *p,
			   const uint8_t *end)
{
	const uint32_t cut_word = RT_NOTE(RT_N_CUT, 24);
	uint64_t rsp = st->known[KNOWN_RSP], left = w->idle, lost = 0;
	uint32_t word = word_at(p), next;

	while (!(word & 0x80000000u)) {
		const struct skipped *g = &w->dropped[RT_RECORD_NUMBER(word)];
		const uint32_t record = RT_RECORD_SIZE(word);
		uint64_t base = rsp;

		next = word_at(p + record);
		if (!g->insns || g->record != record || record > (size_t)(end - p) ||
		    next == cut_word)
			break;
		if (g->insns > left && g->how != PM_DROP_ALWAYS) {
			left = 0;
			break;
		}
		lost += g->insns;
		left -= g->insns < left ? g->insns : left;
		if (g->rsp)
			memcpy(&base, p + g->rsp, 8);
		rsp = base + (uint64_t)(int64_t)g->rsp_add;
		p += record;
		word = next;
	}
	st->known[KNOWN_RSP] = rsp;
	w->idle = left;
	st->unsent += lost;
	if (lost)
		w->ev[w->nev++] =
			(struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = lost };
	return p;
}

/* @open: what was executed ends at the first word that is zero, in @end at the latest. Behind a
 * chunk's end there is more memory. */
static void consume(struct consumer *w, struct stream *st, const uint8_t *p, const uint8_t *end,
		    bool open)
{
	const uint32_t nsource = __atomic_load_n(&w->trace->nsource, __ATOMIC_ACQUIRE);
	bool news = w->nev; /* that the pipeline has to see before it can say what it will drop */

	if (__atomic_load_n(&w->trace->too_many, __ATOMIC_RELAXED))
		trace_fail(w, "more blocks than there are numbers");
	while (p < end && !w->failed) {
		const uint8_t *from;
		uint32_t word, number, size;
		size_t n;

		PM_INVARIANT(6, end - p <= (ptrdiff_t)(st->layout.stride - SLACK));
		if (w->unwanted) {
			from = p;
			p = drop(w, st, p, end);
			if (p != from && w->nev <= BATCH)
				continue;
		} else if (w->trace->feed.drop) {
			if (news && w->idle)
				trace_flush(w, st);
			news = false;
			from = p;
			p = drop(w, st, p, end);
			if (!w->idle && p < end)
				p = expand(w, st, p, end);
			if (p != from && w->nev <= BATCH && !w->failed)
				continue;
		} else {
			p = w->packs ? consume_packed(w, st, p, end, nsource)
				     : expand(w, st, p, end);
		}
		if (p >= end || w->failed)
			return;
		if (w->nev > BATCH) {
			trace_flush(w, st);
			continue;
		}
		news = true;
		word = word_at(p);
		if (word & 0x80000000u) {
			size = RT_NOTE_SIZE(word);
			if (size > (size_t)(end - p) - 4 || size & 3) {
				trace_fail(w, "a note that is too long");
				return;
			}
			note(w, st, RT_NOTE_TYPE(word), p + 4, size);
			p += 4 + size;
			continue;
		}
		if (!word && open)
			return;
		number = RT_RECORD_NUMBER(word);
		if (number >= nsource || !number) {
			trace_fail(w, "a block that does not exist");
			return;
		}
		n = expand_record(w, st, number, p, (size_t)(end - p));
		if (!n)
			return;
		p += n;
	}
}

static uint8_t *chunk_of(const struct tracer *t, uint32_t i, uint32_t chunk)
{
	const struct layout *l = &t->stream[i].layout;

	return (uint8_t *)trace_block(t, i) + l->trace + chunk * l->stride;
}

/* Is nobody else there whose instructions come between those of thread block @i? */
static bool is_alone(const struct tracer *t, uint32_t i)
{
	const uint32_t high = __atomic_load_n(t->o.block_high, __ATOMIC_ACQUIRE);

	for (uint32_t k = 1; k < high; k++)
		if (k != i && __atomic_load_n(&t->stream[k].busy, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static void tick(struct consumer *w)
{
	const uint64_t now = ns_of(CLOCK_MONOTONIC);

	if (w->failed || now - w->ticked < PM_TICK_MS * 1000000ull)
		return;
	w->ticked = now;
	if (pm_pipeline_tick(w->trace->o.pipeline, &w->result.err) != PM_OK) {
		w->failed = true;
		w->result.st = PM_ERR;
	}
}

/* Time stamps advance evenly, how fast is known from how far they have come: never backwards, never
 * beyond now, whatever a traced process writes there. */
static void tell_time(struct consumer *w, uint64_t stamp)
{
	struct clock *c = &w->clock;
	const uint64_t now = ns_of(CLOCK_MONOTONIC) - c->ns,
		       ticks = __builtin_ia32_rdtsc() - c->stamp;
	double at = ticks ? (double)(int64_t)(stamp - c->stamp) / (double)ticks * (double)now : 0;

	if (w->trace->o.in_parts)
		return;			/* each replay has its own */
	if (at > (double)c->last)
		c->last = at < (double)now ? (uint64_t)at : now;
	w->ev[w->nev++] = (struct pm_event){
		.kind = PM_EV_TIME, .id = PM_NONE, .addr = c->wall + c->last, .value = c->last
	};
}

/* The stream begins: who it is has been noted, or is known by now. */
static void name_stream(struct stream *st, const struct rt_block *b)
{
	if (st->begun)
		return;
	st->begun = true;
	if (!st->s->pid)
		st->s->pid = __atomic_load_n(&b->seen_pid, __ATOMIC_RELAXED);
	if (!st->s->tid)
		st->s->tid = __atomic_load_n(&b->seen_tid, __ATOMIC_RELAXED);
	st->s->space = st->s->pid;
}

/* Chunk @k of thread block @b is its thread's again. */
static void release_chunk(struct rt_block *b, uint32_t k)
{
	__atomic_store_n(&b->full[k], 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &b->full[k], FUTEX_WAKE, 1);
}

/* The chunk that is next is not full. The runtime fills chunks in turn, so no other one can be, and
 * nobody would ever come to one that is. */
static void check_turn(struct consumer *w, const struct stream *st, const struct rt_block *b)
{
	for (uint32_t k = 0; k < RT_CHUNKS; k++)
		if (k != st->next && __atomic_load_n(&b->full[k], __ATOMIC_ACQUIRE) &&
		    !__atomic_load_n(&b->full[st->next], __ATOMIC_ACQUIRE))
			trace_fail(w, "a buffer that is full before its turn");
}

/* (4): whoever waits for a chunk goes on, in whatever order what is left of the trace would be. */
static bool release_chunks(struct rt_block *b)
{
	bool any = false;

	for (uint32_t k = 0; k < RT_CHUNKS; k++)
		if (__atomic_load_n(&b->full[k], __ATOMIC_ACQUIRE)) {
			release_chunk(b, k);
			any = true;
		}
	return any;
}

static bool consume_stream(struct consumer *w, uint32_t i);

/* The rest of the program before, whose thread has been this one. That is over. */
static void consume_former(struct consumer *w, uint32_t i)
{
	const struct stream *st = &w->stream[i];
	const uint32_t former = __atomic_load_n(&st->former, __ATOMIC_ACQUIRE);

	if (former && former != i &&
	    __atomic_load_n(&w->stream[former].busy, __ATOMIC_ACQUIRE) == 1 + w->number &&
	    w->stream[former].s == st->former_s)
		consume_stream(w, former);
}

/* What thread block @i has for us: all, if it is over, else no more than one chunk - it may fill
 * them for ever as fast as they are read, while others wait, perhaps whom it waits for. Of one that
 * is over there are no more than RT_CHUNKS, whatever another process goes on writing there. */
static bool consume_stream(struct consumer *w, uint32_t i)
{
	struct stream *st = &w->stream[i];
	struct rt_block *b = trace_block(w->trace, i);
	bool over = __atomic_load_n(&st->over, __ATOMIC_ACQUIRE), any = false;
	uint32_t full;

	consume_former(w, i);
	PM_INVARIANT(2, st->s->index % w->trace->nconsumer == w->number);
	PM_INVARIANT(7, !w->nev && !w->nid && !w->nref && !w->nrare && !st->unsent);
	stop_early(w);
	for (uint32_t k = over ? RT_CHUNKS : 1;
	     k && (full = __atomic_load_n(&b->full[st->next], __ATOMIC_ACQUIRE)); k--) {
		uint8_t *p = chunk_of(w->trace, i, st->next);
		uint32_t n = full - 1;

		PM_INVARIANT(5, st->next < RT_CHUNKS);
		pm_acquired_from_process(b);
		any = true;
		if (n > st->layout.stride - SLACK || n % 4) {
			trace_fail(w, "a buffer longer than it is");
			n = (uint32_t)st->layout.chunk;
		}
		name_stream(st, b);
		if (n < st->from)
			trace_fail(w, "a buffer that has become shorter");
		else
			consume(w, st, p + st->from, p + n, false);
		w->nbytes += n - st->from;
		st->from = 0;
		tell_time(w, __atomic_load_n(&b->stamp[st->next], __ATOMIC_RELAXED));
		trace_flush(w, st);
		memset(p, 0,
		       n > st->layout.chunk
			       ? n
			       : st->layout.chunk); /* so that its end can be seen, see below */
		b->grant = w->trace->o.spaces->counts && st->layout.wide && is_alone(w->trace, i)
				   ? budget_of(w->idle)
				   : 0;
		pm_released_to_process(b);
		release_chunk(b, st->next);
		st->next = (st->next + 1) % RT_CHUNKS;
	}
	if (!any && !over)
		check_turn(w, st, b);
	if (w->failed)
		any |= release_chunks(b);
	if (over) {
		const struct layout *l = &st->layout;
		const uint32_t following = (st->next + 1) % RT_CHUNKS;
		uint8_t *p = chunk_of(w->trace, i, st->next);
		uint64_t off = cursor_of(w->trace, i) - l->trace - st->next * l->stride;
		uint64_t ex[2] = { st->status, st->flags };

		if (!off && !st->begun) {		/* a fork that failed */
			__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
			return any;
		}
		name_stream(st, b);
		if (st->left) {
			/* what lies before the cursor is complete, if that is in this chunk */
			if (off <= l->chunk && off % 4 == 0 && off >= st->from)
				consume(w, st, p + st->from, p + off, false);
			tell_time(w, st->ended);
			trace_flush(w, st);
			__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
			return true;
		}
		if (cursor_of(w->trace, i) == l->trace + following * l->stride) {
			/* killed as it went on to that one, before it said that this is full */
			consume(w, st, p + st->from, p + l->stride - 2 * SLACK, true);
			p = chunk_of(w->trace, i, st->next = following);
			off = st->from = 0;
		}
		/* the cursor is in memory only while the runtime runs: a thread that was killed has
		 * gone on, up to where no record's number has been written */
		if (off <= l->stride - 2 * SLACK && off % 4 == 0 && off >= st->from) {
			consume(w, st, p + st->from, p + off, false);
			w->nbytes += off - st->from;
			consume(w, st, p + off, p + l->stride - 2 * SLACK, true);
		} else {
			trace_fail(w, "the cursor is elsewhere");
		}
		tell_time(w, st->ended);
		note(w, st, RT_N_EXIT, (const uint8_t *)ex, sizeof ex);
		trace_flush(w, st);
		__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
		any = true;
	}
	return any;
}

/* What thread block @i has written so far, of a chunk that is not full; (8). */
static void consume_open(struct consumer *w, uint32_t i)
{
	struct stream *st = &w->stream[i];
	const struct layout *l = &st->layout;
	const uint64_t off = cursor_of(w->trace, i) - l->trace - st->next * l->stride;
	uint8_t *p = chunk_of(w->trace, i, st->next);

	if (!off && !st->begun)			/* it has not come to anything yet */
		return;
	pm_acquired_from_process(trace_block(w->trace, i));
	if (off > l->stride - 2 * SLACK || off % 4 || off < st->from) {
		trace_fail(w, "the cursor is elsewhere");
		return;
	}
	name_stream(st, trace_block(w->trace, i));
	consume(w, st, p + st->from, p + off, false);
	trace_flush(w, st);
	st->from = (uint32_t)off;
}

/* A seam, if one is waited for. */
static void pass_seam(struct consumer *w)
{
	struct tracer *t = w->trace;
	const uint32_t high = __atomic_load_n(t->o.block_high, __ATOMIC_ACQUIRE);

	if (!__atomic_load_n(&t->seam.waits, __ATOMIC_ACQUIRE))
		return;
	for (uint32_t i = 1; i < high; i++) {
		while (__atomic_load_n(&w->stream[i].busy, __ATOMIC_ACQUIRE) &&
		       consume_stream(w, i))
			;
		if (__atomic_load_n(&w->stream[i].busy, __ATOMIC_ACQUIRE) && !w->failed)
			consume_open(w, i);
	}
	w->unwanted = !t->seam.call(t->seam.self);
	__atomic_store_n(&t->seam.waits, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &t->seam.waits, FUTEX_WAKE, 1);
}

void trace_seam(struct tracer *t, bool (*seam)(void *self), void *self)
{
	PM_INVARIANT(8, t->nconsumer == 1 && !t->seam.waits);
	t->seam.call = seam;
	t->seam.self = self;
	__atomic_store_n(&t->seam.waits, 1, __ATOMIC_RELEASE);
	trace_ring(t);
	while (__atomic_load_n(&t->seam.waits, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &t->seam.waits, FUTEX_WAIT, 1, NULL);
}

static void *consumer_run(void *arg)
{
	struct consumer *w = arg;
	struct rt_session *h = w->trace->o.head;
	unsigned after = 0;		/* rounds since it has been stopped */

	for (;;) {
		uint32_t seen = __atomic_load_n(&h->bell, __ATOMIC_SEQ_CST);
		bool stop = __atomic_load_n(&w->trace->stop, __ATOMIC_ACQUIRE), any = false;
		uint32_t high = __atomic_load_n(w->trace->o.block_high, __ATOMIC_ACQUIRE);
		struct timespec wait = { 0, 100000000 };

		for (uint32_t i = 1; i < high; i++)
			if (__atomic_load_n(&w->stream[i].busy, __ATOMIC_ACQUIRE) ==
			    1 + w->number)
				any |= consume_stream(w, i);
		pass_seam(w);
		if (w->failed)
			__atomic_store_n(&w->trace->failed, true, __ATOMIC_RELAXED);
		if (w->trace->nconsumer == 1)
			tick(w);
		/* nobody who is traced writes any more: what comes still is from others */
		if (stop && (!any || ++after > RT_CHUNKS + 1))
			return NULL;
		if (any)
			continue;
		__atomic_fetch_add(&h->bell_asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&h->bell, __ATOMIC_SEQ_CST) == seen)
			syscall(SYS_futex, &h->bell, FUTEX_WAIT, seen, &wait);
		__atomic_fetch_sub(&h->bell_asleep, 1, __ATOMIC_SEQ_CST);
	}
}

static enum pm_status no_room(struct pm_err *err)
{
	return pm_fail_errno(err, "no address space for the trace's tables");
}

static enum pm_status open_packer(struct consumer *w, struct pm_err *err)
{
	w->packs = w->trace->feed.packed;
	if (!w->packs)
		return PM_OK;
	w->chain = pm_reserve(MAX_BLOCKS * sizeof *w->chain);
	w->chain_part = pm_reserve(MAX_PARTS * sizeof *w->chain_part);
	w->chain_ref = pm_reserve(MAX_REFS * sizeof *w->chain_ref);
	w->number_insns = pm_reserve(MAX_BLOCKS * sizeof *w->number_insns);
	if (!w->trace->feed.addresses)
		w->numbered = pm_reserve(MAX_BLOCKS * sizeof *w->numbered);
	if (!w->chain || !w->chain_part || !w->chain_ref || !w->number_insns ||
	    (!w->numbered && !w->trace->feed.addresses))
		return no_room(err);
	w->id = pm_alloc_unset(BATCH * sizeof *w->id);
	w->addr = pm_alloc_unset((PACK_REFS + BATCH + 1) * sizeof *w->addr);
	return PM_OK;
}

static enum pm_status consumer_open(struct consumer *w, struct pm_err *err)
{
	const char *never = getenv("PUGMARK_NO_COUNTING");

	w->compiled = pm_reserve(MAX_BLOCKS * sizeof *w->compiled);
	w->expansion = pm_reserve(MAX_BLOCKS * sizeof *w->expansion);
	w->insn = pm_reserve(MAX_INSNS * sizeof *w->insn);
	w->block = pm_reserve(MAX_BLOCKS * sizeof *w->block);
	if (!w->compiled || !w->expansion || !w->insn || !w->block)
		return no_room(err);
	w->code = (struct pm_code){ w->insn, w->block, w->trace->object, 0, 0, 0 };
	w->ev = pm_alloc_unset(BATCH_ROOM * sizeof *w->ev);
	w->record = pm_alloc_unset(MAX_RECORD);
	w->dec[0] = x86_decoder_new(X86_MODE_32);
	w->dec[1] = x86_decoder_new(X86_MODE_64);
	if (!w->trace->o.pipeline)
		return PM_OK;
	w->expander = expander_new();
	if (w->trace->feed.drop || w->trace->o.in_parts) {
		w->dropped = pm_reserve(MAX_BLOCKS * sizeof *w->dropped);
		if (!w->dropped)
			return no_room(err);
	}
	w->unwanted = w->trace->o.unwanted;
	if (w->trace->feed.drop) {
		w->idle = idle_of(w->trace);
		w->trace->o.spaces->counts = w->trace->o.aslr || (never && *never == '1')
					      ? 0
					      : w->trace->feed.rests;
	}
	return open_packer(w, err);
}

static void consumer_free(struct consumer *w)
{
	pm_unreserve(w->compiled, MAX_BLOCKS * sizeof *w->compiled);
	pm_unreserve(w->expansion, MAX_BLOCKS * sizeof *w->expansion);
	pm_unreserve(w->insn, MAX_INSNS * sizeof *w->insn);
	pm_unreserve(w->block, MAX_BLOCKS * sizeof *w->block);
	pm_unreserve(w->dropped, MAX_BLOCKS * sizeof *w->dropped);
	pm_unreserve(w->numbered, MAX_BLOCKS * sizeof *w->numbered);
	pm_unreserve(w->chain, MAX_BLOCKS * sizeof *w->chain);
	pm_unreserve(w->chain_part, MAX_PARTS * sizeof *w->chain_part);
	pm_unreserve(w->chain_ref, MAX_REFS * sizeof *w->chain_ref);
	pm_unreserve(w->number_insns, MAX_BLOCKS * sizeof *w->number_insns);
	expander_free(w->expander);
	x86_decoder_free(w->dec[0]);
	x86_decoder_free(w->dec[1]);
	x86_plan_release(&w->plan);
	pm_arena_release(&w->mem);
	pm_buf_release(&w->text);
	free(w->ev);
	free(w->record);
	free(w->unknown);
	free(w->rare);
	free(w->id);
	free(w->addr);
	free(w);
}

static enum pm_status consumer_new(struct tracer *t, unsigned number, struct consumer **out,
				   struct pm_err *err)
{
	struct consumer *w = *out = pm_alloc(sizeof *w);

	*w = (struct consumer){ .trace = t,
				.number = number,
				.source = t->source,
				.stream = t->stream,
				.clock = t->began };
	return consumer_open(w, err);
}

enum pm_status trace_open(const struct trace_opts *o, struct tracer **out, struct pm_err *err)
{
	struct pm_err none = { 0 };
	struct tracer *t;
	unsigned most;

	t = *out = pm_alloc(sizeof *t);
	pm_keep(t);				/* sinks look at its tables */
	t->o = *o;
	t->nsource = 1;
	t->began = (struct clock){ __builtin_ia32_rdtsc(), ns_of(CLOCK_MONOTONIC),
				   ns_of(CLOCK_REALTIME), 0 };
	t->source = pm_reserve(MAX_BLOCKS * sizeof *t->source);
	t->stream = pm_reserve(RT_BLOCKS * sizeof *t->stream);
	t->object = pm_reserve(MAX_OBJECTS * sizeof *t->object);
	if (!t->source || !t->stream || !t->object)
		return no_room(err);
	if (o->pipeline)
		t->feed = pm_pipeline_feed(o->pipeline, o->in_parts ? 1 : MAX_CONSUMERS);
	most = o->pipeline ? t->feed.threads : 1;
	t->consumer = pm_alloc(most * sizeof *t->consumer);
	while (t->nconsumer < most) {
		struct consumer **w = &t->consumer[t->nconsumer];

		if (consumer_new(t, t->nconsumer, w, t->nconsumer ? &none : err) == PM_OK) {
			t->nconsumer++;
			continue;
		}
		consumer_free(*w);		/* fewer are enough */
		if (!t->nconsumer)
			return PM_ERR;
		break;
	}
	for (unsigned k = 0; k < t->nconsumer && o->pipeline; k++) {
		struct consumer *w = t->consumer[k];

		w->running = pm_thread_start(&w->thread, consumer_run, w);
		if (!w->running)
			return pm_fail_errno(err, "cannot start a thread");
	}
	return PM_OK;
}

#define PATIENCE \
	10u /* tenths of a second: what ended the program may have been sent to us as well */

/* The program is over, but not all of it has been consumed. */
static void join(struct tracer *t, const struct consumer *w)
{
	struct timespec until;
	unsigned asked = 0;

	do {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 100000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (t->o.interrupted() && ++asked > PATIENCE)
			__atomic_store_n(&t->abandoned, 1, __ATOMIC_RELAXED);
	} while (pthread_timedjoin_np(w->thread, NULL, &until));
}

enum pm_status trace_close(struct tracer *t, uint64_t *bytes, uint64_t *insns, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	*bytes = *insns = 0;
	if (!t)
		return PM_OK;
	*insns = t->grown;
	__atomic_store_n(&t->stop, 1, __ATOMIC_RELEASE);
	trace_ring(t);
	for (unsigned k = 0; k < t->nconsumer; k++) {
		const struct consumer *w = t->consumer[k];

		if (w->running)
			join(t, w);
		*bytes += w->nbytes;
		*insns += w->ninsns;
		if (st == PM_OK && w->result.st != PM_OK) {
			st = w->result.st;
			*err = w->result.err;
		}
	}
	return st;
}

bool trace_failed(const struct tracer *t)
{
	return t && __atomic_load_n(&t->failed, __ATOMIC_RELAXED);
}

void trace_free(struct tracer *t)
{
	if (!t)
		return;
	for (unsigned k = 0; k < t->nconsumer; k++)
		consumer_free(t->consumer[k]);
	pm_unreserve(t->source, MAX_BLOCKS * sizeof *t->source);
	pm_unreserve(t->stream, RT_BLOCKS * sizeof *t->stream);
	pm_unreserve(t->object, MAX_OBJECTS * sizeof *t->object);
	free(t->consumer);
	free(t);
}
