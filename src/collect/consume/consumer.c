/* SPDX-License-Identifier: MIT */
/* consumer.c - full buffers of all threads, in order; the life of a trace */
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "collect/consume/trace_state.h"

/* Bytes at the end of what the controller sees of a chunk, a quarter of its guard pages, of which
 * nothing is consumed: who goes by a number's word looks at the next one before it looks where the
 * buffer ends. */
#define SLACK		16384u
#define MAX_WORKERS	8		/* consumers: each reserves some GiB of addresses */

/* Records that straight code expands, up to the first that it cannot; returns that one's place.
 * HOT: everything that was executed passes through here. What one round waits for of the round
 * before is `p` and `ev` alone. */
static const uint8_t *expand(struct tracer *t, struct stream *st, const uint8_t *p,
			     const uint8_t *end)
{
	const struct expansion *expansion = t->expansion;
	const uint32_t cut_word = RT_NOTE(RT_N_CUT, 24);
	struct pm_event *ev = t->ev + t->nev, *const full = t->ev + BATCH;
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
	t->nev = (size_t)(ev - t->ev);
	st->unsent += insns;
	return p;
}

/* HOT for programs of which little is wanted: records that the pipeline would drop. t->idle is not
 * 0 if it would drop the next one as well, were it known and whole. One round waits for the one
 * before from a record's length to the next number. */
static const uint8_t *drop(struct tracer *t, struct stream *st, const uint8_t *p,
			   const uint8_t *end)
{
	const uint32_t cut_word = RT_NOTE(RT_N_CUT, 24);
	uint64_t rsp = st->known[KNOWN_RSP], left = t->idle, lost = 0;
	uint32_t word = word_at(p), next;

	while (!(word & 0x80000000u)) {
		const struct dropped *g = &t->dropped[RT_RECORD_NUMBER(word)];
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
	t->idle = left;
	st->unsent += lost;
	if (lost)
		t->ev[t->nev++] =
			(struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = lost };
	return p;
}

/* @open: what was executed ends at the first word that is zero, in @end at the latest. Behind a
 * chunk's end there is more memory. */
static void consume(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end,
		    bool open)
{
	const uint32_t nsource = __atomic_load_n(&t->main->nsource, __ATOMIC_ACQUIRE);
	bool news = t->nev; /* that the pipeline has to see before it can say what it will drop */

	if (__atomic_load_n(&t->main->too_many, __ATOMIC_RELAXED))
		trace_fail(t, "more blocks than there are numbers");
	while (p < end && !t->failed) {
		const uint8_t *from;
		uint32_t word, number, size;
		size_t n;

		if (t->dropped) {
			if (news && t->idle)
				trace_flush(t, st);
			news = false;
			from = p;
			p = drop(t, st, p, end);
			if (!t->idle && p < end)
				p = expand(t, st, p, end);
			if (p != from && t->nev <= BATCH && !t->failed)
				continue;
		} else {
			p = t->packs ? consume_packed(t, st, p, end, nsource)
				     : expand(t, st, p, end);
		}
		if (p >= end || t->failed)
			return;
		if (t->nev > BATCH) {
			trace_flush(t, st);
			continue;
		}
		news = true;
		word = word_at(p);
		if (word & 0x80000000u) {
			size = RT_NOTE_SIZE(word);
			if (size > (size_t)(end - p) - 4 || size & 3) {
				trace_fail(t, "a note that is too long");
				return;
			}
			note(t, st, RT_NOTE_TYPE(word), p + 4, size);
			p += 4 + size;
			continue;
		}
		if (!word && open)
			return;
		number = RT_RECORD_NUMBER(word);
		if (number >= nsource || !number) {
			trace_fail(t, "a block that does not exist");
			return;
		}
		n = expand_record(t, st, number, p, (size_t)(end - p));
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

static void tick(struct tracer *t)
{
	const uint64_t now = ns_of(CLOCK_MONOTONIC);

	if (t->failed || now - t->ticked < PM_TICK_MS * 1000000ull)
		return;
	t->ticked = now;
	if (pm_pipeline_tick(t->o.pipeline, &t->result.err) != PM_OK) {
		t->failed = true;
		t->result.st = PM_ERR;
	}
}

/* Time stamps advance evenly, how fast is known from how far they have come: never backwards, never
 * beyond now, whatever a traced process writes there. */
static void tell_time(struct tracer *t, uint64_t stamp)
{
	struct clock *c = &t->clock;
	const uint64_t now = ns_of(CLOCK_MONOTONIC) - c->ns,
		       ticks = __builtin_ia32_rdtsc() - c->stamp;
	double at = ticks ? (double)(int64_t)(stamp - c->stamp) / (double)ticks * (double)now : 0;

	if (at > (double)c->last)
		c->last = at < (double)now ? (uint64_t)at : now;
	t->ev[t->nev++] = (struct pm_event){
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

/* What thread block @i has for us: all, if it is over, else no more than one chunk - it may fill
 * them for ever as fast as they are read, while others wait, perhaps whom it waits for. Of one that
 * is over there are no more than RT_CHUNKS, whatever another process goes on writing there. */
static bool consume_stream(struct tracer *t, uint32_t i)
{
	struct stream *st = &t->stream[i];
	struct rt_block *b = trace_block(t, i);
	bool over = __atomic_load_n(&st->over, __ATOMIC_ACQUIRE), any = false;
	uint32_t full;

	stop_early(t);
	for (uint32_t k = over ? RT_CHUNKS : 1;
	     k && (full = __atomic_load_n(&b->full[st->next], __ATOMIC_ACQUIRE)); k--) {
		uint8_t *p = chunk_of(t, i, st->next);
		uint32_t n = full - 1;

		any = true;
		if (n > st->layout.stride - SLACK || n % 4) {
			trace_fail(t, "a buffer longer than it is");
			n = (uint32_t)st->layout.chunk;
		}
		name_stream(st, b);
		consume(t, st, p, p + n, false);
		t->nbytes += n;
		tell_time(t, __atomic_load_n(&b->stamp[st->next], __ATOMIC_RELAXED));
		trace_flush(t, st);
		memset(p, 0,
		       n > st->layout.chunk
			       ? n
			       : st->layout.chunk); /* so that its end can be seen, see below */
		b->grant = t->o.spaces->counts && st->layout.wide && is_alone(t, i)
				   ? budget_of(t->idle)
				   : 0;
		__atomic_store_n(&b->full[st->next], 0, __ATOMIC_RELEASE);
		syscall(SYS_futex, &b->full[st->next], FUTEX_WAKE, 1);
		st->next = (st->next + 1) % RT_CHUNKS;
	}
	if (over) {
		uint8_t *p = chunk_of(t, i, st->next);
		uint64_t off = cursor_of(t, i) - st->layout.trace - st->next * st->layout.stride;
		uint64_t ex[2] = { st->status, st->flags };

		if (!off && !st->begun) {		/* a fork that failed */
			__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
			return any;
		}
		name_stream(st, b);
		/* the cursor is in memory only while the runtime runs: a thread that was killed has
		 * gone on, up to where no record's number has been written */
		if (off <= st->layout.stride - 2 * SLACK && off % 4 == 0) {
			consume(t, st, p, p + off, false);
			t->nbytes += off;
			consume(t, st, p + off, p + st->layout.stride - 2 * SLACK, true);
		} else {
			trace_fail(t, "the cursor is elsewhere");
		}
		tell_time(t, st->ended);
		note(t, st, RT_N_EXIT, (const uint8_t *)ex, sizeof ex);
		trace_flush(t, st);
		__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
		any = true;
	}
	return any;
}

static void *consumer(void *arg)
{
	struct tracer *t = arg;
	struct rt_session *h = t->o.head;
	unsigned after = 0;		/* rounds since it has been stopped */

	for (;;) {
		uint32_t seen = __atomic_load_n(&h->bell, __ATOMIC_SEQ_CST);
		bool stop = __atomic_load_n(&t->main->stop, __ATOMIC_ACQUIRE), any = false;
		uint32_t high = __atomic_load_n(t->o.block_high, __ATOMIC_ACQUIRE);
		struct timespec wait = { 0, 100000000 };

		for (uint32_t i = 1; i < high; i++)
			if (__atomic_load_n(&t->stream[i].busy, __ATOMIC_ACQUIRE) &&
			    t->stream[i].s->index % t->main->nworker == t->number)
				any |= consume_stream(t, i);
		if (t->main->nworker == 1)
			tick(t);
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

static void *reserve(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static enum pm_status no_room(struct pm_err *err)
{
	return pm_fail_errno(err, "no address space for the trace's tables");
}

static enum pm_status open_packer(struct tracer *t, struct pm_err *err)
{
	t->packs = pm_pipeline_packed(t->o.pipeline);
	if (!t->packs)
		return PM_OK;
	t->chain = reserve(MAX_BLOCKS * sizeof *t->chain);
	t->chain_part = reserve(MAX_PARTS * sizeof *t->chain_part);
	t->chain_ref = reserve(MAX_REFS * sizeof *t->chain_ref);
	if (!t->chain || !t->chain_part || !t->chain_ref)
		return no_room(err);
	t->id = pm_alloc(BATCH * sizeof *t->id);
	t->addr = pm_alloc((PACK_REFS + BATCH + 1) * sizeof *t->addr);
	return PM_OK;
}

static enum pm_status consumer_open(struct tracer *t, struct pm_err *err)
{
	const char *never = getenv("PUGMARK_NO_COUNTING");

	t->compiled = reserve(MAX_BLOCKS * sizeof *t->compiled);
	t->expansion = reserve(MAX_BLOCKS * sizeof *t->expansion);
	t->insn = reserve(MAX_INSNS * sizeof *t->insn);
	t->block = reserve(MAX_BLOCKS * sizeof *t->block);
	if (!t->compiled || !t->expansion || !t->insn || !t->block)
		return no_room(err);
	t->code = (struct pm_code){ t->insn, t->block, t->object, 0, 0, 0 };
	t->ev = pm_alloc(BATCH_ROOM * sizeof *t->ev);
	t->record = pm_alloc(MAX_RECORD);
	t->dec[0] = x86_decoder_new(X86_MODE_32);
	t->dec[1] = x86_decoder_new(X86_MODE_64);
	if (!t->o.pipeline)
		return PM_OK;
	t->expander = expander_new();
	if (pm_pipeline_drops(t->o.pipeline)) {
		t->dropped = reserve(MAX_BLOCKS * sizeof *t->dropped);
		if (!t->dropped)
			return no_room(err);
		t->idle = pm_pipeline_idle(t->o.pipeline);
		t->o.spaces->counts = t->o.aslr || (never && *never == '1')
					      ? 0
					      : pm_pipeline_rests(t->o.pipeline);
	}
	return open_packer(t, err);
}

static bool consumer_start(struct tracer *t)
{
	t->running = pm_thread_start(&t->consumer, consumer, t);
	return t->running;
}

enum pm_status trace_open(const struct trace_opts *o, struct tracer **out, struct pm_err *err)
{
	struct pm_err none = { 0 };
	struct tracer *t;

	t = *out = pm_alloc(sizeof *t);
	pm_keep(t);				/* sinks look at its tables */
	t->o = *o;
	t->main = t;
	t->nsource = 1;
	t->clock = (struct clock){ __builtin_ia32_rdtsc(), ns_of(CLOCK_MONOTONIC),
				   ns_of(CLOCK_REALTIME), 0 };
	t->source = reserve(MAX_BLOCKS * sizeof *t->source);
	t->stream = reserve(RT_BLOCKS * sizeof *t->stream);
	t->object = reserve(MAX_OBJECTS * sizeof *t->object);
	if (!t->source || !t->stream || !t->object)
		return no_room(err);
	t->nworker = o->pipeline ? pm_pipeline_split(o->pipeline) : 1;
	if (t->nworker > MAX_WORKERS)
		t->nworker = MAX_WORKERS;
	t->worker = pm_alloc(t->nworker * sizeof *t->worker);
	for (unsigned k = 0; k < t->nworker; k++) {
		struct tracer *w = t->worker[k] = k ? pm_alloc(sizeof *w) : t;

		if (k)
			*w = (struct tracer){ .o = *o,
					      .source = t->source,
					      .stream = t->stream,
					      .object = t->object,
					      .main = t,
					      .number = k,
					      .clock = t->clock };
		if (consumer_open(w, k ? &none : err) == PM_OK)
			continue;
		if (!k)
			return PM_ERR;
		t->nworker = k;
	}
	for (unsigned k = 0; k < t->nworker && o->pipeline; k++)
		if (!consumer_start(t->worker[k]))
			return pm_fail_errno(err, "cannot start a thread");
	return PM_OK;
}

#define PATIENCE \
	10u /* tenths of a second: what ended the program may have been sent to us as well */

/* The program is over, but not all of it has been consumed. */
static void join(struct tracer *t, const struct tracer *w)
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
	} while (pthread_timedjoin_np(w->consumer, NULL, &until));
}

enum pm_status trace_close(struct tracer *t, uint64_t *bytes, uint64_t *insns, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	*bytes = *insns = 0;
	if (!t)
		return PM_OK;
	__atomic_store_n(&t->stop, 1, __ATOMIC_RELEASE);
	trace_ring(t);
	for (unsigned k = 0; k < t->nworker; k++) {
		const struct tracer *w = t->worker[k];

		if (w && w->running)
			join(t, w);
		*bytes += w ? w->nbytes : 0;
		*insns += w ? w->ninsns : 0;
		if (w && st == PM_OK && w->result.st != PM_OK) {
			st = w->result.st;
			*err = w->result.err;
		}
	}
	return st;
}

static void give_back(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

static void consumer_free(struct tracer *t)
{
	give_back(t->compiled, MAX_BLOCKS * sizeof *t->compiled);
	give_back(t->expansion, MAX_BLOCKS * sizeof *t->expansion);
	give_back(t->insn, MAX_INSNS * sizeof *t->insn);
	give_back(t->block, MAX_BLOCKS * sizeof *t->block);
	give_back(t->dropped, MAX_BLOCKS * sizeof *t->dropped);
	give_back(t->chain, MAX_BLOCKS * sizeof *t->chain);
	give_back(t->chain_part, MAX_PARTS * sizeof *t->chain_part);
	give_back(t->chain_ref, MAX_REFS * sizeof *t->chain_ref);
	expander_free(t->expander);
	x86_decoder_free(t->dec[0]);
	x86_decoder_free(t->dec[1]);
	x86_plan_release(&t->plan);
	pm_arena_release(&t->mem);
	pm_buf_release(&t->text);
	free(t->ev);
	free(t->record);
	free(t->unknown);
	free(t->rare);
	free(t->id);
	free(t->addr);
	if (t->main != t)
		free(t);
}

void trace_free(struct tracer *t)
{
	if (!t)
		return;
	for (unsigned k = t->nworker; k-- > 0;)
		consumer_free(t->worker[k]);
	give_back(t->source, MAX_BLOCKS * sizeof *t->source);
	give_back(t->stream, RT_BLOCKS * sizeof *t->stream);
	give_back(t->object, MAX_OBJECTS * sizeof *t->object);
	free(t->worker);
	free(t);
}
